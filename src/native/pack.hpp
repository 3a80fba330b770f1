// Packing of rows into blocks of the shape (n_blocks, m, BLOCK_LANES), so that one feature of a whole block of rows is
// one contiguous load.
//
// While it is packed a row may be folded: (x - center) * factor. With factor_j = a_j^(1/p) the plain distance between
// folded rows is the weighted one, sum_j a_j |q_j - x_j|^p, without a multiplication by the weights. The center keeps
// folded values small, and with them their rounding.
#pragma once

#include "types.hpp"

namespace wb {

template <class T> struct Packing {
  Rows<T> source;              // (n, m)
  Values<std::int64_t> order;  // (n_blocks * BLOCK_LANES,) source row per lane, -1 for padding
  View<T, 3> packed;
  T fill = 0;                  // value of padding lanes
  Values<T> center, factor;    // (m,) or none
  std::int64_t n_numeric = 0;  // features that count in the norm
  int p = 2;                   // norm reported: 1 or 2
};

// Packs the blocks [begin, end) and returns the largest norm (p = 2: squared) among the rows, in double. The norm
// bounds the rounding of folded distances; missing values do not count in it.
template <class T> double pack(const Packing<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const std::int64_t m = job.source.width();
  double largest = 0;
  for (std::int64_t block = begin; block < end; ++block) {
    T* out = job.packed[block];
    for (std::int64_t lane = 0; lane < LANES; ++lane) {
      const std::int64_t row = job.order[block * LANES + lane];
      if (row < 0) {
        for (std::int64_t j = 0; j < m; ++j) out[j * LANES + lane] = job.fill;
        continue;
      }
      const T* x = job.source[row];
      double norm = 0;
      for (std::int64_t j = 0; j < m; ++j) {
        T value = x[j];
        if (job.factor) value = (value - job.center[j]) * job.factor[j];
        out[j * LANES + lane] = value;
        if (j < job.n_numeric && value == value) norm += job.p == 2 ? double(value) * value : double(std::abs(value));
      }
      if (norm > largest) largest = norm;
    }
  }
  return largest;
}

}  // namespace wb

// Rows -> packed blocks: (n_blocks, m, BLOCK_LANES), so that one feature of a whole block is a
// contiguous load. On the way a row may be folded: (x - center) * factor.
#pragma once

#include "types.hpp"

namespace wb {

template <class T> struct Packing {
  const T* source;            // (n, m) row-major
  const std::int64_t* order;  // (n_blocks * BLOCK_LANES,) source row per lane, -1 for padding
  std::int64_t m;
  std::int64_t numeric;       // features that count in the norm
  const T* center;            // (m,) or null
  const T* factor;            // (m,) or null
  T fill;                     // value of padding lanes
  int p;                      // norm reported: 1 or 2
  T* packed;
};

// Packs blocks [begin, end); returns the largest norm (p = 2: squared) among the rows, in double.
template <class T> double pack(const Packing<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  double largest = 0;
  for (std::int64_t block = begin; block < end; ++block) {
    T* out = job.packed + block * job.m * LANES;
    for (std::int64_t lane = 0; lane < LANES; ++lane) {
      const std::int64_t row = job.order[block * LANES + lane];
      if (row < 0) {
        for (std::int64_t j = 0; j < job.m; ++j) out[j * LANES + lane] = job.fill;
        continue;
      }
      const T* x = job.source + row * job.m;
      double norm = 0;
      for (std::int64_t j = 0; j < job.m; ++j) {
        T value = x[j];
        if (job.factor) value = (value - job.center[j]) * job.factor[j];
        out[j * LANES + lane] = value;
        if (j < job.numeric && value == value) norm += job.p == 2 ? double(value) * value : double(value < 0 ? -value : value);
      }
      if (norm > largest) largest = norm;
    }
  }
  return largest;
}

}  // namespace wb

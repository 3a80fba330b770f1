// Packing of rows into blocks of the shape (n_blocks, m, BLOCK_LANES), so that one feature of a whole block of rows is
// one contiguous load.
//
// While it is packed a row may be folded: (x - center) * factor. With factor_j = a_j^(1/p) the plain distance between
// folded rows is the weighted one, sum_j a_j |q_j - x_j|^p, without a multiplication by the weights. The center keeps
// folded values small, and with them their rounding.
#pragma once

#include <type_traits>

#include "types.hpp"

namespace wb {

template <class T> struct Packing {
  const T* source;            // (n, m) row-major
  const std::int64_t* order;  // (n_blocks * BLOCK_LANES,) source row per lane, -1 for padding
  std::int64_t m;
  std::int64_t numeric;  // features that count in the norm
  const T* center;       // (m,) or null
  const T* factor;       // (m,) or null
  T fill;                // value of padding lanes
  int p;                 // norm reported: 1 or 2
  T* packed;
};

// Packs the blocks [begin, end) and returns the largest norm (p = 2: squared) among the rows, in double. The norm
// bounds the rounding of folded distances; missing values do not count in it.
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
        if (j < job.numeric && value == value) norm += job.p == 2 ? double(value) * value : double(std::abs(value));
      }
      if (norm > largest) largest = norm;
    }
  }
  return largest;
}

// What SIMBA scans: blocks of (x - center) * levels, with the features in `order`. P is float, or a 16-bit integer to
// which the values are rounded: half the memory to read, and the rounding error is known beforehand.
template <class P> struct MarginPacking {
  const double* rows;  // (n, m)
  std::int64_t m;
  const double* center;
  const double* levels;
  const std::int64_t* order;  // (m,)
  bool in_order;              // which counts up
  const std::int64_t* ids;    // (n_blocks * BLOCK_LANES<float>,) row per lane, -1: padding
  P* packed;
};

// Packs the blocks [begin, end). Padding lanes are so far away that no scan can find them.
template <class P> void pack_margins(const MarginPacking<P>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, RUN = 64;  // Features of a row that are read together.
  constexpr P FAR = std::is_floating_point_v<P> ? std::numeric_limits<P>::infinity() : std::numeric_limits<P>::max();
  P part[LANES][RUN];  // Rows are read, and blocks written, in contiguous runs: a transposition within the cache.
  for (std::int64_t block = begin; block < end; ++block)
    for (std::int64_t from = 0; from < job.m; from += RUN) {
      const std::int64_t count = std::min(RUN, job.m - from);
      for (std::int64_t lane = 0; lane < LANES; ++lane) {
        const std::int64_t row = job.ids[block * LANES + lane];
        const double* x = job.rows + std::max<std::int64_t>(row, 0) * job.m;
        const auto rounded = [&](std::int64_t feature) {
          const double value = (x[feature] - job.center[feature]) * job.levels[feature];
          // Rounds half away from zero by truncation, for which there are vector instructions; std::round has none.
          if constexpr (std::is_floating_point_v<P>) return P(value);
          else return P(std::int32_t(value + (value < 0 ? -0.5 : 0.5)));
        };
        if (row < 0) std::fill(part[lane], part[lane] + count, FAR);
        else if (job.in_order)
          for (std::int64_t j = 0; j < count; ++j) part[lane][j] = rounded(from + j);
        else
          for (std::int64_t j = 0; j < count; ++j) part[lane][j] = rounded(job.order[from + j]);
      }
      P* out = job.packed + (block * job.m + from) * LANES;
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t lane = 0; lane < LANES; ++lane) out[j * LANES + lane] = part[lane][j];
    }
}

}  // namespace wb

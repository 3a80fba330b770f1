// Packs what SIMBA scans: blocks of (x - center) * levels. P is float, or a 16-bit integer to which the values are
// rounded: half the memory to read, and the rounding error is known beforehand.
#pragma once

#include "types.hpp"

namespace wb {

// Packs the blocks [begin, end). Padding lanes are so far away that no scan can find them.
template <class P>
void pack_margins(const MarginRows& job, const MarginBlocks& blocks, P* packed, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, RUN = 64;  // Features of a row that are read together.
  constexpr P FAR = std::is_floating_point_v<P> ? std::numeric_limits<P>::infinity() : std::numeric_limits<P>::max();
  P part[LANES][RUN];  // Rows are read, and blocks written, in contiguous runs: a transposition within the cache.
  for (std::int64_t block = begin; block < end; ++block)
    for (std::int64_t from = 0; from < job.m; from += RUN) {
      const std::int64_t count = std::min(RUN, job.m - from);
      for (std::int64_t lane = 0; lane < LANES; ++lane) {
        const std::int64_t row = blocks.ids[block * LANES + lane];
        if (row < 0) std::fill(part[lane], part[lane] + count, FAR);
        for (std::int64_t j = 0; row >= 0 && j < count; ++j) {
          const std::int64_t feature = blocks.feature_order[from + j];
          const double value = (job.rows[row * job.m + feature] - job.center[feature]) * job.levels[feature];
          // Rounds half away from zero by truncation, for which there are vector instructions; std::round has none.
          if constexpr (std::is_floating_point_v<P>) part[lane][j] = P(value);
          else part[lane][j] = P(std::int32_t(value + (value < 0 ? -0.5 : 0.5)));
        }
      }
      P* out = packed + (block * job.m + from) * LANES;
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t lane = 0; lane < LANES; ++lane) out[j * LANES + lane] = part[lane][j];
    }
}

}  // namespace wb

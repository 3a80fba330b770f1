// Packs what SIMBA scans: blocks of (x - center) * levels.
#pragma once

#include "types.hpp"

namespace wb {

// Packs the blocks [begin, end). Padding lanes are so far away that no scan can find them.
inline void pack_margins(const Margins& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, RUN = 64;  // Features of a row that are read together.
  const std::int64_t m = job.rows.width();
  float part[LANES][RUN];  // Rows are read, and blocks written, in contiguous runs: a transposition within the cache.
  for (std::int64_t block = begin; block < end; ++block)
    for (std::int64_t from = 0; from < m; from += RUN) {
      const std::int64_t count = std::min(RUN, m - from);
      for (std::int64_t lane = 0; lane < LANES; ++lane) {
        const std::int64_t row = job.ids[block * LANES + lane];
        if (row < 0) std::fill(part[lane], part[lane] + count, std::numeric_limits<float>::infinity());
        for (std::int64_t j = 0; row >= 0 && j < count; ++j) {
          const std::int64_t feature = job.feature_order[from + j];
          part[lane][j] = float((job.rows[row][feature] - job.center[feature]) * job.levels[feature]);
        }
      }
      float* out = job.packed[block] + from * LANES;
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t lane = 0; lane < LANES; ++lane) out[j * LANES + lane] = part[lane][j];
    }
}

}  // namespace wb

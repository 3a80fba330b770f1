// Random subsets of given sizes by selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm S):
// a candidate is chosen with probability wanted / left, where `wanted` places are still to be chosen among the `left`
// candidates that remain. That takes one uniform number per candidate; one more is read, but not used, at the end.
#pragma once

#include "types.hpp"

namespace wb {

// Chooses exactly size[row] of the true places of each row of `mask`; every subset is equally likely.
inline void draw_subsets(const bool* mask, std::int64_t count, std::int64_t length, const std::int64_t* size,
                         const double* uniform, bool* chosen) {
  for (std::int64_t row = 0; row < count; ++row) {
    const bool* from = mask + row * length;
    bool* to = chosen + row * length;
    std::int64_t left = 0, wanted = size[row];
    for (std::int64_t j = 0; j < length; ++j) left += from[j];
    for (std::int64_t j = 0; j < length; ++j) {
      // There are no branches, since no branch predictor could guess which places are candidates or chosen.
      to[j] = from[j] & (*uniform * double(left) < double(wanted));
      uniform += from[j];
      left -= from[j];
      wanted -= to[j];
    }
  }
}

}  // namespace wb

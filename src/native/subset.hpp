// Random subsets of given sizes by selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm S):
// a candidate is chosen with probability wanted / left, where `wanted` places are still to be chosen among the `left`
// candidates that remain. That takes one uniform number per candidate.
#pragma once

#include "types.hpp"

namespace wb {

// Chooses exactly size[row] of the true places of each row of `mask`; every subset is equally likely.
inline void draw_subsets(const bool* mask, std::int64_t count, std::int64_t length, const std::int64_t* size,
                         const double* uniform, bool* chosen) {
  std::vector<std::int32_t> place(std::size_t(length) + 1);
  for (std::int64_t row = 0; row < count; ++row) {
    const bool* from = mask + row * length;
    bool* to = chosen + row * length;
    // There are no branches, since no branch predictor could guess which places are candidates or chosen.
    std::int64_t candidates = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      place[std::size_t(candidates)] = std::int32_t(j);
      candidates += from[j];
      to[j] = false;
    }
    // Each choice waits for the one before, so the loop is over the candidates alone. Whole numbers in double spare
    // conversions and are exact.
    double left = double(candidates), wanted = double(size[row]);
    for (std::int64_t c = 0; c < candidates; ++c) {
      const bool take = uniform[c] * left < wanted;
      to[place[std::size_t(c)]] = take;
      wanted -= take ? 1.0 : 0.0;
      left -= 1.0;
    }
    uniform += candidates;
  }
}

}  // namespace wb

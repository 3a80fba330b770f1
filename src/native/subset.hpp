// Random subsets of given size: selection sampling, one uniform number per candidate, and one to spare.
#pragma once

#include "types.hpp"

namespace wb {

// chosen: exactly size[row] of the true places of each row of `mask`, every subset equally likely
inline void random_subset(const bool* mask, std::int64_t count, std::int64_t length, const std::int64_t* size,
                          const double* uniform, bool* chosen) {
  for (std::int64_t row = 0; row < count; ++row) {
    const bool* from = mask + row * length;
    bool* to = chosen + row * length;
    std::int64_t left = 0, wanted = size[row];
    for (std::int64_t j = 0; j < length; ++j) left += from[j];
    for (std::int64_t j = 0; j < length; ++j) {
      // no branches: which places count is as random as it gets
      to[j] = from[j] & (*uniform * double(left) < double(wanted));
      uniform += from[j];
      left -= from[j];
      wanted -= to[j];
    }
  }
}

}  // namespace wb

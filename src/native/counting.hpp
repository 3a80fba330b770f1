// Counts how many values lie between sorted limits, without sorting the values: there are many more of them.
#pragma once

#include <cstdint>

namespace wb {

// Adds 1 to counts[i] for every value v with limits[i - 1] <= v < limits[i]: counts[0] is for values below all limits,
// counts[n_limits] for those that reach all of them. `limits` ascends, NaN last. A value that is NaN counts as below
// all limits. Each value is sought by halving, without branches, and eight values at once: while one waits for the
// cache, the others go on.
inline void count_between(const double* limits, std::int64_t n_limits, const double* values, std::int64_t n_values,
                          std::int64_t* counts) {
  constexpr int AT_ONCE = 8;
  for (std::int64_t first = 0; first < n_values; first += AT_ONCE) {
    const int lanes = n_values - first < AT_ONCE ? int(n_values - first) : AT_ONCE;
    double value[AT_ONCE] = {};
    std::int64_t reached[AT_ONCE] = {};  // so many limits are known to be reached
    for (int i = 0; i < lanes; ++i) value[i] = values[first + i];
    std::int64_t left = n_limits;  // how many of the following limits may be reached, too
    while (left > 0) {
      const std::int64_t half = (left + 1) / 2;
      for (int i = 0; i < AT_ONCE; ++i) reached[i] += limits[reached[i] + half - 1] <= value[i] ? half : 0;
      left -= half;
    }
    for (int i = 0; i < lanes; ++i) ++counts[reached[i]];
  }
}

}  // namespace wb

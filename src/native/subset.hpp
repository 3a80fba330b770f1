// Random subsets of given sizes by selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm S):
// a candidate is chosen with probability wanted / left, where `wanted` places are still to be chosen among the `left`
// candidates that remain. That takes one uniform number per candidate.
#pragma once

#include "types.hpp"

namespace wb {

// The candidates of one row that wait for a choice.
struct Choices {
  const std::int32_t* place;
  const double* uniform;  // one number per candidate
  std::int64_t count;
  bool others;  // whether the places that are not chosen are flipped
  bool* out;
  double left, wanted;  // candidates that remain, and how many of them are chosen; doubles spare conversions
};

// Makes the choices [begin, end) of ROWS rows in turn: each waits for the one before, but not for those of other rows.
// That takes a third of the time of row after row. There are no branches, since no predictor could guess what is
// chosen.
template <int ROWS> void choose(Choices* choices, std::int64_t begin, std::int64_t end) {
  Choices c[ROWS];  // A local copy, which stays in registers.
  std::copy(choices, choices + ROWS, c);
  for (std::int64_t i = begin; i < end; ++i)
    for (int r = 0; r < ROWS; ++r) {
      const bool take = c[r].uniform[i] * c[r].left < c[r].wanted;
      c[r].out[c[r].place[i]] ^= take != c[r].others;
      c[r].wanted -= double(take);
      c[r].left -= 1.0;
    }
  std::copy(c, c + ROWS, choices);
}

// Flips a random subset of the candidates of each row of `out`: as many as wanted(row, number of candidates), or, where
// `others` says so, the remaining ones. candidate(at) tells whether the place `at` of all rows is one.
template <class Candidate, class Wanted>
void flip_subsets(std::int64_t count, std::int64_t length, Candidate candidate, Wanted wanted, const bool* others,
                  const double* uniform, bool* out) {
  constexpr int AT_ONCE = 4;
  std::vector<std::int32_t> places(std::size_t(AT_ONCE * (length + 1)));
  for (std::int64_t first = 0; first < count; first += AT_ONCE) {
    const int rows = int(std::min<std::int64_t>(AT_ONCE, count - first));
    Choices choices[AT_ONCE];
    std::int64_t fewest = length;
    for (int r = 0; r < rows; ++r) {
      const std::int64_t row = first + r;
      std::int32_t* place = places.data() + r * (length + 1);
      std::int64_t found = 0;
      for (std::int64_t j = 0; j < length; ++j) {
        place[found] = std::int32_t(j);
        found += candidate(row * length + j);
      }
      choices[r] = {
          place, uniform, found, others && others[row], out + row * length, double(found), double(wanted(row, found))};
      uniform += found;
      fewest = std::min(fewest, found);
    }
    if (rows == AT_ONCE) choose<AT_ONCE>(choices, 0, fewest);
    for (int r = 0; r < rows; ++r) choose<1>(choices + r, rows == AT_ONCE ? fewest : 0, choices[r].count);
  }
}

// Half-uniform crossover. Of the places where target and partner differ, half, rounded down, are chosen. The child is
// the target with these bits flipped, or, where `others` says so, with the remaining ones.
inline void cross_halves(const bool* target, const bool* partner, std::int64_t count, std::int64_t length,
                         const bool* others, const double* uniform, bool* child) {
  std::copy(target, target + count * length, child);
  flip_subsets(
      count, length, [=](std::int64_t at) { return target[at] != partner[at]; },
      [](std::int64_t, std::int64_t differing) { return differing / 2; }, others, uniform, child);
}

// The number of places below `length` at which `is_true` holds. Its answers are 0 or 1, and the sum of 128 of them fits
// in a byte, so the compiler adds whole vectors.
template <class F> std::int64_t count_places(std::int64_t length, F is_true) {
  std::int64_t total = 0;
  for (std::int64_t from = 0; from < length; from += 128) {
    std::uint8_t part = 0;
    for (std::int64_t j = from; j < std::min(from + 128, length); ++j) part += std::uint8_t(is_true(j));
    total += part;
  }
  return total;
}

inline std::int64_t count_differences(const bool* one, const bool* other, std::int64_t length) {
  return count_places(length, [=](std::int64_t j) { return one[j] != other[j]; });
}

}  // namespace wb

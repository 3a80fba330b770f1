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

// The places of one crossover that wait for a choice.
struct Crossing {
  const std::int32_t* place;  // where target and partner differ
  const double* uniform;      // one number per place
  std::int64_t count;
  bool other;  // whether the bits that are not chosen are flipped
  bool* child;
  double left, wanted;  // places that remain, and how many of them are chosen
};

// Makes the choices [begin, end) of ROWS crossings in turn: each waits for the one before, but not for those of other
// rows.
template <int ROWS> void choose(Crossing* crossings, std::int64_t begin, std::int64_t end) {
  Crossing c[ROWS];  // A local copy, which stays in registers.
  for (int r = 0; r < ROWS; ++r) c[r] = crossings[r];
  for (std::int64_t i = begin; i < end; ++i)
    for (int r = 0; r < ROWS; ++r) {
      const bool take = c[r].uniform[i] * c[r].left < c[r].wanted;
      c[r].child[c[r].place[i]] ^= take != c[r].other;
      c[r].wanted -= double(take);
      c[r].left -= 1.0;
    }
  for (int r = 0; r < ROWS; ++r) crossings[r].left = c[r].left, crossings[r].wanted = c[r].wanted;
}

// Half-uniform crossover. Of the places where target and partner differ, half, rounded down, are chosen as in
// `draw_subsets`. The child is the target with these bits flipped, or, where `other` says so, with the remaining ones.
inline void cross_halves(const bool* target, const bool* partner, std::int64_t count, std::int64_t length,
                         const bool* other, const double* uniform, bool* child) {
  constexpr int AT_ONCE = 4;
  std::vector<std::int32_t> places(std::size_t(AT_ONCE * (length + 1)));
  for (std::int64_t first = 0; first < count; first += AT_ONCE) {
    const int rows = int(std::min<std::int64_t>(AT_ONCE, count - first));
    Crossing crossings[AT_ONCE];
    std::int64_t fewest = length;
    for (int r = 0; r < rows; ++r) {
      const std::int64_t row = first + r;
      const bool *a = target + row * length, *b = partner + row * length;
      std::int32_t* place = places.data() + r * (length + 1);
      std::int64_t found = 0;
      for (std::int64_t j = 0; j < length; ++j) {
        place[found] = std::int32_t(j);
        found += a[j] != b[j];
      }
      std::copy(a, a + length, child + row * length);
      crossings[r] = {place, uniform, found, other[row], child + row * length, double(found), double(found / 2)};
      uniform += found;
      fewest = std::min(fewest, found);
    }
    if (rows == AT_ONCE) choose<AT_ONCE>(crossings, 0, fewest);
    for (int r = 0; r < rows; ++r) choose<1>(crossings + r, rows == AT_ONCE ? fewest : 0, crossings[r].count);
  }
}

}  // namespace wb

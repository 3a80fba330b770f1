// Half-uniform crossover of bits, with selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm
// S): a place is chosen with probability wanted / left, where `wanted` places are still to be chosen among the `left`
// that remain. That takes one uniform number per place.
#pragma once

#include "types.hpp"

namespace wb {

struct Crossover {
  Rows<bool> target, partner;  // (count, length)
  Values<bool> other;          // (count,) whether the child of the partner is wanted
  Values<double> uniform;      // one number per differing place, and one more
  View<bool, 2> child;         // (count, length)
};

// The places where two rows differ and that wait for a choice.
struct Choices {
  const std::int32_t* place;
  const double* uniform;
  std::int64_t count;
  bool others;  // whether the places that are not chosen are flipped
  bool* out;
  double left, wanted;  // places that remain, and how many of them are chosen; doubles spare conversions
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

// Of the places where target and partner differ, half, rounded down, are chosen. The child is the target with these
// bits flipped, or, where `other` says so, with the remaining ones.
inline void cross_halves(const Crossover& job) {
  constexpr int AT_ONCE = 4;
  const std::int64_t count = job.target.size(), length = job.target.width();
  std::copy(job.target.data, job.target[count], job.child.data);
  std::vector<std::int32_t> places(std::size_t(AT_ONCE * (length + 1)));
  const double* uniform = job.uniform.data;
  for (std::int64_t first = 0; first < count; first += AT_ONCE) {
    const int rows = int(std::min<std::int64_t>(AT_ONCE, count - first));
    Choices choices[AT_ONCE];
    std::int64_t fewest = length;
    for (int r = 0; r < rows; ++r) {
      const bool *one = job.target[first + r], *another = job.partner[first + r];
      std::int32_t* place = places.data() + r * (length + 1);
      std::int64_t found = 0;
      for (std::int64_t j = 0; j < length; ++j) {
        place[found] = std::int32_t(j);
        found += one[j] != another[j];
      }
      choices[r] = {place,         uniform,          found, job.other[first + r], job.child[first + r],
                    double(found), double(found / 2)};
      uniform += found;
      fewest = std::min(fewest, found);
    }
    if (rows == AT_ONCE) choose<AT_ONCE>(choices, 0, fewest);
    for (int r = 0; r < rows; ++r) choose<1>(choices + r, rows == AT_ONCE ? fewest : 0, choices[r].count);
  }
}

}  // namespace wb

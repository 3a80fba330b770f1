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

// Of the places where target and partner differ, half, rounded down, are chosen. The child is the target with these
// bits flipped, or, where `other` says so, with the remaining ones.
inline void cross_halves(const Crossover& job) {
  const std::int64_t count = job.target.size(), length = job.target.width();
  std::copy(job.target.data, job.target[count], job.child.data);
  std::vector<std::int32_t> place(std::size_t(length + 1));  // where target and partner differ
  const double* uniform = job.uniform.data;
  for (std::int64_t row = 0; row < count; ++row) {
    std::int64_t found = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      place[std::size_t(found)] = std::int32_t(j);
      found += job.target[row][j] != job.partner[row][j];
    }
    const bool others = job.other[row];
    double left = double(found), wanted = double(found / 2);  // doubles spare conversions
    for (std::int64_t i = 0; i < found; ++i) {  // without branches, since no predictor could guess what is chosen
      const bool take = *uniform++ * left < wanted;
      job.child[row][place[std::size_t(i)]] ^= take != others;
      wanted -= double(take);
      left -= 1.0;
    }
  }
}

}  // namespace wb

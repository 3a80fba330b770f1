// Leave-one-out predictions of many individuals (paper 004) from sorted neighbour lists.
//
// If an individual selects instances only (no weights, no features), the order of the neighbours of a row is the same
// for all individuals. The nearest selected instances are then the first selected entries of the sorted list. The
// selections of 64 individuals are stored as the bits of one word, so that one pass over a list serves all of them.
// A list ends at its width or at the first entry that is not a row.
#pragma once

#include "types.hpp"

namespace wb {

struct NeighborListJob {
  const std::int32_t* lists;  // (n, width) rows by (distance, row), the row itself left out
  std::int64_t width;
  bool complete;                  // lists hold all other rows
  const std::uint64_t* selected;  // (n, n_words): bit b of word w: individual 64 w + b keeps the row
  std::int64_t n_words;
  const std::int32_t* codes;  // (n,)
  std::int64_t n, n_individuals, n_classes, k;
  std::int32_t* predicted;  // (n_individuals, n): class, -1: no other row is selected, -2: the list is too short
};

// An unsigned comparison checks both ends of the range: a negative entry becomes a very large one.
inline bool is_row(const NeighborListJob& job, std::int32_t entry) {
  return std::uint64_t(entry) < std::uint64_t(job.n);
}

// Predictions of one row by 64 individuals at once, for k = 1. `active` holds those that have no prediction yet.
inline void predict_word(const NeighborListJob& job, std::int64_t row, std::int64_t word) {
  const std::int64_t left = job.n_individuals - word * 64;
  std::uint64_t active = left >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << left) - 1;
  std::int32_t* to = job.predicted + word * 64 * job.n + row;
  const std::int32_t* list = job.lists + row * job.width;
  for (std::int64_t s = 0; s < job.width && active && is_row(job, list[s]); ++s) {
    std::uint64_t found = active & job.selected[list[s] * job.n_words + word];
    if (!found) continue;
    active ^= found;
    for (const std::int32_t code = job.codes[list[s]]; found; found &= found - 1)
      to[std::countr_zero(found) * job.n] = code;
  }
  for (; active; active &= active - 1) to[std::countr_zero(active) * job.n] = job.complete ? -1 : -2;
}

// Prediction of one row by one individual: the most frequent class among the first k selected neighbours. Of equally
// frequent classes the one with the lower code wins, as in `vote`. `counts` is all zero before and after.
inline std::int32_t predict_one(const NeighborListJob& job, std::int64_t row, std::int64_t individual,
                                std::vector<int>& counts) {
  const std::int32_t* list = job.lists + row * job.width;
  const std::int64_t word = individual / 64, bit = individual % 64;
  std::int32_t best = -1;
  std::int64_t found = 0, s = 0;
  for (; s < job.width && found < job.k && is_row(job, list[s]); ++s) {
    if (!(job.selected[list[s] * job.n_words + word] >> bit & 1)) continue;
    const std::int32_t code = job.codes[list[s]];
    const int count = ++counts[code];
    if (best < 0 || count > counts[best] || (count == counts[best] && code < best)) best = code;
    ++found;
  }
  std::fill(counts.begin(), counts.end(), 0);
  return found < job.k && !job.complete ? -2 : best;
}

// Predictions of all individuals for the rows [begin, end).
inline void predict_from_lists(const NeighborListJob& job, std::int64_t begin, std::int64_t end) {
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t row = begin; row < end; ++row)
    if (job.k == 1)
      for (std::int64_t word = 0; word < job.n_words; ++word) predict_word(job, row, word);
    else
      for (std::int64_t i = 0; i < job.n_individuals; ++i)
        job.predicted[i * job.n + row] = predict_one(job, row, i, counts);
}

}  // namespace wb

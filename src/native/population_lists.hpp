// Leave-one-out predictions of many individuals (paper 004) from sorted neighbour lists.
//
// If an individual selects instances only (no weights, no features), the order of the neighbours of a row is the same
// for all individuals. The nearest selected instances are then the first selected entries of the sorted list. The
// selections of 64 individuals are stored as the bits of one word, so that one pass over a list serves all of them.
// A list ends at its width or at the first entry that is not a row.
//
// V is what a selected neighbour contributes: the code of its class, or its numeric target (double).
#pragma once

#include "types.hpp"

namespace wb {

template <class V> struct NeighborListJob {
  Rows<std::int32_t> lists;      // (n, width) rows by (distance, row), the row itself left out
  Rows<std::uint64_t> selected;  // (n, n_words): bit b of word w: individual 64 w + b keeps the row
  Values<V> values;              // (n,) what each row contributes
  V otherwise;                   // prediction if no other row is selected
  V unlisted;                    // prediction if the list is too short
  std::int64_t n_classes, k;
  View<V, 2> predicted;  // (n_individuals, n)

  bool complete() const { return lists.width() == lists.size() - 1; }  // lists hold all other rows
  // An unsigned comparison checks both ends of the range: a negative entry becomes a very large one.
  bool is_row(std::int32_t entry) const { return std::uint64_t(entry) < std::uint64_t(lists.size()); }
};

// Predictions of one row by 64 individuals at once, for k = 1. `active` holds those that have no prediction yet.
template <class V> void predict_word(const NeighborListJob<V>& job, std::int64_t row, std::int64_t word) {
  const std::int64_t left = job.predicted.size() - word * 64, n = job.lists.size();
  std::uint64_t active = left >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << left) - 1;
  V* to = job.predicted[word * 64] + row;
  const std::int32_t* list = job.lists[row];
  for (std::int64_t s = 0; s < job.lists.width() && active && job.is_row(list[s]); ++s) {
    std::uint64_t found = active & job.selected[list[s]][word];
    if (!found) continue;
    active ^= found;
    for (const V value = job.values[list[s]]; found; found &= found - 1) to[std::countr_zero(found) * n] = value;
  }
  for (; active; active &= active - 1) to[std::countr_zero(active) * n] = job.complete() ? job.otherwise : job.unlisted;
}

// Prediction of one row by one individual from the first k selected neighbours: the mean of their targets, or their
// most frequent class. Of equally frequent classes the one with the lower code wins, as in `vote`. `counts` is all zero
// before and after.
template <class V>
V predict_one(const NeighborListJob<V>& job, std::int64_t row, std::int64_t individual, std::vector<int>& counts) {
  const std::int32_t* list = job.lists[row];
  const std::int64_t word = individual / 64, bit = individual % 64;
  V answer = job.otherwise, sum = 0;
  std::int64_t found = 0;
  for (std::int64_t s = 0; s < job.lists.width() && found < job.k && job.is_row(list[s]); ++s) {
    if (!(job.selected[list[s]][word] >> bit & 1)) continue;
    const V value = job.values[list[s]];
    ++found;
    if constexpr (std::is_floating_point_v<V>) {
      sum += value;
    } else {
      const int count = ++counts[value];
      if (found == 1 || count > counts[answer] || (count == counts[answer] && value < answer)) answer = value;
    }
  }
  if (std::is_floating_point_v<V> && found) answer = sum / V(found);
  std::fill(counts.begin(), counts.end(), 0);
  return found < job.k && !job.complete() ? job.unlisted : answer;
}

// Predictions of all individuals for the rows [begin, end).
template <class V> void predict_from_lists(const NeighborListJob<V>& job, std::int64_t begin, std::int64_t end) {
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t row = begin; row < end; ++row)
    if (job.k == 1)
      for (std::int64_t word = 0; word < job.selected.width(); ++word) predict_word(job, row, word);
    else
      for (std::int64_t i = 0; i < job.predicted.size(); ++i) job.predicted[i][row] = predict_one(job, row, i, counts);
}

}  // namespace wb

// Leave-one-out answers from sorted neighbour lists: a walk to the first selected neighbours.
// Selections of 64 individuals travel together, one bit each, so one walk serves all of them.
// A list ends at its width or at the first entry that is no row.
#pragma once

#include "types.hpp"

namespace wb {

struct WalkJob {
  const std::int32_t* lists;       // (n, width) rows by (distance, row), the row itself left out
  std::int64_t width;
  bool complete;                   // lists hold all other rows
  const std::uint64_t* selected;   // (n, n_words): bit b of word w: individual 64 w + b keeps the row
  std::int64_t n_words;
  const std::int32_t* codes;       // (n,)
  std::int64_t n, n_individuals, n_classes, k;
  std::int32_t* predicted;         // (n_individuals, n): class, -1: nobody selected, -2: not listed
};

inline bool is_row(const WalkJob& job, std::int32_t entry) { return std::uint64_t(entry) < std::uint64_t(job.n); }

// k = 1, 64 individuals at once
inline void walk_word(const WalkJob& job, std::int64_t row, std::int64_t word) {
  const std::int64_t left = job.n_individuals - word * 64;
  std::uint64_t active = left >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << left) - 1;
  std::int32_t* to = job.predicted + word * 64 * job.n + row;
  const std::int32_t* list = job.lists + row * job.width;
  for (std::int64_t s = 0; s < job.width && active && is_row(job, list[s]); ++s) {
    std::uint64_t found = active & job.selected[list[s] * job.n_words + word];
    if (!found) continue;
    active ^= found;
    for (const std::int32_t code = job.codes[list[s]]; found; found &= found - 1) to[std::countr_zero(found) * job.n] = code;
  }
  for (; active; active &= active - 1) to[std::countr_zero(active) * job.n] = job.complete ? -1 : -2;
}

// The class most of the first k selected neighbours have, of equal ones the first.
inline std::int32_t walk_one(const WalkJob& job, std::int64_t row, std::int64_t individual, std::vector<int>& counts) {
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

inline void population_walk(const WalkJob& job, std::int64_t begin, std::int64_t end) {
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t row = begin; row < end; ++row)
    if (job.k == 1)
      for (std::int64_t word = 0; word < job.n_words; ++word) walk_word(job, row, word);
    else
      for (std::int64_t i = 0; i < job.n_individuals; ++i)
        job.predicted[i * job.n + row] = walk_one(job, row, i, counts);
}

}  // namespace wb

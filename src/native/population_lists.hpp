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
  const std::int32_t* lists;  // (n, width) rows by (distance, row), the row itself left out
  std::int64_t width;
  bool complete;                  // lists hold all other rows
  const std::uint64_t* selected;  // (n, n_words): bit b of word w: individual 64 w + b keeps the row
  std::int64_t n_words;
  const V* values;  // (n,) what each row contributes
  V otherwise;      // prediction if no other row is selected
  V unlisted;       // prediction if the list is too short
  std::int64_t n, n_individuals, n_classes, k;
  V* predicted;  // (n_individuals, n)
};

// An unsigned comparison checks both ends of the range: a negative entry becomes a very large one.
template <class V> bool is_row(const NeighborListJob<V>& job, std::int32_t entry) {
  return std::uint64_t(entry) < std::uint64_t(job.n);
}

// Predictions of one row by 64 individuals at once, for k = 1. `active` holds those that have no prediction yet.
template <class V> void predict_word(const NeighborListJob<V>& job, std::int64_t row, std::int64_t word) {
  const std::int64_t left = job.n_individuals - word * 64;
  std::uint64_t active = left >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << left) - 1;
  V* to = job.predicted + word * 64 * job.n + row;
  const std::int32_t* list = job.lists + row * job.width;
  for (std::int64_t s = 0; s < job.width && active && is_row(job, list[s]); ++s) {
    std::uint64_t found = active & job.selected[list[s] * job.n_words + word];
    if (!found) continue;
    active ^= found;
    for (const V value = job.values[list[s]]; found; found &= found - 1) to[std::countr_zero(found) * job.n] = value;
  }
  for (; active; active &= active - 1)
    to[std::countr_zero(active) * job.n] = job.complete ? job.otherwise : job.unlisted;
}

// Transposes a matrix of 64 x 64 bits: bit j of word i becomes bit i of word j (Warren, Hacker's Delight, 7-3). Blocks
// of half the size are exchanged, for all sizes.
inline void transpose_bits(std::uint64_t (&word)[64]) {
  std::uint64_t mask = 0x00000000FFFFFFFF;
  for (int size = 32; size > 0; size /= 2, mask ^= mask << size)
    for (int at = 0; at < 64; at = ((at | size) + 1) & ~size) {
      const std::uint64_t changed = ((word[at] >> size) ^ word[at | size]) & mask;
      word[at | size] ^= changed;
      word[at] ^= changed << size;
    }
}

// For every byte, its bits as eight bytes of 0 or 1, the lowest first.
constexpr std::array<std::uint64_t, 256> SPREAD_BITS = [] {
  std::array<std::uint64_t, 256> spread{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) spread[byte] |= std::uint64_t(byte >> bit & 1) << (8 * bit);
  return spread;
}();

constexpr int MOST_PLANES = 8;  // bits of a class code for which `predict_words` has room

// Predictions of the rows [begin, end), at most 64 of them, by 64 individuals at once, for k = 1 and classes. The codes
// of the classes that a row finds are kept as planes of bits, one bit per individual, so that an entry of a list is
// handled alike for all of them, without a branch; a transposition then has one bit per row. PLANES: bits of a code.
template <int PLANES>
void predict_words(const NeighborListJob<std::int32_t>& job, std::int64_t begin, std::int64_t end, std::int64_t word) {
  std::uint64_t plane[PLANES][64] = {}, open[64] = {};
  const std::int64_t individuals = std::min<std::int64_t>(job.n_individuals - word * 64, 64);
  const std::uint64_t all = individuals == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << individuals) - 1;
  std::uint64_t unfinished = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int32_t* list = job.lists + row * job.width;
    std::uint64_t active = all, bits[PLANES] = {};
    for (std::int64_t s = 0; s < job.width && active && is_row(job, list[s]); ++s) {
      const std::uint64_t found = active & job.selected[list[s] * job.n_words + word];
      const auto code = std::uint64_t(job.values[list[s]]);
      active ^= found;
      for (int b = 0; b < PLANES; ++b) bits[b] |= found & (0 - (code >> b & 1));
    }
    for (int b = 0; b < PLANES; ++b) plane[b][row - begin] = bits[b];
    open[row - begin] = active;
    unfinished |= active;
  }
  for (int b = 0; b < PLANES; ++b) transpose_bits(plane[b]);
  if (unfinished) transpose_bits(open);
  for (std::int64_t i = 0; i < individuals; ++i) {
    std::int32_t* to = job.predicted + (word * 64 + i) * job.n + begin;
    std::uint8_t code[64];
    for (int byte = 0; byte < 8; ++byte) {
      std::uint64_t eight = 0;
      for (int b = 0; b < PLANES; ++b) eight |= SPREAD_BITS[plane[b][i] >> (8 * byte) & 255] << b;
      // The lowest byte belongs to the first row on every machine.
      for (int at = 0; at < 8; ++at) code[8 * byte + at] = std::uint8_t(eight >> (8 * at));
    }
    std::copy(code, code + (end - begin), to);
    for (std::uint64_t left = open[i]; left; left &= left - 1)
      to[std::countr_zero(left)] = job.complete ? job.otherwise : job.unlisted;
  }
}

// Prediction of one row by one individual from the first k selected neighbours: the mean of their targets, or their
// most frequent class. Of equally frequent classes the one with the lower code wins, as in `vote`. `counts` is all zero
// before and after.
template <class V>
V predict_one(const NeighborListJob<V>& job, std::int64_t row, std::int64_t individual, std::vector<int>& counts) {
  const std::int32_t* list = job.lists + row * job.width;
  const std::int64_t word = individual / 64, bit = individual % 64;
  V answer = job.otherwise, sum = 0;
  std::int64_t found = 0, s = 0;
  for (; s < job.width && found < job.k && is_row(job, list[s]); ++s) {
    if (!(job.selected[list[s] * job.n_words + word] >> bit & 1)) continue;
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
  return found < job.k && !job.complete ? job.unlisted : answer;
}

// Predictions of all individuals for the rows [begin, end).
template <class V> void predict_from_lists(const NeighborListJob<V>& job, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_integral_v<V>)
    if (job.k == 1 && job.n_classes <= 1 << MOST_PLANES) {
      for (std::int64_t row = begin; row < end; row += 64)
        for (std::int64_t word = 0; word < job.n_words; ++word)
          if (job.n_classes <= 2) predict_words<1>(job, row, std::min(row + 64, end), word);
          else if (job.n_classes <= 4) predict_words<2>(job, row, std::min(row + 64, end), word);
          else if (job.n_classes <= 16) predict_words<4>(job, row, std::min(row + 64, end), word);
          else predict_words<MOST_PLANES>(job, row, std::min(row + 64, end), word);
      return;
    }
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t row = begin; row < end; ++row)
    if (job.k == 1)
      for (std::int64_t word = 0; word < job.n_words; ++word) predict_word(job, row, word);
    else
      for (std::int64_t i = 0; i < job.n_individuals; ++i)
        job.predicted[i * job.n + row] = predict_one(job, row, i, counts);
}

}  // namespace wb

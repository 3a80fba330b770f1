// Leave-one-out predictions of many individuals (paper 004) by the nearest selected instance, from ranks: if
// individuals select instances only, and few of them, a walk along sorted neighbour lists (population_lists.hpp) is
// long. The place of every row in every list is then stored as well. The nearest selected instance of a row is the one
// with the smallest place, and a minimum over the selected instances serves many rows with one instruction.
//
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The smallest rank of the rows `selected` in each of the RANKS_AT_ONCE lists of a block. With WITH_PLACE, also the
// place among `selected` of the row that has it: looking the row up in its list would miss the cache for every list.
template <bool WITH_PLACE>
WB_INLINE void smallest_ranks(const std::int16_t* block, const std::int32_t* selected, std::int64_t count,
                              std::int16_t (&best)[RANKS_AT_ONCE], std::int16_t (&place)[RANKS_AT_ONCE]) {
#if WB_VECTOR_EXTENSIONS
  typedef std::int16_t Shorts __attribute__((vector_size(32)));  // signed, as SSE2 has no minimum of unsigned ones
  constexpr int VECTORS = RANKS_AT_ONCE / 16;
  Shorts low[VECTORS], at[VECTORS] = {};
  WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) low[v] = NO_RANK - Shorts{};
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int16_t* from = block + std::int64_t(selected[s]) * RANKS_AT_ONCE;
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
      Shorts rank;
      std::memcpy(&rank, from + v * 16, sizeof rank);
      const Shorts smaller = rank < low[v];
      if constexpr (WITH_PLACE) at[v] = ((std::int16_t(s) - Shorts{}) & smaller) | (at[v] & ~smaller);
#ifdef WB_HAS_AVX2
      low[v] = rank < low[v] ? rank : low[v];
#else  // If the level has no register for a whole vector, GCC would compile ?: lane by lane.
      low[v] = (rank & smaller) | (low[v] & ~smaller);
#endif
    }
  }
  std::memcpy(best, low, sizeof best);
  if constexpr (WITH_PLACE) std::memcpy(place, at, sizeof place);
#else
  std::fill(best, best + RANKS_AT_ONCE, NO_RANK);
  for (std::int64_t s = 0; s < count; ++s)
    for (int lane = 0; lane < RANKS_AT_ONCE; ++lane) {
      const std::int16_t rank = block[std::int64_t(selected[s]) * RANKS_AT_ONCE + lane];
      if (rank >= best[lane]) continue;
      best[lane] = rank;
      if constexpr (WITH_PLACE) place[lane] = std::int16_t(s);
    }
#endif
}

// Predictions of all individuals for the rows [begin, end), whole blocks but the last. Individuals are in the inner
// loop: the ranks of a block then stay in the cache for all of them.
template <class V> WB_KERNEL void predict_from_ranks(const RankJob<V>& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t first = begin; first < end; first += RANKS_AT_ONCE) {
    const std::int64_t used = std::min<std::int64_t>(RANKS_AT_ONCE, end - first);
    for (std::int64_t i = 0; i < job.n_individuals; ++i) {
      std::int16_t best[RANKS_AT_ONCE], place[RANKS_AT_ONCE];
      const std::int16_t* block = job.ranks + first * job.n;
      const std::int32_t* selected = job.selected + job.start[i];
      const std::int64_t count = job.start[i + 1] - job.start[i];
      V* to = job.predicted + i * job.n + first;
      if (std::is_integral_v<V> && job.code_bits) {
        smallest_ranks<false>(block, selected, count, best, place);
        const int codes = (1 << job.code_bits) - 1;
        for (std::int64_t lane = 0; lane < used; ++lane)
          to[lane] = best[lane] == NO_RANK ? job.otherwise : V(best[lane] & codes);
        continue;
      }
      smallest_ranks<true>(block, selected, count, best, place);
      for (std::int64_t lane = 0; lane < used; ++lane)
        to[lane] = best[lane] == NO_RANK ? job.otherwise : job.values[selected[place[lane]]];
    }
  }
}

}  // namespace wb::WB_LEVEL

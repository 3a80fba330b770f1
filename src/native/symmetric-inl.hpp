// Leave-one-out searches among wide rows: the distances of all pairs of rows, each pair computed once, and the k
// nearest of every row from them. The sums are those of distance-inl.hpp, to the bit: (x - q)^2 and (q - x)^2 are the
// same.
//
// Rows as wide as this have to be read from far away, and a core that waits for them loses more time than it spends on
// sums. So all tiles add a panel of features before the next one: the packed references are read once, and a panel of
// them stays in the second-level cache. Meanwhile the next panel is fetched, a share of it with each tile.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Adds the features [first, last) to the sums of a tile: (PAIR_QUERIES, BLOCK_LANES), not read if `first` is 0.
// Not inlined: within a larger function, compilers choose registers whose instructions are longer, and the core then
// spends a quarter of its time on reading instructions.
template <class T, int P, bool MISSING, class TileQueries>
WB_NOINLINE WB_KERNEL void add_pair_panel(const TileQueries& queries, const T* block, const Features<T>& features,
                                          std::int64_t first, std::int64_t last, T* sums) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, WIDE = VECTOR_LANES<T>;
  Vec<T> sum[PAIR_QUERIES][TILE_VECTORS];
  WB_UNROLLED_FOR (int q = 0; q < PAIR_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
      sum[q][v] = first == 0 ? broadcast<T>(T(0)) : load<T>(sums + q * LANES + v * WIDE);
  accumulate_tile<T, P, false, MISSING>(queries, block, static_cast<const T*>(nullptr), features, first, last, sum);
  WB_UNROLLED_FOR (int q = 0; q < PAIR_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) store<T>(sums + q * LANES + v * WIDE, sum[q][v]);
}

// The rows of a tile's queries, since their blocks may be in another part.
template <class T>
WB_INLINE RowQueries<T, PAIR_QUERIES> rows_of(const SymmetricJob<T>& job, const PairLayout& layout,
                                              const PairTile& tile) {
  RowQueries<T, PAIR_QUERIES> queries;
  for (int q = 0; q < PAIR_QUERIES; ++q) {
    // Padding takes any row, and its distances are not read.
    const std::int64_t lane = std::min(tile.lane + q, layout.n_lanes - 1);
    queries.row[q] = job.source[std::max<std::int64_t>(job.order[lane], 0)];
  }
  return queries;
}

// Computes the distances of the listed tiles, and writes each to both of its places.
template <class T, int P, bool MISSING>
WB_KERNEL void compute_symmetric_distances(const SymmetricJob<T>& job, const PairLayout& layout,
                                           std::span<const PairTile> tiles) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = PAIR_QUERIES * LANES;
  constexpr std::int64_t PANEL = 128;   // features; some panels fit in the first-level cache
  constexpr std::size_t AT_ONCE = 512;  // tiles, whose sums fit in the second-level cache beside the panels
  const std::int64_t m = job.source.width();
  const Features<T> features = job.references->features();
  const bool all_blocks = layout.blocks * LANES == job.order.size();
  for (std::size_t begin = 0; begin < tiles.size(); begin += AT_ONCE) {
    const std::span<const PairTile> some = tiles.subspan(begin, std::min(AT_ONCE, tiles.size() - begin));
    std::vector<T> sums(m > PANEL ? some.size() * TILE_SUMS : TILE_SUMS);
    for (std::int64_t first = 0; first < m; first += PANEL) {
      const std::int64_t last = std::min(first + PANEL, m), next = std::min(PANEL, m - last);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const PairTile& tile = some[i];
        const T* block = job.references->packed[tile.block - layout.first_block];
        fetch_share(tile, block, last, next, LANES);
        T* tile_sums = sums.data() + (m > PANEL ? i * TILE_SUMS : 0);
        if (all_blocks) {
          const LaneQueries<T> queries{job.references->packed[tile.lane / LANES] + tile.lane % LANES};
          add_pair_panel<T, P, MISSING>(queries, block, features, first, last, tile_sums);
        } else {
          add_pair_panel<T, P, MISSING>(rows_of(job, layout, tile), block, features, first, last, tile_sums);
        }
        if (last == m) write_pair_tile(layout, tile, tile_sums, job.distance);
      }
    }
  }
}

// Writes the lists of the k nearest lanes of each group, for the queries of the lanes [begin, end). Rows ascend within
// a group, so of equal distances the first one stays.
template <class T> WB_KERNEL void select_nearest(const SelectJob<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const Values<std::int64_t>&order = job.order, &group_start = job.group_start;
  for (std::int64_t lane = begin; lane < end; ++lane) {
    if (order[lane] < 0) continue;
    const T* distance = job.pair_distance[lane];
    for (std::int64_t g = 0; g < job.lists.n_groups(); ++g) {
      const List<T> list(job.lists, order[lane], g);
      list.clear();
      for (std::int64_t at = group_start[g] * LANES; at < group_start[g + 1] * LANES; at += VECTOR_LANES<T>) {
        unsigned near = lane_bits<T>(less<T>(load<T>(distance + at), broadcast<T>(list.worst())));
        for (; near; near &= near - 1) {
          const std::int64_t other = at + std::countr_zero(near);
          if (distance[other] < list.worst() && other != lane && order[other] >= 0)
            list.replace(distance[other], order[other]);
        }
      }
      list.sort();
    }
  }
}

// Writes the squared distances of the pairs [begin, end) of rows of numbers, each the same sum as above. The lanes of a
// vector are pairs: differences of several features are taken along the rows and transposed. All pairs add a panel of
// features before the next, so that the panels of all rows stay in the second-level cache.
template <class T> WB_KERNEL void measure_pairs(const PairsJob<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t WIDE = VECTOR_LANES<T>, CHAINS = 4, AT_ONCE = CHAINS * WIDE, PANEL = 2048 / sizeof(T);
  const std::int64_t m = job.rows.width();
  T* distance = job.distance.data;
  std::fill(distance + begin, distance + end, T(0));
  for (std::int64_t panel = 0; panel < m; panel += PANEL) {
    const std::int64_t last = std::min(panel + PANEL, m);
    for (std::int64_t pair = begin; pair < end; pair += AT_ONCE) {
      const T *one[AT_ONCE], *other[AT_ONCE];
      T kept[AT_ONCE];
      for (std::int64_t i = 0; i < AT_ONCE; ++i) {
        const std::int64_t at = std::min(pair + i, end - 1);  // The last pair is repeated, and its copies are not used.
        one[i] = job.rows[job.pairs[at][0]];
        other[i] = job.rows[job.pairs[at][1]];
        kept[i] = distance[at];
      }
      Vec<T> sum[CHAINS];  // Several sums, since each addition waits for the one before.
      WB_UNROLLED_FOR (int c = 0; c < CHAINS; ++c) sum[c] = load<T>(kept + c * WIDE);
      std::int64_t j = panel;
      for (; j + WIDE <= last; j += WIDE)
        WB_UNROLLED_FOR (int c = 0; c < CHAINS; ++c) {
          Vec<T> diff[WIDE];
          WB_UNROLLED_FOR (int i = 0; i < WIDE; ++i)
            diff[i] = load<T>(other[c * WIDE + i] + j) - load<T>(one[c * WIDE + i] + j);
          transpose<T>(diff);
          WB_UNROLLED_FOR (int i = 0; i < WIDE; ++i) sum[c] = add_term<T, 2, false>(sum[c], diff[i], diff[i]);
        }
      WB_UNROLLED_FOR (int c = 0; c < CHAINS; ++c) store<T>(kept + c * WIDE, sum[c]);
      const std::int64_t count = std::min(AT_ONCE, end - pair);
      for (; j < last; ++j)
        for (std::int64_t i = 0; i < count; ++i) {
          const T diff = other[i][j] - one[i][j];
          kept[i] = add_term<T, 2, false>(kept[i], diff, diff);
        }
      std::copy(kept, kept + count, distance + pair);
    }
  }
}

}  // namespace wb::WB_LEVEL

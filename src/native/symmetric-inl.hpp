// Leave-one-out searches among wide rows: the distances of all pairs of rows, each pair computed once, and the k
// nearest of every row from them. The sums are those of distance-inl.hpp, to the bit: (x - q)^2 and (q - x)^2 are the
// same.
//
// Both sides stay in the cache: a panel of features of one block is read for all tiles of queries, whose panels are in
// the second-level cache, and the packed references are read once per range of queries. Queries are lanes of the packed
// blocks, or rows if these blocks are in another part: nothing is copied, and rows that are as wide as this have to be
// read from far away, so that reading them once is worth more than the better order of copies.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Computes the distances of the lanes [begin, end) to the later lanes of the blocks in `job`, and writes each to both
// of its places. The lanes from `job.tail` on are compared with all blocks, and other lanes not with the block of
// these: if the last block has few rows, that is less work than to compare all tiles of queries with its padding.
template <class T, int P, bool MISSING, class TileQueries>
WB_INLINE void compute_symmetric_panels(const SymmetricJob<T>& job, std::int64_t panel, std::int64_t begin,
                                        std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES;
  const std::int64_t m = job.features.count, stride = job.n_lanes;
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES;
  std::vector<T> sums(m > panel ? std::size_t(n_tiles * job.n_blocks * TILE_SUMS) : 0);
  for (std::int64_t first = 0; first < m; first += panel) {
    const std::int64_t last = std::min(first + panel, m);
    for (std::int64_t block = 0; block < job.n_blocks; ++block) {
      const std::int64_t block_lane = (job.first_block + block) * LANES;
      fetch_ahead(job.packed + (block * m + last) * LANES, std::min(panel, m - last) * LANES);
      for (std::int64_t t = 0; t < n_tiles; ++t) {
        const std::int64_t tile_lane = begin + t * TILE_QUERIES;
        const bool in_tail = job.tail < job.n_lanes && tile_lane + TILE_QUERIES > job.tail;
        if (!in_tail && (tile_lane >= block_lane + LANES || block_lane >= job.tail)) continue;
        T* kept = sums.data() + (t * job.n_blocks + block) * TILE_SUMS;
        TileSums<T> sum;
        if (first == 0) clear<T>(sum);
        else restore<T>(kept, sum);
        TileQueries queries;
        for (int q = 0; q < TILE_QUERIES; ++q) {
          // Padding repeats a row, and its distances are not read.
          const std::int64_t lane = std::min(tile_lane + q, end - 1);
          if constexpr (std::is_same_v<TileQueries, LaneQueries<T>>)
            queries.lane[q] = job.packed + lane / LANES * m * LANES + lane % LANES;
          else queries.row[q] = job.source + std::max<std::int64_t>(job.order[lane], 0) * m;
        }
        accumulate_tile<T, P, false, MISSING>(queries, job.packed + block * m * LANES, nullptr, job.features, first,
                                              last, sum);
        if (last < m) {
          save<T>(sum, kept);
          continue;
        }
        T distance[TILE_SUMS];
        save<T>(sum, distance);
        for (int q = 0; q < TILE_QUERIES && tile_lane + q < end; ++q) {
          const std::int64_t lane = tile_lane + q;
          // Two threads must not write the same place, so that each pair belongs to the tile that must have it.
          const bool all = lane >= job.tail;
          for (std::int64_t other = all ? block_lane : std::max(block_lane, lane); other < block_lane + LANES;
               ++other) {
            if (all ? other > lane : other >= job.tail) break;
            job.distance[lane * stride + other] = job.distance[other * stride + lane] =
                distance[q * LANES + other - block_lane];
          }
        }
      }
    }
  }
}

template <class T, int P, bool MISSING>
WB_KERNEL void compute_symmetric_distances(const SymmetricJob<T>& job, std::int64_t begin, std::int64_t end) {
  // Panels of one block of queries and one of references fit in the first-level cache.
  constexpr std::int64_t PANEL = 384;
  if (job.n_blocks * BLOCK_LANES<T> == job.n_lanes)
    compute_symmetric_panels<T, P, MISSING, LaneQueries<T>>(job, PANEL / 2, begin, end);
  else compute_symmetric_panels<T, P, MISSING, RowQueries<T>>(job, PANEL, begin, end);
}

// Writes the lists of the k nearest lanes of each group, for the queries of the lanes [begin, end). Rows ascend within
// a group, so of equal distances the first one stays.
template <class T>
WB_KERNEL void select_nearest(const SymmetricJob<T>& job, const std::int64_t* group_start, std::int64_t n_groups,
                              const Lists<T>& lists, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  for (std::int64_t lane = begin; lane < end; ++lane) {
    if (job.order[lane] < 0) continue;
    const T* distance = job.distance + lane * job.n_lanes;
    for (std::int64_t g = 0; g < n_groups; ++g) {
      T* list = lists.distance + (job.order[lane] * n_groups + g) * lists.k;
      std::int64_t* list_id = lists.id + (job.order[lane] * n_groups + g) * lists.k;
      std::fill(list, list + lists.k, std::numeric_limits<T>::infinity());
      std::fill(list_id, list_id + lists.k, std::int64_t(-1));
      for (std::int64_t at = group_start[g] * LANES; at < group_start[g + 1] * LANES; at += VECTOR_LANES<T>) {
        unsigned near = lane_bits<T>(less<T>(load<T>(distance + at), broadcast<T>(list[0])));
        for (; near; near &= near - 1) {
          const std::int64_t other = at + std::countr_zero(near);
          if (distance[other] < list[0] && other != lane && job.order[other] >= 0)
            replace_worst(list, list_id, lists.k, distance[other], job.order[other]);
        }
      }
      sort_list(list, list_id, lists.k);
    }
  }
}

// Writes the squared distances of the pairs [begin, end) of rows of numbers, each the same sum as above. The lanes of a
// vector are pairs: differences of several features are taken along the rows and transposed. All pairs add a panel of
// features before the next, so that the panels of all rows stay in the second-level cache.
template <class T>
WB_KERNEL void measure_pairs(const T* rows, std::int64_t m, const std::int64_t* pairs, T* distance, std::int64_t begin,
                             std::int64_t end) {
  constexpr std::int64_t WIDE = VECTOR_LANES<T>, CHAINS = 4, AT_ONCE = CHAINS * WIDE, PANEL = 2048 / sizeof(T);
  std::fill(distance + begin, distance + end, T(0));
  for (std::int64_t panel = 0; panel < m; panel += PANEL) {
    const std::int64_t last = std::min(panel + PANEL, m);
    for (std::int64_t pair = begin; pair < end; pair += AT_ONCE) {
      const T *one[AT_ONCE], *other[AT_ONCE];
      T kept[AT_ONCE];
      for (std::int64_t i = 0; i < AT_ONCE; ++i) {
        const std::int64_t at = std::min(pair + i, end - 1);  // The last pair is repeated, and its copies are not used.
        one[i] = rows + pairs[2 * at] * m;
        other[i] = rows + pairs[2 * at + 1] * m;
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

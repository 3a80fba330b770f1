// Leave-one-out searches among wide rows: the distances of all pairs of rows, each pair computed once, and the k
// nearest of every row from them. The sums are those of distance-inl.hpp, to the bit: (x - q)^2 and (q - x)^2 are the
// same.
//
// Both sides stay in the cache: a panel of features of one block is read for all tiles of queries, whose panels are in
// the second-level cache, and the packed references are read once per range of queries. Queries are read where they
// are: with few rows, copying them into tiles would take a fifth of the time.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Computes the distances of the lanes [begin, end) to the later lanes of the blocks in `job`, and writes each to both
// of its places.
template <class T, int P, bool MISSING>
WB_KERNEL void compute_symmetric_distances(const SymmetricJob<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES, PANEL = 384;
  const std::int64_t m = job.features.count, stride = job.n_lanes;
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES;
  std::vector<T> sums(m > PANEL ? std::size_t(n_tiles * job.n_blocks * TILE_SUMS) : 0);
  for (std::int64_t first = 0; first < m; first += PANEL) {
    const std::int64_t last = std::min(first + PANEL, m);
    for (std::int64_t block = 0; block < job.n_blocks; ++block) {
      const std::int64_t block_lane = (job.first_block + block) * LANES;
      for (std::int64_t t = 0; t < n_tiles && begin + t * TILE_QUERIES < block_lane + LANES; ++t) {
        T* kept = sums.data() + (t * job.n_blocks + block) * TILE_SUMS;
        TileSums<T> sum;
        if (first == 0) clear<T>(sum);
        else restore<T>(kept, sum);
        RowQueries<T> queries;
        for (int q = 0; q < TILE_QUERIES; ++q) {
          // Padding repeats a row, and its distances are not read.
          const std::int64_t row = job.order[std::min(begin + t * TILE_QUERIES + q, end - 1)];
          queries.row[q] = job.source + std::max<std::int64_t>(row, 0) * m;
        }
        accumulate_tile<T, P, false, MISSING>(queries, job.packed + block * m * LANES, nullptr, job.features, first,
                                              last, sum);
        if (last < m) {
          save<T>(sum, kept);
          continue;
        }
        T distance[TILE_SUMS];
        save<T>(sum, distance);
        for (int q = 0; q < TILE_QUERIES; ++q) {
          const std::int64_t lane = begin + t * TILE_QUERIES + q;
          for (std::int64_t other = std::max(block_lane, lane); lane < end && other < block_lane + LANES; ++other)
            job.distance[lane * stride + other] = job.distance[other * stride + lane] =
                distance[q * LANES + other - block_lane];
        }
      }
    }
  }
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

}  // namespace wb::WB_LEVEL

// A full scan of packed references: the distances of every tile of queries and every block are computed and given to a
// collector, which keeps what it wants (k_nearest-inl.hpp, within-inl.hpp).
//
// If references are folded (pack.hpp), the sums are folded distances. A collector then widens its limits by the
// rounding of folded data, and computes what passes them again with exact differences. Included once per CPU level: see
// level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// An upper bound on the folded distance of a row whose exact distance is below `worst`. Folding changes a distance by
// `slack` at most; the factor `margin` covers the rounding of both sums of m terms.
template <class T, int P> WB_INLINE T folded_limit(T worst, T slack, std::int64_t m) {
  const T margin = T(1) + T(m + 8) * std::numeric_limits<T>::epsilon();
  if constexpr (P == 1) return (worst * margin + slack) * margin;
  const T root = std::sqrt(worst) * margin + slack;
  return root * root * margin;
}

// The limit below which a distance of the tile may enter a list whose worst entry is `worst`.
template <class T, int P>
WB_INLINE T entry_limit(T worst, const Recheck<T>& recheck, std::int64_t row, std::int64_t m) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (worst == infinity) return infinity;
  return recheck.source ? folded_limit<T, P>(worst, recheck.slack[row], m) : worst;
}

// Where the sums of a tile belong: first row of the queries, group and block of the references.
struct TilePosition {
  std::int64_t row, group, block;
};

// Gives the distances of a tile that are below their query's limit to the collector. This is rare: one test of the
// whole tile answers most calls.
template <class T, class Collector>
WB_INLINE void collect_tile(const References<T>& refs, const Collector& collector, const TilePosition& place,
                            TileSums<T>& sum, T (&limit)[TILE_QUERIES]) {
  if (refs.scales)
    for (int v = 0; v < TILE_VECTORS; ++v) {
      const Vec<T> scale = load<T>(refs.scales + place.block * BLOCK_LANES<T> + v * VECTOR_LANES<T>);
      for (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
    }
  Mask<T> hit = no_lane<T>();
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) hit = hit | less<T>(sum[q][v], broadcast<T>(limit[q]));
  if (!any<T>(hit)) return;

  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
    unsigned lanes = 0;
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
      lanes |= lane_bits<T>(less<T>(sum[q][v], broadcast<T>(limit[q]))) << (v * VECTOR_LANES<T>);
    if (!lanes) continue;
    T distance[BLOCK_LANES<T>];
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(distance + v * VECTOR_LANES<T>, sum[q][v]);
    limit[q] = collector.take({place.row + q, place.group, place.block}, lanes, distance, limit[q]);
  }
}

// Scans all references for the queries [begin, end). P: exponent of the distance; W: references have weights of their
// own per feature; MISSING: numeric values may be missing. A collector has
//   limit(row, group)                     the limit below which a sum is of interest;
//   take(place, lanes, distance, limit)   takes the lanes of a block that are below it, and returns the new limit.
template <class T, int P, bool W, bool MISSING, class Collector>
WB_INLINE void scan_tiles(const Queries<T>& queries, const References<T>& refs, const Features<T>& features,
                          const Collector& collector, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES;
  const std::int64_t m = features.count, groups = refs.n_groups;
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES, n_blocks = refs.group_start[groups];
  const CacheBlocking<T> blocking(m, n_tiles, W ? 2 : 1);

  std::vector<T> packed(std::size_t(blocking.tiles * blocking.panel * TILE_QUERIES));
  std::vector<T> sums(blocking.wide ? std::size_t(blocking.tiles * n_blocks * TILE_SUMS) : 0);
  for (std::int64_t tiles = 0; tiles < n_tiles; tiles += blocking.tiles) {
    const std::int64_t tiles_end = std::min(tiles + blocking.tiles, n_tiles);
    for (std::int64_t first = 0; first < m; first += blocking.panel) {
      const std::int64_t last = std::min(first + blocking.panel, m);
      for (std::int64_t t = tiles; t < tiles_end; ++t)
        gather_tile(queries.rows, begin + t * TILE_QUERIES, end, m, first, last,
                    packed.data() + (t - tiles) * blocking.panel * TILE_QUERIES);
      for (std::int64_t part = 0; part < n_blocks; part += blocking.blocks) {
        const std::int64_t part_end = std::min(part + blocking.blocks, n_blocks);
        const std::int64_t first_group =
            std::upper_bound(refs.group_start, refs.group_start + groups + 1, part) - refs.group_start - 1;
        for (std::int64_t t = tiles; t < tiles_end; ++t) {
          const T* tile_queries = packed.data() + (t - tiles) * blocking.panel * TILE_QUERIES;
          for (std::int64_t g = first_group; g < groups && refs.group_start[g] < part_end; ++g) {
            T limit[TILE_QUERIES];
            for (int q = 0; q < TILE_QUERIES; ++q) {
              const std::int64_t row = begin + t * TILE_QUERIES + q;
              if (row < end) limit[q] = collector.limit(row, g);
              else limit[q] = -std::numeric_limits<T>::infinity();  // The query repeats the last one.
            }
            const std::int64_t stop = std::min(part_end, refs.group_start[g + 1]);
            for (std::int64_t block = std::max(part, refs.group_start[g]); block < stop; ++block) {
              T* kept = blocking.wide ? sums.data() + ((t - tiles) * n_blocks + block) * TILE_SUMS : nullptr;
              TileSums<T> sum;
              if (first == 0) clear<T>(sum);
              else restore<T>(kept, sum);
              accumulate_tile<T, P, W, MISSING>(
                  GatheredQueries<T>{tile_queries, first}, refs.packed + block * m * LANES,
                  W ? refs.weights + block * m * LANES : nullptr, features, first, last, sum);
              if (last < m) save<T>(sum, kept);
              else collect_tile<T>(refs, collector, {begin + t * TILE_QUERIES, g, block}, sum, limit);
            }
          }
        }
      }
    }
  }
}

}  // namespace wb::WB_LEVEL

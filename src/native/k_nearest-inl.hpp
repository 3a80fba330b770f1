// The k nearest references of a range of queries, per group, by a full scan: every distance of distance-inl.hpp is
// computed, the k smallest of each group are kept.
//
// The lists are in the caller's arrays: max-heaps while a call runs, sorted by (distance, row) when it returns. A call
// continues the lists it is given, so references may be passed in several parts, provided that rows ascend within a
// group. Results do not depend on how queries or references are split: every distance is one fixed sum.
//
// If references are folded (pack.hpp), folded distances only propose. Whatever may be among the k nearest, given the
// rounding of folded data, is computed again with exact differences, and these distances are ranked.
// Included once per CPU level: see level-inl.hpp.
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

// Inserts the lanes of a block that are below `limit` into the list of a row; returns the new limit. Not inlined,
// because it is rare and its registers would push the tile's sums out of theirs.
template <class T, int P>
WB_NOINLINE WB_KERNEL T insert_lanes(const Queries<T>& queries, const References<T>& refs, const Recheck<T>& recheck,
                                     const Lists<T>& lists, const TilePosition& place, unsigned lanes,
                                     const T* distance, T limit) {
  const std::int64_t m = recheck.features.count, k = lists.k, row = place.row;
  T* list = lists.distance + (row * refs.n_groups + place.group) * k;
  std::int64_t* list_id = lists.id + (row * refs.n_groups + place.group) * k;
  for (; lanes; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (!(distance[lane] < limit)) continue;  // The limit may have fallen since the lanes were found.
    const std::int64_t at = place.block * BLOCK_LANES<T> + lane, id = refs.ids[at];
    if (id < 0 || (queries.ids && queries.ids[row] == id)) continue;
    T d = distance[lane];
    if (recheck.source) {
      d = exact_distance<T, P>(recheck.queries + row * m, recheck.source + recheck.order[at] * m, recheck.weights,
                               recheck.features);
      if (refs.scales) d *= refs.scales[at];
    }
    // Rows ascend within a group, so of equal distances the one in the list has the lower row and stays.
    if (!(d < list[0])) continue;
    replace_worst(list, list_id, k, d, id);
    limit = entry_limit<T, P>(list[0], recheck, row, m);
  }
  return limit;
}

// Inserts the distances of a tile that are below their query's limit into the lists. Once lists are full this is rare:
// one test of the whole tile answers most calls.
template <class T, int P>
WB_INLINE void update_lists(const Queries<T>& queries, const References<T>& refs, const Recheck<T>& recheck,
                            const Lists<T>& lists, const TilePosition& place, TileSums<T>& sum,
                            T (&limit)[TILE_QUERIES]) {
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
    limit[q] = insert_lanes<T, P>(queries, refs, recheck, lists, {place.row + q, place.group, place.block}, lanes,
                                  distance, limit[q]);
  }
}

// Continues the lists of the queries [begin, end). P: exponent of the distance; W: references have weights of their own
// per feature; MISSING: numeric values may be missing.
template <class T, int P, bool W, bool MISSING>
WB_KERNEL void find_k_nearest(const Queries<T>& queries, const References<T>& refs, const Features<T>& features,
                              const Recheck<T>& recheck, const Lists<T>& lists, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES;
  const std::int64_t m = features.count, k = lists.k, groups = refs.n_groups;
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES, n_blocks = refs.group_start[groups];
  const CacheBlocking<T> blocking(m, n_tiles, W ? 2 : 1);

  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t g = 0; g < groups; ++g) {  // A descending list is a max-heap.
      std::reverse(lists.distance + (row * groups + g) * k, lists.distance + (row * groups + g + 1) * k);
      std::reverse(lists.id + (row * groups + g) * k, lists.id + (row * groups + g + 1) * k);
    }

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
              if (row < end) limit[q] = entry_limit<T, P>(lists.distance[(row * groups + g) * k], recheck, row, m);
              else limit[q] = -std::numeric_limits<T>::infinity();  // The query repeats the last one and has no list.
            }
            const std::int64_t stop = std::min(part_end, refs.group_start[g + 1]);
            for (std::int64_t block = std::max(part, refs.group_start[g]); block < stop; ++block) {
              T* kept = blocking.wide ? sums.data() + ((t - tiles) * n_blocks + block) * TILE_SUMS : nullptr;
              TileSums<T> sum;
              if (first == 0) clear<T>(sum);
              else restore<T>(kept, sum);
              accumulate_tile<T, P, W, MISSING>(tile_queries, refs.packed + block * m * LANES,
                                                W ? refs.weights + block * m * LANES : nullptr, features, first, last,
                                                sum);
              if (last < m) save<T>(sum, kept);
              else update_lists<T, P>(queries, refs, recheck, lists, {begin + t * TILE_QUERIES, g, block}, sum, limit);
            }
          }
        }
      }
    }
  }
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t g = 0; g < groups; ++g)
      sort_list(lists.distance + (row * groups + g) * k, lists.id + (row * groups + g) * k, k);
}

}  // namespace wb::WB_LEVEL

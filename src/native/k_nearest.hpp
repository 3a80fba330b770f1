// The k nearest references of a range of queries, per group, by a full scan.
//
// The lists live in the caller's arrays as max-heaps while a call runs and leave it sorted by
// (distance, row). A call continues the lists it is given, so references may come in several
// parts, as long as rows ascend within a group. Nothing here depends on how queries or
// references are cut: every distance is one fixed sum.
// Included once per CPU level: see level.hpp.
#ifndef WB_LEVEL
#error "include level.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The largest folded distance that an exact distance below `worst` can show.
template <class T, int P> WB_INLINE T folded_limit(T worst, T slack, std::int64_t m) {
  const T margin = T(1) + T(m + 8) * std::numeric_limits<T>::epsilon();
  if constexpr (P == 1) return (worst * margin + slack) * margin;
  const T root = std::sqrt(worst) * margin + slack;
  return root * root * margin;
}

// What a distance of the tile must be below to enter a list whose worst entry is `worst`.
template <class T, int P>
WB_INLINE T entry_limit(T worst, const Recheck<T>& recheck, std::int64_t row, std::int64_t m) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (worst == infinity) return infinity;
  return recheck.source ? folded_limit<T, P>(worst, recheck.slack[row], m) : worst;
}

struct Place {
  std::int64_t row, group, block;
};

// Lets the lanes of a block that are below `limit` into a row's list; the limit after that.
template <class T, int P>
WB_APART WB_KERNEL T enter(const Queries<T>& queries, const References<T>& refs, const Recheck<T>& recheck,
                           const Lists<T>& lists, const Place& place, unsigned lanes, const T* distance, T limit) {
  const std::int64_t m = recheck.features.count, k = lists.k, row = place.row;
  T* list = lists.distance + (row * refs.n_groups + place.group) * k;
  std::int64_t* list_id = lists.id + (row * refs.n_groups + place.group) * k;
  for (; lanes; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (!(distance[lane] < limit)) continue;  // the limit may have fallen since
    const std::int64_t at = place.block * BLOCK_LANES<T> + lane, id = refs.ids[at];
    if (id < 0 || (queries.ids && queries.ids[row] == id)) continue;
    T d = distance[lane];
    if (recheck.source) {
      d = exact<T, P>(recheck.queries + row * m, recheck.source + recheck.order[at] * m, recheck.weights,
                      recheck.features);
      if (refs.scales) d *= refs.scales[at];
    }
    if (!(d < list[0])) continue;
    replace_worst(list, list_id, k, d, id);
    limit = entry_limit<T, P>(list[0], recheck, row, m);
  }
  return limit;
}

// Lets what is below a query's limit into its list.
template <class T, int P>
WB_INLINE void offer(const Queries<T>& queries, const References<T>& refs, const Recheck<T>& recheck,
                     const Lists<T>& lists, const Place& place, TileSums<T>& sum, T (&limit)[TILE_QUERIES]) {
  if (refs.scales)
    for (int v = 0; v < TILE_VECTORS; ++v) {
      const Vec<T> scale = load<T>(refs.scales + place.block * BLOCK_LANES<T> + v * VECTOR_LANES<T>);
      for (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
    }
  Mask<T> hit = no_lane<T>();
  WB_UNROLL
  for (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLL
    for (int v = 0; v < TILE_VECTORS; ++v) hit = hit | less<T>(sum[q][v], broadcast<T>(limit[q]));
  if (!any<T>(hit)) return;

  WB_UNROLL
  for (int q = 0; q < TILE_QUERIES; ++q) {
    unsigned lanes = 0;
    WB_UNROLL
    for (int v = 0; v < TILE_VECTORS; ++v)
      lanes |= bits<T>(less<T>(sum[q][v], broadcast<T>(limit[q]))) << (v * VECTOR_LANES<T>);
    if (!lanes) continue;
    T distance[BLOCK_LANES<T>];
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(distance + v * VECTOR_LANES<T>, sum[q][v]);
    limit[q] = enter<T, P>(queries, refs, recheck, lists, {place.row + q, place.group, place.block}, lanes, distance, limit[q]);
  }
}

template <class T, int P, bool W, bool MISSING>
WB_KERNEL void k_nearest(const Queries<T>& queries, const References<T>& refs, const Features<T>& features,
                         const Recheck<T>& recheck, const Lists<T>& lists, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES;
  const std::int64_t m = features.count, k = lists.k, groups = refs.n_groups;
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES, n_blocks = refs.group_start[groups];
  const Cut<T> cut(m, n_tiles, W ? 2 : 1);

  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t g = 0; g < groups; ++g) {  // sorted -> heap: descending order is one
      std::reverse(lists.distance + (row * groups + g) * k, lists.distance + (row * groups + g + 1) * k);
      std::reverse(lists.id + (row * groups + g) * k, lists.id + (row * groups + g + 1) * k);
    }

  std::vector<T> packed(std::size_t(cut.tiles * cut.panel * TILE_QUERIES));
  std::vector<T> sums(cut.wide ? std::size_t(cut.tiles * n_blocks * TILE_SUMS) : 0);
  for (std::int64_t tiles = 0; tiles < n_tiles; tiles += cut.tiles) {
    const std::int64_t tiles_end = std::min(tiles + cut.tiles, n_tiles);
    for (std::int64_t first = 0; first < m; first += cut.panel) {
      const std::int64_t last = std::min(first + cut.panel, m);
      for (std::int64_t t = tiles; t < tiles_end; ++t)
        gather_tile(queries.rows, begin + t * TILE_QUERIES, end, m, first, last,
                    packed.data() + (t - tiles) * cut.panel * TILE_QUERIES);
      for (std::int64_t part = 0; part < n_blocks; part += cut.blocks) {
        const std::int64_t part_end = std::min(part + cut.blocks, n_blocks);
        const std::int64_t first_group =
            std::upper_bound(refs.group_start, refs.group_start + groups + 1, part) - refs.group_start - 1;
        for (std::int64_t t = tiles; t < tiles_end; ++t) {
          const T* tile_queries = packed.data() + (t - tiles) * cut.panel * TILE_QUERIES;
          for (std::int64_t g = first_group; g < groups && refs.group_start[g] < part_end; ++g) {
            T limit[TILE_QUERIES];
            for (int q = 0; q < TILE_QUERIES; ++q) {
              const std::int64_t row = begin + t * TILE_QUERIES + q;
              if (row < end) limit[q] = entry_limit<T, P>(lists.distance[(row * groups + g) * k], recheck, row, m);
              else limit[q] = -std::numeric_limits<T>::infinity();  // a repeated query
            }
            const std::int64_t stop = std::min(part_end, refs.group_start[g + 1]);
            for (std::int64_t block = std::max(part, refs.group_start[g]); block < stop; ++block) {
              T* kept = cut.wide ? sums.data() + ((t - tiles) * n_blocks + block) * TILE_SUMS : nullptr;
              TileSums<T> sum;
              if (first == 0) clear<T>(sum);
              else restore<T>(kept, sum);
              tile<T, P, W, MISSING>(tile_queries, refs.packed + block * m * LANES,
                                     W ? refs.weights + block * m * LANES : nullptr, features, first, last, sum);
              if (last < m) save<T>(sum, kept);
              else offer<T, P>(queries, refs, recheck, lists, {begin + t * TILE_QUERIES, g, block}, sum, limit);
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

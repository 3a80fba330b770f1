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

// The collector of `scan_tiles` that keeps the k nearest references of each group.
template <class T, int P> struct NearestCollector {
  const Queries<T>& queries;
  const Lists<T>& lists;

  WB_INLINE T limit(std::int64_t row, std::int64_t group) const {
    return entry_limit<T, P>(List<T>(lists, row, group).worst(), queries, row);
  }
  std::int64_t first_wanted() const { return lists.k() + bool(queries.own); }
  static constexpr std::int64_t look() { return 0; }
  // At least k other references have sums of at most `kth`, so nothing beyond it can enter the list. A sum that equals
  // it must pass, as it may be that of one of them.
  WB_KERNEL T limit_of_kth(std::int64_t row, T kth) const {
    if (queries.exact) kth = folded_limit<T, P>(kth, queries.slack[row], queries.references->n_features());
    return std::nextafter(entry_limit<T, P>(kth, queries, row), std::numeric_limits<T>::infinity());
  }
  // Not inlined, because it is rare and its registers would push the tile's sums out of theirs.
  WB_NOINLINE WB_KERNEL T take(const TilePosition& place, unsigned lanes, const T* distance, T limit) const {
    const List<T> list(lists, place.row, place.group);
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (!(distance[lane] < limit)) continue;  // The limit may have fallen since the lanes were found.
      const std::int64_t at = place.block * BLOCK_LANES<T> + lane, id = queries.references->ids[at];
      if (is_excluded(queries, place.row, id)) continue;
      const T d = settle_distance<T, P>(queries, place.row, at, distance[lane]);
      // Rows ascend within a group, so of equal distances the one in the list has the lower row and stays.
      if (!(d < list.worst())) continue;
      list.replace(d, id);
      // While the list has empty places its worst entry is infinite, but the limit may be lower already.
      limit = std::min(limit, entry_limit<T, P>(list.worst(), queries, place.row));
    }
    return limit;
  }
};

// Continues the lists of the queries [begin, end). P: exponent of the distance; W: references have weights of their own
// per feature; MISSING: numeric values may be missing.
template <class T, int P, bool W, bool MISSING>
WB_KERNEL void find_k_nearest(const Queries<T>& queries, const Lists<T>& lists, std::int64_t begin, std::int64_t end) {
  each_list(lists, begin, end, [](const List<T>& list) { list.open(); });
  const NearestCollector<T, P> collector{.queries = queries, .lists = lists};
  scan_tiles<T, P, W, MISSING>(queries, collector, begin, end);
  each_list(lists, begin, end, [](const List<T>& list) { list.sort(); });
}

}  // namespace wb::WB_LEVEL

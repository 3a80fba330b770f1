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
    // While the list has empty places its worst entry is infinite, but the limit may be lower already.
    limit = std::min(limit, entry_limit<T, P>(list[0], recheck, row, m));
  }
  return limit;
}

// The collector of `scan_tiles` that keeps the k nearest references of each group.
template <class T, int P> struct NearestCollector {
  const Queries<T>& queries;
  const References<T>& refs;
  const Recheck<T>& recheck;
  const Lists<T>& lists;

  WB_INLINE T limit(std::int64_t row, std::int64_t group) const {
    return entry_limit<T, P>(lists.distance[(row * refs.n_groups + group) * lists.k], recheck, row,
                             recheck.features.count);
  }
  std::int64_t first_wanted() const { return lists.k + (queries.ids != nullptr); }
  // At least k other references have sums of at most `kth`, so nothing beyond it can enter the list. A sum that equals
  // it must pass, as it may be that of one of them.
  WB_KERNEL T limit_of_kth(std::int64_t row, T kth) const {
    if (recheck.source) kth = folded_limit<T, P>(kth, recheck.slack[row], recheck.features.count);
    return std::nextafter(entry_limit<T, P>(kth, recheck, row, recheck.features.count),
                          std::numeric_limits<T>::infinity());
  }
  WB_INLINE T take(const TilePosition& place, unsigned lanes, const T* distance, T limit) const {
    return insert_lanes<T, P>(queries, refs, recheck, lists, place, lanes, distance, limit);
  }
};

// Continues the lists of the queries [begin, end). P: exponent of the distance; W: references have weights of their own
// per feature; MISSING: numeric values may be missing.
template <class T, int P, bool W, bool MISSING>
WB_KERNEL void find_k_nearest(const Queries<T>& queries, const References<T>& refs, const Features<T>& features,
                              const Recheck<T>& recheck, const Lists<T>& lists, std::int64_t begin, std::int64_t end) {
  open_lists(lists, refs.n_groups, begin, end);
  const NearestCollector<T, P> collector{.queries = queries, .refs = refs, .recheck = recheck, .lists = lists};
  scan_tiles<T, P, W, MISSING>(queries, refs, features, collector, begin, end);
  close_lists(lists, refs.n_groups, begin, end);
}

}  // namespace wb::WB_LEVEL

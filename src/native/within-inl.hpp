// The references of a range of queries that are nearer than a limit of the query, by a full scan: d^p < limit.
//
// Folded distances only propose (scan-inl.hpp): what may lie below the limit is computed again with exact differences.
// The list of a query is sorted by (distance, row), so it does not depend on how queries or references are split.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The collector of `scan_tiles` that keeps all references below the limits. lists[row - begin] belongs to a query.
template <class T, int P> struct WithinCollector {
  const Queries<T>& queries;
  const Values<T>& limits;  // (n_queries,) of exact distances
  std::vector<std::pair<T, std::int64_t>>* lists;
  std::int64_t begin;

  WB_INLINE T limit(std::int64_t row, std::int64_t) const { return entry_limit<T, P>(limits[row], queries, row); }
  static std::int64_t first_wanted() { return 0; }  // The limits are given.
  static constexpr std::int64_t look() { return 0; }
  static T limit_of_kth(std::int64_t, T kth) { return kth; }
  // Not inlined, because its registers would push the sums of the tile out of theirs.
  WB_NOINLINE WB_KERNEL T take(const TilePosition& place, unsigned lanes, const T* distance, T limit) const {
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const std::int64_t at = place.block * BLOCK_LANES<T> + lane, id = queries.references->ids[at];
      if (is_excluded(queries, place.row, id)) continue;
      const T d = settle_distance<T, P>(queries, place.row, at, distance[lane]);
      if (d < limits[place.row]) lists[place.row - begin].emplace_back(d, id);
    }
    return limit;
  }
};

// Appends the lists of the queries [begin, end) to `hits`, one after the other.
template <class T, int P, bool W, bool MISSING>
WB_KERNEL void find_within(const Queries<T>& queries, const Values<T>& limits, Hits<T>& hits, std::int64_t begin,
                           std::int64_t end) {
  std::vector<std::vector<std::pair<T, std::int64_t>>> lists(std::size_t(end - begin));
  const WithinCollector<T, P> collector{.queries = queries, .limits = limits, .lists = lists.data(), .begin = begin};
  scan_tiles<T, P, W, MISSING>(queries, collector, begin, end);
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    hits.count.push_back(std::int64_t(list.size()));
    for (const auto& [distance, id] : list) {
      hits.distance.push_back(distance);
      hits.id.push_back(id);
    }
  }
}

}  // namespace wb::WB_LEVEL

// The k nearest references among rows of double: sums in float propose, exact distances in double decide.
//
// The rows are folded into float: centred, multiplied by the roots of their weights and by `scale`, so that the largest
// difference of two references is 1 (engine/backends/single.py). A sum of m terms in float has a relative error of at
// most (m + 8) eps, and folding moves a distance by at most `shift`, so both
//   scale d <= d' (1 + e) + shift   and   d' (1 - e) <= scale d + shift,   e = (m + 8) eps,
// hold for a distance d and its folded form d'. Every reference that could be among the k nearest by these bounds is
// measured in double, with the bits of a full scan. If distances are too close for float, that would be most
// references: then the search ends early, and the caller scans in double.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The collector of `scan_tiles` for this search.
template <int P> struct MixedCollector {
  static constexpr float INFINITE = std::numeric_limits<float>::infinity(), NONE = -1;
  const MixedJob& job;
  const Lists<double>& lists;
  std::int64_t& measured;  // the number of distances in double so far

  // The limit below which the folded sum of a row is if `root` bounds its scaled distance (not squared).
  WB_KERNEL float limit_of_root(std::int64_t row, double root) const {
    const double terms = double(job.source.width() + 8);
    const double share = 1 - terms * std::numeric_limits<float>::epsilon();
    if (!(share > 0.5)) return INFINITE;  // Millions of features: the bound says nothing.
    root = (root * (1 + terms * std::numeric_limits<double>::epsilon()) + job.shift[row]) / share;
    const double sum = (P == 2 ? root * root : root) * (1 + 4 * std::numeric_limits<float>::epsilon());
    return sum < std::numeric_limits<float>::max() ? float(sum) : INFINITE;
  }
  WB_KERNEL float entry_limit(std::int64_t row, double worst) const {
    if (worst == std::numeric_limits<double>::infinity()) return INFINITE;
    return limit_of_root(row, (P == 2 ? std::sqrt(worst) : worst) * job.scale);
  }
  WB_KERNEL float limit(std::int64_t row, std::int64_t group) const {
    if (measured > job.most_measured) return NONE;
    return entry_limit(row, List<double>(lists, row, group).worst());
  }
  std::int64_t first_wanted() const { return lists.k() + bool(job.queries.own); }
  static constexpr std::int64_t look() { return 0; }
  WB_KERNEL float limit_of_kth(std::int64_t row, float kth) const {
    if (kth == INFINITE) return INFINITE;
    const double terms = double(job.source.width() + 8);
    const double root = P == 2 ? std::sqrt(double(kth)) : double(kth);
    return limit_of_root(row, root * (1 + terms * std::numeric_limits<float>::epsilon()) + job.shift[row]);
  }
  // Not inlined, because its registers would push the sums of the tile out of theirs.
  WB_NOINLINE WB_KERNEL float take(const TilePosition& place, unsigned lanes, const float* sums, float limit) const {
    const List<double> list(lists, place.row, place.group);
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (!(sums[lane] < limit)) continue;  // The limit may have fallen since the lanes were found.
      const std::int64_t id = job.queries.references->ids[place.block * BLOCK_LANES<float> + lane];
      if (is_excluded(job.queries, place.row, id)) continue;
      if (++measured > job.most_measured) return NONE;
      const double d = exact_distance<double, P>(job.exact_queries[place.row], job.source[id], job.exact_weights.data,
                                                 job.exact_features());
      // Rows ascend within a group, so of equal distances the one in the list has the lower row and stays.
      if (!(d < list.worst())) continue;
      list.replace(d, id);
      limit = std::min(limit, entry_limit(place.row, list.worst()));
    }
    return limit;
  }
};

// Continues the lists of the queries [begin, end) and returns the number of distances in double. If it exceeds
// `most_measured`, the lists have no meaning. MISSING: numeric values may be missing.
template <int P, bool MISSING>
WB_KERNEL std::int64_t find_k_nearest_mixed(const MixedJob& job, const Lists<double>& lists, std::int64_t begin,
                                            std::int64_t end) {
  std::int64_t measured = 0;
  const MixedCollector<P> collector{.job = job, .lists = lists, .measured = measured};
  each_list(lists, begin, end, [](const List<double>& list) { list.open(); });
  scan_tiles<float, P, false, MISSING>(job.queries, collector, begin, end);
  each_list(lists, begin, end, [](const List<double>& list) { list.sort(); });
  return measured;
}

}  // namespace wb::WB_LEVEL

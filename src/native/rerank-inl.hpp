// Exact distances of candidates that another search (a tree, a graph) proposed: the best k of them by (distance, row).
// d^p = v^p * sum_j a_j * |q_j - x_j|^p, summed as in distance-inl.hpp, so that the bits are those of a full scan.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Writes the lists of the queries [begin, end).
template <class T, int P> WB_KERNEL void rerank(const Candidates<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr int AT_ONCE = 4;
  const Features<T> features = job.features();
  const std::int64_t width = job.candidates.width();
  for (std::int64_t row = begin; row < end; ++row) {
    const List<T> list(job.lists, row, 0);
    list.clear();
    const T *references[AT_ONCE], *weights[AT_ONCE];
    std::int64_t ids[AT_ONCE];
    int waiting = 0;  // candidates that are not measured yet
    for (std::int64_t c = 0; c <= width; ++c) {
      if (c < width) {
        const std::int64_t ref = job.candidates[row][c];
        if (ref < 0 || (job.own_row && job.own_row[row] == ref)) continue;
        references[waiting] = job.source[ref];
        weights[waiting] = job.weights ? job.weights[job.weight_row ? job.weight_row[ref] : 0] : nullptr;
        ids[waiting++] = ref;
        if (waiting < AT_ONCE) continue;
      }
      if (waiting == 0) break;
      // The last ones repeat one of them, so that the kernel needs no special case.
      for (int r = waiting; r < AT_ONCE; ++r) references[r] = references[0], weights[r] = weights[0];
      T sums[AT_ONCE];
      if (job.weights) exact_sums<T, P, true, AT_ONCE>(job.queries[row], references, weights, features, sums);
      else exact_sums<T, P, false, AT_ONCE>(job.queries[row], references, weights, features, sums);
      for (int r = 0; r < waiting; ++r) list.offer(job.scales ? sums[r] * job.scales[ids[r]] : sums[r], ids[r]);
      waiting = 0;
    }
    list.sort();
  }
}

}  // namespace wb::WB_LEVEL

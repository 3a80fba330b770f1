// Exact distances of candidates that another search (a tree, FAISS) proposed: the best k of them by (distance, row).
// d^p = v^p * sum_j a_j * |q_j - x_j|^p, summed as in distance-inl.hpp, so that the bits are those of a full scan.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Writes the lists of the queries [begin, end).
template <class T, int P>
WB_KERNEL void rerank(const Candidates<T>& job, const Features<T>& features, const Lists<T>& lists, std::int64_t begin,
                      std::int64_t end) {
  constexpr int AT_ONCE = 4;
  const std::int64_t m = features.count, k = lists.k;
  for (std::int64_t row = begin; row < end; ++row) {
    T* list = lists.distance + row * k;
    std::int64_t* list_id = lists.id + row * k;
    std::fill(list, list + k, std::numeric_limits<T>::infinity());
    std::fill(list_id, list_id + k, std::int64_t(-1));
    const T *references[AT_ONCE], *weights[AT_ONCE];
    std::int64_t ids[AT_ONCE];
    int waiting = 0;  // candidates that are not measured yet
    for (std::int64_t c = 0; c <= job.width; ++c) {
      if (c < job.width) {
        const std::int64_t ref = job.candidates[row * job.width + c];
        if (ref < 0 || (job.own_row && job.own_row[row] == ref)) continue;
        references[waiting] = job.source + ref * m;
        weights[waiting] = job.weights ? job.weights + (job.weight_row ? job.weight_row[ref] : 0) * m : nullptr;
        ids[waiting++] = ref;
        if (waiting < AT_ONCE) continue;
      }
      if (waiting == 0) break;
      // The last ones repeat one of them, so that the kernel needs no special case.
      for (int r = waiting; r < AT_ONCE; ++r) references[r] = references[0], weights[r] = weights[0];
      T sums[AT_ONCE];
      if (job.weights) exact_sums<T, P, true, AT_ONCE>(job.queries + row * m, references, weights, features, sums);
      else exact_sums<T, P, false, AT_ONCE>(job.queries + row * m, references, weights, features, sums);
      for (int r = 0; r < waiting; ++r) {
        const T d = job.scales ? sums[r] * job.scales[ids[r]] : sums[r];
        if (worse(list[0], list_id[0], d, ids[r])) replace_worst(list, list_id, k, d, ids[r]);
      }
      waiting = 0;
    }
    sort_list(list, list_id, k);
  }
}

}  // namespace wb::WB_LEVEL

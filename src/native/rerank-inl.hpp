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
  const std::int64_t m = features.count, k = lists.k;
  for (std::int64_t row = begin; row < end; ++row) {
    T* list = lists.distance + row * k;
    std::int64_t* list_id = lists.id + row * k;
    std::fill(list, list + k, std::numeric_limits<T>::infinity());
    std::fill(list_id, list_id + k, std::int64_t(-1));
    for (std::int64_t c = 0; c < job.width; ++c) {
      const std::int64_t ref = job.candidates[row * job.width + c];
      if (ref < 0 || (job.own_row && job.own_row[row] == ref)) continue;
      const T* weights = job.weights ? job.weights + (job.weight_row ? job.weight_row[ref] : 0) * m : nullptr;
      T d = exact_distance<T, P>(job.queries + row * m, job.source + ref * m, weights, features);
      if (job.scales) d *= job.scales[ref];
      if (worse(list[0], list_id[0], d, ref)) replace_worst(list, list_id, k, d, ref);
    }
    sort_list(list, list_id, k);
  }
}

}  // namespace wb::WB_LEVEL

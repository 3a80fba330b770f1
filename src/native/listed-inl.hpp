// Sums of differences between rows and their listed neighbours, the core of RELIEF and of its relatives:
//   total[output_row] += coefficient * |x - z|   for every row x and every neighbour z in its list.
// Class-dependent RELIEF (paper 001) has one output row per class; RELIEF and ReliefF have one in all.
// Sparse rows are in sparse.hpp. Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Adds the differences of x and COUNT neighbours z in the features [first, last), each times its coefficient, one
// neighbour after the other. So `out` is read and written once for all of them, and has the bits of as many calls with
// one neighbour. The fused operation is called by name: compilers may fuse it in a vectorised loop and not in what is
// left over, and the bits would depend on where a thread begins.
template <class T, int COUNT>
WB_INLINE void add_neighbors(const T* x, const T* const* z, const double* coefficient, std::int64_t numeric,
                             std::int64_t first, std::int64_t last, double* WB_RESTRICT out) {
  std::int64_t j = first;
  for (const std::int64_t end = std::min(numeric, last); j < end; ++j) {
    double sum = out[j];
    WB_UNROLLED_FOR (int i = 0; i < COUNT; ++i)
      sum = add_product<double>(sum, coefficient[i], double(std::abs(x[j] - z[i][j])));
    out[j] = sum;
  }
  for (; j < last; ++j)
    WB_UNROLLED_FOR (int i = 0; i < COUNT; ++i) out[j] += x[j] == z[i][j] ? 0.0 : coefficient[i];
}

// Neighbours of a list that are not added yet, all of them to one output row.
template <class T> struct WaitingNeighbors {
  static constexpr int MOST = 4;
  const T* z[MOST];
  double coefficient[MOST];
  std::int64_t output_row = -1;
  int count = 0;
};

// Adds the waiting neighbours of the row x in the features [first, last).
template <class T>
WB_INLINE void add_waiting(const ListedPairs<T>& job, const T* x, std::int64_t first, std::int64_t last, double* total,
                           WaitingNeighbors<T>& waiting) {
  constexpr int MOST = WaitingNeighbors<T>::MOST;
  double* out = total + waiting.output_row * job.m;
  if (waiting.count == MOST) add_neighbors<T, MOST>(x, waiting.z, waiting.coefficient, job.numeric, first, last, out);
  else
    for (int i = 0; i < waiting.count; ++i)
      add_neighbors<T, 1>(x, waiting.z + i, waiting.coefficient + i, job.numeric, first, last, out);
  waiting.count = 0;
}

// Adds the features [first, last) of the list `i` to `total`.
template <class T>
WB_INLINE void add_list(const ListedPairs<T>& job, std::int64_t i, std::int64_t first, std::int64_t last,
                        double* total) {
  const T* x = job.rows + job.query[i] * job.m;
  WaitingNeighbors<T> waiting;
  for (std::int64_t s = i * job.width; s < (i + 1) * job.width; ++s) {
    if (job.neighbor[s] < 0 || job.coefficient[s] == 0) continue;  // A list may be shorter than `width`.
    if (waiting.count == waiting.MOST || (waiting.count > 0 && job.output_row[s] != waiting.output_row))
      add_waiting(job, x, first, last, total, waiting);
    waiting.z[waiting.count] = job.rows + job.neighbor[s] * job.m;
    waiting.coefficient[waiting.count++] = job.coefficient[s];
    waiting.output_row = job.output_row[s];
  }
  if (waiting.count > 0) add_waiting(job, x, first, last, total, waiting);
}

// Adds the lists [begin, end) to `total`: (n_output_rows, m). Sums are in double whatever T is. All lists add a panel
// of features before the next, so that the panels of some hundred rows stay in the second-level cache.
template <class T>
WB_KERNEL void add_listed_differences(const ListedPairs<T>& job, double* total, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t PANEL = 4096 / std::int64_t(sizeof(T));
  for (std::int64_t first = job.first_feature; first < job.last_feature; first += PANEL)
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t last = std::min(first + PANEL, job.last_feature), next = job.last_feature - last;
      fetch_ahead(job.rows + job.query[i] * job.m + last, std::min(PANEL, next));
      add_list<T>(job, i, first, last, total);
    }
}

}  // namespace wb::WB_LEVEL

// Sums of differences between rows and their listed neighbours, the core of RELIEF and of its relatives:
//   total[output_row] += coefficient * |x - z|   for every row x and every neighbour z in its list.
// Class-dependent RELIEF (paper 001) has one output row per class; RELIEF and ReliefF have one in all.
// Sparse rows are in sparse.hpp. Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Adds the lists [begin, end) to `total`: (n_output_rows, m). Sums are in double whatever T is.
template <class T>
WB_KERNEL void add_listed_differences(const ListedPairs<T>& job, double* total, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const T* x = job.rows + job.query[i] * job.m;
    for (std::int64_t s = i * job.width; s < (i + 1) * job.width; ++s) {
      const double c = job.coefficient[s];
      if (job.neighbor[s] < 0 || c == 0) continue;  // A list may be shorter than `width`.
      const T* z = job.rows + job.neighbor[s] * job.m;
      double* out = total + job.output_row[s] * job.m;
      for (std::int64_t j = 0; j < job.numeric; ++j) {
        const T diff = x[j] - z[j];
        out[j] += c * double(diff < 0 ? -diff : diff);
      }
      for (std::int64_t j = job.numeric; j < job.m; ++j) out[j] += x[j] == z[j] ? 0.0 : c;
    }
  }
}

}  // namespace wb::WB_LEVEL

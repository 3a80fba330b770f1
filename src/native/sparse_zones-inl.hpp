// The scores of the SURF family for sparse rows of numbers, from sums over the features that two rows have in common.
// Where only one of two rows has an entry, the difference is the entry's size, so that
//   |x - z| = |x| + |z| + shared(x, z),   shared(x, z) = |x - z| - |x| - |z|, which is 0 unless both have an entry.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

WB_INLINE double shared_part(double x, double z) { return std::abs(x - z) - std::abs(x) - std::abs(z); }

// Writes the city-block distances of one row to all rows. Those of rows that are nearly equal keep few digits, but they
// are compared with limits of the size of a mean distance, where digits are enough.
WB_INLINE void measure_sparse_row(const SparseZoneJob& job, std::int64_t row, double* distance) {
  const SparseRows<double>&rows = *job.rows, &columns = *job.columns;
  for (std::int64_t z = 0; z < rows.size(); ++z) distance[z] = job.norm[row] + job.norm[z];
  for (std::int64_t i = rows.start[row]; i < rows.start[row + 1]; ++i) {
    const std::int32_t feature = rows.feature[i];
    for (std::int64_t at = columns.start[feature]; at < columns.start[feature + 1]; ++at)
      distance[columns.feature[at]] += shared_part(rows.value[i], columns.value[at]);
  }
}

// Adds, over the rows x of [begin, end) and all rows z with their coefficients (distances_to_coefficients), what
// coefficient * shared(x, z) gives to the total of each feature, and the coefficients to `coefficient_sums` of x and of
// z: (n,). With these, what |x| and |z| give is a product with the whole table.
WB_KERNEL inline void add_sparse_zone_differences(const SparseZoneJob& job, std::int64_t begin, std::int64_t end) {
  const SparseRows<double>&rows = *job.rows, &columns = *job.columns;
  const std::int64_t n = rows.size();
  std::vector<double> one(static_cast<std::size_t>(n));
  double* coefficient = one.data();
  for (std::int64_t row = begin; row < end; ++row) {
    measure_sparse_row(job, row, coefficient);
    distances_to_coefficients(*job.zones, row, coefficient, n);
    double all = 0;
    for (std::int64_t z = 0; z < n; ++z) {
      all += coefficient[z];
      job.coefficient_sums[z] += coefficient[z];
    }
    job.coefficient_sums[row] += all;
    for (std::int64_t i = rows.start[row]; i < rows.start[row + 1]; ++i) {
      const std::int32_t feature = rows.feature[i];
      double sum = 0;
      for (std::int64_t at = columns.start[feature]; at < columns.start[feature + 1]; ++at)
        sum += coefficient[columns.feature[at]] * shared_part(rows.value[i], columns.value[at]);
      job.total[feature] += sum;
    }
  }
}

}  // namespace wb::WB_LEVEL

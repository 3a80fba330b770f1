// Sums of differences between rows and their listed neighbours, the core of RELIEF and of its relatives:
//   total[output_row] += coefficient * |x - z|   for every row x and every neighbour z in its list.
// Class-dependent RELIEF (paper 001) has one output row per class; RELIEF and ReliefF have one in all.
#pragma once

#include "types.hpp"

namespace wb {

template <class T> struct ListedPairs {
  const T* rows;  // (n, m)
  std::int64_t m;
  std::int64_t numeric;            // the first `numeric` features are numbers, the others differ by 0 or 1
  const std::int64_t* query;       // (n_lists,) row of each list's owner
  const std::int64_t* neighbor;    // (n_lists, width) rows; -1: none
  const double* coefficient;       // (n_lists, width)
  const std::int64_t* output_row;  // (n_lists, width) which total
  std::int64_t width;
};

// Adds the lists [begin, end) to `total`: (n_output_rows, m). Sums are in double whatever T is.
template <class T>
void add_listed_differences(const ListedPairs<T>& job, double* total, std::int64_t begin, std::int64_t end) {
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

// The same for sparse rows of numbers: only features of either row are visited, as the others add nothing.
template <class T>
void add_listed_differences(const ListedPairs<T>& job, const SparseRows<T>& rows, double* total, std::int64_t begin,
                            std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t s = i * job.width; s < (i + 1) * job.width; ++s) {
      const double c = job.coefficient[s];
      if (job.neighbor[s] < 0 || c == 0) continue;
      double* out = total + job.output_row[s] * job.m;
      visit_features(rows, job.query[i], rows, job.neighbor[s], [&](std::int32_t feature, T x, T z) {
        const T diff = x - z;
        out[feature] += c * double(diff < 0 ? -diff : diff);
      });
    }
}

}  // namespace wb

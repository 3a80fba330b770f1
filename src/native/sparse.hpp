// The k nearest references of sparse queries by squared Euclidean distance d = sum_j a_j (q_j - x_j)^2. Sums of
// products over common features propose, exact distances decide.
//
// A feature in which both rows are 0 adds nothing to a sum, not even rounding. So the sum over the features of either
// row, in their order, has the bits of the sum over all features (distance-inl.hpp).
#pragma once

#include "heap.hpp"
#include "types.hpp"

namespace wb {

template <class T> struct SparseJob {
  const SparseRows<T>*queries = nullptr, *references = nullptr;
  const SparseRows<double>* columns =
      nullptr;                       // the references by feature: `feature` has row numbers; values times weights
  Values<T> weights;                 // (m,) or none: all one
  Values<double> query_norm;         // (n_queries,) sum_j a_j |q_j|^p
  Values<double> norm;               // (n,) the same of the references
  double largest_norm = 0;           // of the references
  std::int64_t most_entries = 0;     // of a reference
  Values<std::int64_t> order;        // (n,) references, those of a group together
  Values<std::int64_t> group_start;  // (n_groups + 1,) places in `order`
  Values<std::int64_t> own;          // (n_queries,) reference that a query must not find; or none
  int p = 2;
  Lists<T> lists = {};
};

// sum + a * b, rounded as in distance-inl.hpp.
template <class T> T fused_sum(T sum, T a, T b, bool fused) { return fused ? std::fma(a, b, sum) : sum + a * b; }

// The exact sum of a query and a reference. `fused` says whether products and sums are one operation at the CPU level.
template <class T, int P>
T sparse_distance(const SparseJob<T>& job, std::int64_t query, std::int64_t reference, bool fused) {
  T sum = 0;
  visit_features(*job.queries, query, *job.references, reference, [&](std::int32_t feature, T q, T x) {
    T diff = x - q;
    if constexpr (P == 1) diff = std::abs(diff);
    const T weight = job.weights ? job.weights[feature] : T(1);
    sum = fused_sum<T>(sum, P == 1 ? weight : weight * diff, diff, fused);
  });
  return sum;
}

// Writes the lists of the queries [begin, end).
template <class T, int P>
void find_k_nearest_sparse(const SparseJob<T>& job, bool fused, std::int64_t begin, std::int64_t end) {
  constexpr double EPS = std::numeric_limits<double>::epsilon(), ROUNDING = std::numeric_limits<T>::epsilon();
  std::vector<double> proposed(std::size_t(job.norm.size()));
  std::vector<double> nearest(std::size_t(job.lists.k()));
  for (std::int64_t query = begin; query < end; ++query) {
    const std::int64_t first = job.queries->start[query], last = job.queries->start[query + 1];
    for (std::int64_t x = 0; x < job.norm.size(); ++x) proposed[std::size_t(x)] = job.query_norm[query] + job.norm[x];
    for (std::int64_t i = first; i < last; ++i) {
      const double q = double(job.queries->value[i]);
      const std::int32_t feature = job.queries->feature[i];
      const double weight = job.weights ? double(job.weights[feature]) : 1.0;
      for (std::int64_t c = job.columns->start[feature]; c < job.columns->start[feature + 1]; ++c) {
        const double x = job.columns->value[c];
        const double common = P == 2 ? 2 * q * x : std::abs(q) + std::abs(x) - std::abs(q - x);
        proposed[std::size_t(job.columns->feature[c])] -= weight * common;
      }
    }
    // Each of the sums above has at most so many terms, and none of them is beyond twice the norms of both rows.
    const double terms = double(last - first + job.most_entries + 8);
    const double error = 4 * terms * EPS * (job.query_norm[query] + job.largest_norm);
    const double share = terms * ROUNDING;  // twice the relative rounding of an exact sum
    const std::int64_t own = job.own ? job.own[query] : -1;
    for (std::int64_t g = 0; g < job.lists.n_groups(); ++g) {
      const List<T> list(job.lists, query, g);
      list.clear();
      const std::int64_t *from = job.order.data + job.group_start[g], *to = job.order.data + job.group_start[g + 1];
      // The k smallest proposed distances, as a heap with the largest one on top.
      std::fill(nearest.begin(), nearest.end(), std::numeric_limits<double>::infinity());
      for (const std::int64_t* x = from; x < to; ++x)
        if (*x != own && proposed[std::size_t(*x)] < nearest.front()) {
          std::pop_heap(nearest.begin(), nearest.end());
          nearest.back() = proposed[std::size_t(*x)];
          std::push_heap(nearest.begin(), nearest.end());
        }
      // The exact k-th distance is at most `highest`, and so no row beyond `limit` is among the k nearest.
      const double highest = (nearest.front() + error) * (1 + share), limit = highest * (1 + 2 * share) + error;
      for (const std::int64_t* x = from; x < to; ++x) {
        if (*x == own || !(proposed[std::size_t(*x)] <= limit)) continue;
        list.offer(sparse_distance<T, P>(job, query, *x, fused), *x);
      }
      list.sort();
    }
  }
}

// The sums of listed-inl.hpp for sparse rows of numbers: only features of either row are visited, as the others add
// nothing.
template <class T>
void add_listed_sparse_differences(const ListedSparseRows<T>& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t s = 0; s < job.neighbor.width(); ++s) {
      if (!job.counts(i, s)) continue;
      const double c = job.coefficient[i][s];
      double* out = job.total[job.output_row[i][s]];
      visit_features(*job.rows, job.query[i], *job.rows, job.neighbor[i][s], [&](std::int32_t feature, T x, T z) {
        const T diff = x - z;
        out[feature] += c * double(std::abs(diff));
      });
    }
}

}  // namespace wb

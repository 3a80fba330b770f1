// Python face of the compiled core: arrays in, arrays out, a row range, no GIL.
// The typed contract is src/weighbors/_native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "kernels.hpp"
#include "lists.hpp"
#include "pack.hpp"
#include "subset.hpp"
#include "walk.hpp"

namespace nb = nanobind;
using std::int32_t;
using std::int64_t;
using std::uint64_t;

namespace {

template <class T, int N> using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N> using Output = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N> using Optional = std::optional<Array<T, N>>;

template <class A> auto data_or_null(const std::optional<A>& array) { return array ? array->data() : nullptr; }

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void require_range(int64_t begin, int64_t end, int64_t size) {
  require(0 <= begin && begin <= end && end <= size, "row range outside the array");
}

const wb::Level* level = wb::levels().back();

template <class T>
double py_pack(Array<T, 2> source, Array<int64_t, 1> order, Output<T, 3> packed, T fill, Optional<T, 1> center,
               Optional<T, 1> factor, int64_t n_numeric, int p, int64_t begin, int64_t end) {
  const int64_t m = int64_t(source.shape(1)), n = int64_t(source.shape(0));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(order.shape(0) == packed.shape(0) * packed.shape(2), "order: one entry per lane is needed");
  require(bool(center) == bool(factor), "center and factor come together");
  require(!factor || (int64_t(factor->shape(0)) == m && int64_t(center->shape(0)) == m), "factor: one per feature");
  require_range(begin, end, int64_t(packed.shape(0)));
  for (int64_t i = begin * wb::BLOCK_LANES<T>; i < end * wb::BLOCK_LANES<T>; ++i)
    require(order.data()[i] < n, "order: row outside the source");
  const wb::Packing<T> job{source.data(), order.data(), m, n_numeric, data_or_null(center), data_or_null(factor), fill, p,
                           packed.data()};
  return wb::pack(job, begin, end);
}

template <class T>
void py_k_nearest(Array<T, 2> queries, Optional<int64_t, 1> query_ids, Array<T, 3> packed, Optional<T, 3> weights,
                  Optional<T, 1> scales, Array<int64_t, 1> ids, Array<int64_t, 1> group_start, Array<T, 1> gap,
                  int64_t n_numeric, bool missing, int p, Output<T, 3> distance, Output<int64_t, 3> id,
                  Optional<T, 2> source, Optional<int64_t, 1> order, Optional<T, 2> exact_queries,
                  Optional<T, 1> exact_weights, Optional<T, 1> exact_gap, Optional<T, 1> slack, int64_t begin,
                  int64_t end) {
  const int64_t n = int64_t(queries.shape(0)), m = int64_t(queries.shape(1)), groups = int64_t(group_start.shape(0)) - 1;
  const auto lanes = packed.shape(0) * packed.shape(2);
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(!weights || (weights->shape(0) == packed.shape(0) && weights->shape(1) == packed.shape(1) &&
                       weights->shape(2) == packed.shape(2)),
          "weights: the shape of packed is needed");
  require(ids.shape(0) == lanes && (!scales || scales->shape(0) == lanes), "ids, scales: one per lane is needed");
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  require(groups >= 1 && group_start.data()[groups] == int64_t(packed.shape(0)), "group_start: wrong last block");
  require(int64_t(distance.shape(0)) == n && int64_t(distance.shape(1)) == groups && distance.shape(2) >= 1 &&
              id.shape(0) == distance.shape(0) && id.shape(1) == distance.shape(1) && id.shape(2) == distance.shape(2),
          "distance, id: (n_queries, n_groups, k) is needed");
  require(!query_ids || int64_t(query_ids->shape(0)) == n, "query_ids: one per query is needed");
  require_range(begin, end, n);
  if (source) {
    require(order && exact_queries && exact_weights && exact_gap && slack && order->shape(0) == lanes &&
                int64_t(source->shape(1)) == m && int64_t(exact_queries->shape(0)) == n &&
                int64_t(exact_queries->shape(1)) == m && int64_t(exact_weights->shape(0)) == m &&
                int64_t(exact_gap->shape(0)) == m && int64_t(slack->shape(0)) == n,
            "a recheck needs order, exact_queries, exact_weights, exact_gap and slack");
  }
  const wb::Recheck<T> recheck{data_or_null(source),        data_or_null(order), data_or_null(exact_queries),
                               data_or_null(exact_weights), data_or_null(slack), {data_or_null(exact_gap), n_numeric, m}};
  const wb::References<T> refs{packed.data(), data_or_null(weights), data_or_null(scales),
                               ids.data(),    group_start.data(),    groups};
  level->of<T>().k_nearest[p - 1][weights.has_value()][missing](
      {queries.data(), data_or_null(query_ids)}, refs, {gap.data(), n_numeric, m}, recheck,
      {distance.data(), id.data(), int64_t(distance.shape(2))}, begin, end);
}

template <class T>
void py_rerank(Array<T, 2> queries, Array<T, 2> source, Array<int64_t, 2> candidates, Optional<T, 2> weights,
               Optional<int64_t, 1> weight_row, Optional<T, 1> scales, Optional<int64_t, 1> self, Array<T, 1> gap,
               int64_t n_numeric, int p, Output<T, 2> distance, Output<int64_t, 2> id, int64_t begin, int64_t end) {
  const int64_t n = int64_t(source.shape(0)), m = int64_t(source.shape(1)), width = int64_t(candidates.shape(1));
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require(int64_t(queries.shape(1)) == m && queries.shape(0) == candidates.shape(0), "queries: wrong shape");
  require(!weights || int64_t(weights->shape(1)) == m, "weights: one column per feature is needed");
  require((!weight_row || int64_t(weight_row->shape(0)) == n) && (!scales || int64_t(scales->shape(0)) == n),
          "weight_row, scales: one per reference is needed");
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  require(distance.shape(0) == queries.shape(0) && id.shape(0) == queries.shape(0) &&
              id.shape(1) == distance.shape(1) && distance.shape(1) >= 1 && (!self || self->shape(0) == queries.shape(0)),
          "distance, id, self: one row per query is needed");
  require_range(begin, end, int64_t(queries.shape(0)));
  for (int64_t i = begin * width; i < end * width; ++i) require(candidates.data()[i] < n, "candidate outside the source");
  const wb::Candidates<T> job{queries.data(),        source.data(),            candidates.data(),    width,
                              data_or_null(weights), data_or_null(weight_row), data_or_null(scales), data_or_null(self)};
  const wb::Features<T> features{gap.data(), n_numeric, m};
  const wb::Lists<T> lists{distance.data(), id.data(), int64_t(distance.shape(1))};
  level->of<T>().rerank[p - 1](job, features, lists, begin, end);
}

template <class T>
void py_distances(Array<T, 2> queries, Array<T, 3> packed, Array<T, 1> gap, int64_t n_numeric, bool missing,
                  Output<T, 2> distance, int64_t begin, int64_t end) {
  const int64_t m = int64_t(queries.shape(1)), blocks = int64_t(packed.shape(0));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  require_range(begin, end, int64_t(queries.shape(0)));
  require(int64_t(distance.shape(0)) == end - begin && int64_t(distance.shape(1)) == blocks * wb::BLOCK_LANES<T>,
          "distance: (end - begin, lanes) is needed");
  const wb::Features<T> features{gap.data(), n_numeric, m};
  level->of<T>().distances[missing](queries.data(), packed.data(), features, blocks, distance.data(), begin, end);
}

wb::Zones zones_of(int64_t n, const Array<int64_t, 1>& class_start, const Array<double, 2>& factor,
                   const Array<double, 1>& weight, double threshold, bool far, double tolerance) {
  const int64_t classes = int64_t(factor.shape(0));
  require(int64_t(class_start.shape(0)) == classes + 1 && int64_t(weight.shape(0)) == n &&
              int64_t(factor.shape(1)) == classes,
          "class_start, weight, factor: wrong shape");
  require(class_start.data()[0] == 0 && class_start.data()[classes] == n, "class_start: all rows are needed");
  for (int64_t c = 0; c < classes; ++c) require(class_start.data()[c] <= class_start.data()[c + 1], "class_start: descends");
  return {n, class_start.data(), classes, factor.data(), weight.data(), threshold, far, tolerance};
}

void py_zone_sums(Array<double, 2> rows, Array<double, 3> packed, Array<double, 1> row_sums,
                  Array<int64_t, 1> class_start, Array<double, 2> factor, Array<double, 1> weight, double threshold,
                  bool far, double tolerance, Output<double, 1> total, int64_t begin, int64_t end) {
  constexpr int64_t LANES = wb::BLOCK_LANES<double>;
  const int64_t n = int64_t(rows.shape(0)), stride = int64_t(rows.shape(1));
  const int64_t blocks = int64_t(packed.shape(0)), m = int64_t(packed.shape(1));
  require(n >= 2 && blocks * LANES >= n && int64_t(packed.shape(2)) == LANES, "packed: all rows are needed");
  require(stride >= m && stride % wb::VECTOR_LANES<double> == 0, "rows: whole vectors are needed");
  require(int64_t(row_sums.shape(0)) == blocks * LANES && int64_t(total.shape(0)) == stride, "row_sums, total: wrong shape");
  const wb::Zones zones = zones_of(n, class_start, factor, weight, threshold, far, tolerance);
  require_range(begin, end, n);
  const wb::ZoneJob job{rows.data(), packed.data(), row_sums.data(), m, stride};
  level->zone_sums(job, zones, total.data(), begin, end);
}

template <class T>
void py_zone_coefficients(Array<T, 2> rows, Array<T, 3> packed, Array<T, 1> gap, int64_t n_numeric, bool missing,
                          Array<int64_t, 1> class_start, Array<double, 2> factor, Array<double, 1> weight,
                          double threshold, bool far, double tolerance, Output<T, 2> coefficient, int64_t begin, int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1)), blocks = int64_t(packed.shape(0));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(n >= 2 && n <= blocks * wb::BLOCK_LANES<T>, "packed: all rows are needed");
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  const wb::Zones zones = zones_of(n, class_start, factor, weight, threshold, far, tolerance);
  require_range(begin, end, n);
  require(int64_t(coefficient.shape(0)) == end - begin &&
              int64_t(coefficient.shape(1)) == blocks * wb::BLOCK_LANES<T>,
          "coefficient: (end - begin, lanes) is needed");
  const wb::Features<T> features{gap.data(), n_numeric, m};
  level->of<T>().zone_rows[missing](rows.data(), packed.data(), features, blocks, zones, coefficient.data(), begin, end);
}

template <class T>
void py_add_differences(Array<T, 2> queries, Array<T, 3> packed, int64_t n_numeric, Array<T, 2> coefficient,
                        Output<double, 1> total, int64_t begin, int64_t end) {
  const int64_t m = int64_t(queries.shape(1)), blocks = int64_t(packed.shape(0));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(int64_t(total.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "total: one per feature is needed");
  require_range(begin, end, int64_t(queries.shape(0)));
  require(int64_t(coefficient.shape(0)) == end - begin &&
              int64_t(coefficient.shape(1)) == blocks * wb::BLOCK_LANES<T>,
          "coefficient: (end - begin, lanes) is needed");
  const wb::Features<T> features{nullptr, n_numeric, m};
  level->of<T>().add_differences(queries.data(), packed.data(), features, blocks, coefficient.data(), total.data(), begin, end);
}

template <class T>
void py_distance_sums(Array<T, 2> queries, Array<T, 3> packed, int64_t n, Output<double, 1> sums, int64_t begin, int64_t end) {
  const int64_t m = int64_t(queries.shape(1));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<T>, "packed: wrong shape");
  require(n <= int64_t(packed.shape(0)) * wb::BLOCK_LANES<T> && sums.shape(0) == queries.shape(0), "sums: one per query");
  require_range(begin, end, int64_t(queries.shape(0)));
  const wb::Features<T> features{nullptr, m, m};
  level->of<T>().distance_sums(queries.data(), packed.data(), features, n, sums.data(), begin, end);
}

template <class T>
void py_add_listed(Array<T, 2> rows, int64_t n_numeric, Array<int64_t, 1> query, Array<int64_t, 2> neighbor,
                   Array<double, 2> coefficient, Array<int64_t, 2> credit, Output<double, 2> total, int64_t begin, int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1)), width = int64_t(neighbor.shape(1));
  require(int64_t(total.shape(1)) == m && 0 <= n_numeric && n_numeric <= m, "total: one column per feature is needed");
  require(query.shape(0) == neighbor.shape(0) && coefficient.shape(0) == neighbor.shape(0) &&
              credit.shape(0) == neighbor.shape(0) && coefficient.shape(1) == neighbor.shape(1) &&
              credit.shape(1) == neighbor.shape(1),
          "neighbor, coefficient, credit: one shape is needed");
  require_range(begin, end, int64_t(query.shape(0)));
  for (int64_t i = begin; i < end; ++i) require(0 <= query.data()[i] && query.data()[i] < n, "query outside the rows");
  for (int64_t i = begin * width; i < end * width; ++i)
    require(neighbor.data()[i] < n && 0 <= credit.data()[i] && credit.data()[i] < int64_t(total.shape(0)),
            "neighbor or credit out of range");
  wb::add_listed<T>({rows.data(), m, n_numeric, query.data(), neighbor.data(), coefficient.data(), credit.data(), width},
                    total.data(), begin, end);
}

template <class T>
void py_to_bytes(Array<T, 2> rows, Array<double, 1> low, double delta, Output<uint8_t, 2> bytes,
                 Output<double, 1> residual, int64_t begin, int64_t end) {
  require(low.shape(0) == rows.shape(1) && bytes.shape(0) == rows.shape(0) && bytes.shape(1) >= rows.shape(1) &&
              residual.shape(0) == rows.shape(0) && delta > 0,
          "low, bytes, residual: wrong shape");
  require_range(begin, end, int64_t(rows.shape(0)));
  level->of<T>().to_bytes(rows.data(), int64_t(rows.shape(1)), low.data(), delta, bytes.data(), int64_t(bytes.shape(1)),
                          residual.data(), begin, end);
}

template <class T>
int64_t py_byte_nearest(Array<uint64_t, 3> packed, Array<int64_t, 1> ids, Array<int64_t, 1> group_start, double delta,
                        double largest_residual, Array<T, 2> source, Array<uint64_t, 2> query_words,
                        Array<double, 1> query_residual, Array<T, 2> queries, Optional<int64_t, 1> own_lane,
                        Output<T, 3> distance, Output<int64_t, 3> id, int64_t begin, int64_t end) {
  const int64_t n = int64_t(queries.shape(0)), m = int64_t(source.shape(1)), groups = int64_t(group_start.shape(0)) - 1;
  const int64_t words = int64_t(packed.shape(1)), lanes = int64_t(packed.shape(0)) * wb::BYTE_LANES;
  require(int64_t(packed.shape(2)) == wb::BYTE_LANES && words * 8 >= m, "packed: wrong shape");
  require(int64_t(ids.shape(0)) == lanes, "ids: one per lane is needed");
  require(groups >= 1 && group_start.data()[groups] == int64_t(packed.shape(0)), "group_start: wrong last block");
  require(int64_t(query_words.shape(0)) == n && int64_t(query_words.shape(1)) == words &&
              int64_t(queries.shape(1)) == m && int64_t(query_residual.shape(0)) == n &&
              (!own_lane || int64_t(own_lane->shape(0)) == n),
          "query_words, queries, query_residual, own_lane: wrong shape");
  require(int64_t(distance.shape(0)) == n && int64_t(distance.shape(1)) == groups && distance.shape(2) >= 1 &&
              id.shape(0) == distance.shape(0) && id.shape(1) == distance.shape(1) && id.shape(2) == distance.shape(2),
          "distance, id: (n_queries, n_groups, k) is needed");
  require_range(begin, end, n);
  for (int64_t i = 0; i < lanes; ++i) require(ids.data()[i] < int64_t(source.shape(0)), "ids: row outside the data");
  const wb::ByteJob<T> job{packed.data(),        words,         ids.data(),           group_start.data(),
                           groups,               delta,         largest_residual,     source.data(),
                           m,                    query_words.data(), query_residual.data(), queries.data(),
                           data_or_null(own_lane)};
  const wb::Lists<T> lists{distance.data(), id.data(), int64_t(distance.shape(2))};
  return level->of<T>().byte_nearest(job, lists, begin, end);
}

bool counts_up(const Array<int64_t, 1>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order.data()[i] != int64_t(i)) return false;
  return true;
}

template <class P>
void py_pack_margins(Array<double, 2> rows, Array<double, 1> center, Array<double, 1> levels,
                     Array<int64_t, 1> feature_order, Array<int64_t, 1> ids, Output<P, 3> packed, int64_t begin,
                     int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1));
  require(int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<float> &&
              ids.shape(0) == packed.shape(0) * packed.shape(2),
          "packed, ids: wrong shape");
  require(int64_t(center.shape(0)) == m && int64_t(levels.shape(0)) == m && int64_t(feature_order.shape(0)) == m,
          "center, levels, feature_order: one per feature is needed");
  for (int64_t i = 0; i < m; ++i) require(0 <= feature_order.data()[i] && feature_order.data()[i] < m, "feature_order: outside");
  for (size_t i = 0; i < ids.size(); ++i) require(ids.data()[i] < n, "ids: row outside the data");
  require_range(begin, end, int64_t(packed.shape(0)));
  wb::pack_margins<P>({rows.data(), m, center.data(), levels.data(), feature_order.data(), counts_up(feature_order), ids.data(), packed.data()}, begin, end);
}

std::pair<int64_t, int64_t> py_simba(
    Array<double, 2> rows, Array<int64_t, 1> codes, Array<double, 1> gap, Array<bool, 1> nominal, bool mixed,
    nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu> packed, Array<double, 1> center,
    Array<double, 1> levels, Array<double, 1> unit, Array<double, 1> rounding, Array<int64_t, 1> ids,
    Array<int64_t, 1> block_code, Array<int64_t, 1> feature_order, bool expanded, Array<int64_t, 3> listed,
    Array<double, 3> listed_square, Array<double, 2> reach, Array<double, 1> reference, Array<int64_t, 1> order,
    Array<double, 1> step, double beta, Output<double, 1> w, wb::Crew& crew, int64_t begin, int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1)), blocks = int64_t(packed.shape(0));
  const auto per_feature = [&](auto& array) { return int64_t(array.shape(0)) == m; };
  require(blocks == 0 || (int64_t(packed.shape(1)) == m && int64_t(packed.shape(2)) == wb::BLOCK_LANES<float>),
          "packed: wrong shape");
  require(int64_t(codes.shape(0)) == n && int64_t(listed.shape(0)) == n && listed.shape(1) == 2 &&
              int64_t(reach.shape(0)) == n && reach.shape(1) == 2,
          "codes, listed, reach: one entry per row is needed");
  require(listed_square.size() == listed.size(), "listed_square: the shape of listed is needed");
  require(int64_t(ids.shape(0)) == blocks * wb::BLOCK_LANES<float> && int64_t(block_code.shape(0)) == blocks,
          "ids, block_code: wrong shape");
  require(mixed ? packed.dtype() == nb::dtype<float>() : packed.dtype() == nb::dtype<std::int16_t>(),
          "packed: float32 is needed for mixed data, int16 otherwise");
  require(per_feature(gap) && per_feature(nominal) && per_feature(center) && per_feature(levels) &&
              per_feature(unit) && per_feature(rounding) && per_feature(feature_order) && per_feature(reference) && per_feature(w),
          "gap, nominal, center, levels, unit, rounding, feature_order, reference, w: one per feature is needed");
  require(order.shape(0) == step.shape(0), "order, step: one shape is needed");
  require_range(begin, end, int64_t(order.shape(0)));
  for (int64_t i = begin; i < end; ++i) require(0 <= order.data()[i] && order.data()[i] < n, "order: row outside the data");
  for (size_t i = 0; i < listed.size(); ++i) require(listed.data()[i] < n, "listed: row outside the data");
  for (size_t i = 0; i < ids.size(); ++i) require(ids.data()[i] < n, "ids: row outside the data");
  for (int64_t i = 0; i < m; ++i) require(0 <= feature_order.data()[i] && feature_order.data()[i] < m, "feature_order: outside");
  const wb::MarginJob job{rows.data(),
                          codes.data(),
                          m,
                          gap.data(),
                          nominal.data(),
                          mixed ? static_cast<const float*>(packed.data()) : nullptr,
                          mixed ? nullptr : static_cast<const std::int16_t*>(packed.data()),
                          center.data(),
                          levels.data(),
                          unit.data(),
                          rounding.data(),
                          ids.data(),
                          block_code.data(),
                          blocks,
                          feature_order.data(),
                          counts_up(feature_order),
                          expanded && !mixed,
                          listed.data(),
                          listed_square.data(),
                          int64_t(listed.shape(2)),
                          reach.data(),
                          reference.data(),
                          order.data(),
                          step.data(),
                          beta};
  return level->simba[mixed](job, crew, w.data(), begin, end);
}

template <class T> void bind(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("pack", &py_pack<T>, "source"_a.noconvert(), "order"_a.noconvert(), "packed"_a.noconvert(), "fill"_a,
        "center"_a.noconvert().none(), "factor"_a.noconvert().none(), "n_numeric"_a, "p"_a, "begin"_a, "end"_a, release);
  m.def("k_nearest", &py_k_nearest<T>, "queries"_a.noconvert(), "query_ids"_a.noconvert().none(),
        "packed"_a.noconvert(), "weights"_a.noconvert().none(), "scales"_a.noconvert().none(), "ids"_a.noconvert(),
        "group_start"_a.noconvert(), "gap"_a.noconvert(), "n_numeric"_a, "missing"_a, "p"_a,
        "distance"_a.noconvert(), "id"_a.noconvert(), "source"_a.noconvert().none(), "order"_a.noconvert().none(),
        "exact_queries"_a.noconvert().none(), "exact_weights"_a.noconvert().none(), "exact_gap"_a.noconvert().none(),
        "slack"_a.noconvert().none(), "begin"_a, "end"_a, release);
  m.def("rerank", &py_rerank<T>, "queries"_a.noconvert(), "source"_a.noconvert(), "candidates"_a.noconvert(),
        "weights"_a.noconvert().none(), "weight_row"_a.noconvert().none(), "scales"_a.noconvert().none(),
        "self_row"_a.noconvert().none(), "gap"_a.noconvert(), "n_numeric"_a, "p"_a, "distance"_a.noconvert(),
        "id"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("to_bytes", &py_to_bytes<T>, "rows"_a.noconvert(), "low"_a.noconvert(), "delta"_a, "bytes"_a.noconvert(),
        "residual"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("byte_nearest", &py_byte_nearest<T>, "packed"_a.noconvert(), "ids"_a.noconvert(), "group_start"_a.noconvert(),
        "delta"_a, "largest_residual"_a, "source"_a.noconvert(), "query_words"_a.noconvert(),
        "query_residual"_a.noconvert(), "queries"_a.noconvert(), "own_lane"_a.noconvert().none(),
        "distance"_a.noconvert(), "id"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("distances", &py_distances<T>, "queries"_a.noconvert(), "packed"_a.noconvert(), "gap"_a.noconvert(),
        "n_numeric"_a, "missing"_a, "distance"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("zone_coefficients", &py_zone_coefficients<T>, "rows"_a.noconvert(), "packed"_a.noconvert(),
        "gap"_a.noconvert(), "n_numeric"_a, "missing"_a, "class_start"_a.noconvert(), "factor"_a.noconvert(),
        "weight"_a.noconvert(), "threshold"_a, "far"_a, "tolerance"_a, "coefficient"_a.noconvert(), "begin"_a, "end"_a,
        release);
  m.def("add_differences", &py_add_differences<T>, "queries"_a.noconvert(), "packed"_a.noconvert(), "n_numeric"_a,
        "coefficient"_a.noconvert(), "total"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("distance_sums", &py_distance_sums<T>, "queries"_a.noconvert(), "packed"_a.noconvert(), "n"_a,
        "sums"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("add_listed", &py_add_listed<T>, "rows"_a.noconvert(), "n_numeric"_a, "query"_a.noconvert(),
        "neighbor"_a.noconvert(), "coefficient"_a.noconvert(), "credit"_a.noconvert(), "total"_a.noconvert(), "begin"_a,
        "end"_a, release);
}

}  // namespace

#include "population_bindings.hpp"

NB_MODULE(_native, m) {
  m.doc() = "Compiled core of weighbors: single-threaded primitives over row ranges.";
  bind<float>(m);
  bind<double>(m);
  bind_population<float>(m);
  bind_population<double>(m);
  bind_walk(m);
  {
    using namespace nb::literals;
    m.def("zone_sums", &py_zone_sums, "rows"_a.noconvert(), "packed"_a.noconvert(), "row_sums"_a.noconvert(),
          "class_start"_a.noconvert(), "factor"_a.noconvert(), "weight"_a.noconvert(), "threshold"_a, "far"_a, "tolerance"_a, "total"_a.noconvert(), "begin"_a, "end"_a,
          nb::call_guard<nb::gil_scoped_release>());
    nb::class_<wb::Crew>(m, "Crew")
        .def(nb::init<>())
        .def("help", &wb::Crew::help, nb::call_guard<nb::gil_scoped_release>())
        .def("close", &wb::Crew::close);
    const auto bind_pack_margins = [&](auto function) {
      m.def("pack_margins", function, "rows"_a.noconvert(), "center"_a.noconvert(), "levels"_a.noconvert(),
            "feature_order"_a.noconvert(), "ids"_a.noconvert(), "packed"_a.noconvert(), "begin"_a, "end"_a,
            nb::call_guard<nb::gil_scoped_release>());
    };
    bind_pack_margins(&py_pack_margins<float>);
    bind_pack_margins(&py_pack_margins<std::int16_t>);
    m.def("simba", &py_simba, "rows"_a.noconvert(), "codes"_a.noconvert(), "gap"_a.noconvert(),
          "nominal"_a.noconvert(), "mixed"_a, "packed"_a.noconvert(), "center"_a.noconvert(), "levels"_a.noconvert(),
          "unit"_a.noconvert(), "rounding"_a.noconvert(), "ids"_a.noconvert(), "block_code"_a.noconvert(), "feature_order"_a.noconvert(), "expanded"_a, "listed"_a.noconvert(),
          "listed_square"_a.noconvert(), "reach"_a.noconvert(), "reference"_a.noconvert(), "order"_a.noconvert(),
          "step"_a.noconvert(), "beta"_a, "w"_a.noconvert(), "crew"_a, "begin"_a,
          "end"_a, nb::call_guard<nb::gil_scoped_release>());
  }
  m.attr("BLOCK_LANES_FLOAT32") = wb::BLOCK_LANES<float>;
  m.attr("BYTE_LANES") = wb::BYTE_LANES;
  m.attr("BLOCK_LANES_FLOAT64") = wb::BLOCK_LANES<double>;
  m.attr("VECTOR_EXTENSIONS") = bool(WB_VECTOR_EXTENSIONS);
  m.def("cpu_level", [] { return level->name; });
  m.def("set_cpu_level", [](const std::string& name) {
    for (const wb::Level* each : wb::levels())
      if (name == each->name) {
        level = each;
        return;
      }
    throw std::invalid_argument("cpu level '" + name + "' is not one this build and CPU have");
  });
}

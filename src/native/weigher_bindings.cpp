// Bindings of what the weighers need: distances and differences of all pairs of rows, the zones of the SURF family,
// differences of listed pairs, the steps of SIMBA, and counts for permutation tests.
#include "bindings.hpp"
#include "counting.hpp"
#include "pack.hpp"
#include "ranked.hpp"
#include "sparse.hpp"

namespace wb::bindings {

namespace {

template <class T>
void py_compute_distances(Array<T, 2> queries, Array<T, 3> packed, Array<T, 1> missing_distance, int64_t n_numeric,
                          bool missing, int p, Output<T, 2> distance, int64_t begin, int64_t end) {
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  const int64_t m = dim(queries, 1), blocks = dim(packed, 0);
  require_packed<T>(packed, m);
  require_features(missing_distance, n_numeric, m);
  require_range(begin, end, dim(queries, 0));
  require(dim(distance, 0) == end - begin && dim(distance, 1) == blocks * BLOCK_LANES<T>,
          "distance: (end - begin, lanes) is needed");
  const Features<T> features{.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m};
  level->of<T>().compute_distances[p - 1][missing](queries.data(), packed.data(), features, blocks, distance.data(),
                                                   begin, end);
}

// Without a row in hit_range, there are classes.
Zones make_zones(int64_t n, const Array<int64_t, 1>& class_start, const Array<int64_t, 2>& hit_range,
                 const Array<double, 2>& factor, const Array<double, 1>& weight, double threshold, bool far,
                 double tolerance) {
  const bool numeric = dim(hit_range, 0) > 0;
  const int64_t classes = dim(class_start, 0) - 1;
  require(classes >= 1 && dim(weight, 0) == n && dim(factor, 0) == classes && dim(factor, 1) == (numeric ? 2 : classes),
          "class_start, weight, factor: wrong shape");
  require(dim(hit_range, 1) == 2 && (!numeric || (dim(hit_range, 0) == n && classes == 1)), "hit_range: wrong shape");
  for (int64_t row = 0; row < dim(hit_range, 0); ++row) {
    const int64_t first = hit_range.data()[2 * row], last = hit_range.data()[2 * row + 1];
    require(0 <= first && first <= last && last <= n, "hit_range: rows outside the data");
  }
  require(class_start.data()[0] == 0 && class_start.data()[classes] == n, "class_start: all rows are needed");
  for (int64_t c = 0; c < classes; ++c)
    require(class_start.data()[c] <= class_start.data()[c + 1], "class_start: descends");
  return {
      .n = n,
      .class_start = class_start.data(),
      .n_classes = numeric ? 2 : classes,
      .hit_range = numeric ? hit_range.data() : nullptr,
      .factor = factor.data(),
      .weight = weight.data(),
      .threshold = threshold,
      .far = far,
      .tolerance = tolerance,
  };
}

// The rows of the SURF family, with what their distances are computed from.
ZoneJob zone_job(const Array<double, 2>& rows, const Optional<double, 3>& packed, const Optional<double, 1>& row_sums) {
  constexpr int64_t LANES = BLOCK_LANES<double>;
  const int64_t n = dim(rows, 0), stride = dim(rows, 1);
  require(n >= 2 && stride % VECTOR_LANES<double> == 0, "rows: two rows of whole vectors are needed");
  ZoneJob job{.rows = rows.data(), .stride = stride};
  if (!packed) return job;
  const int64_t blocks = dim(*packed, 0);
  job.m = dim(*packed, 1);
  require(blocks * LANES >= n && dim(*packed, 2) == LANES && stride >= job.m, "packed: all rows are needed");
  require(row_sums && dim(*row_sums, 0) == blocks * LANES, "row_sums: one per lane is needed");
  job.packed = packed->data();
  job.row_sums = row_sums->data();
  return job;
}

void py_compute_zone_distances(Array<double, 2> rows, Array<double, 3> packed, Array<double, 1> row_sums,
                               Output<double, 2> distance, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), width = dim(packed, 0) * BLOCK_LANES<double>;
  require(dim(distance, 0) == n && dim(distance, 1) == width, "distance: one column per lane is needed");
  require_range(begin, end, n);
  level->compute_zone_distances(zone_job(rows, packed, row_sums), n, distance.data(), width, begin, end);
}

void py_add_zone_differences(Array<double, 2> rows, Optional<double, 3> packed, Optional<double, 1> row_sums,
                             Optional<double, 2> distance, Optional<int64_t, 1> order, Array<int64_t, 1> class_start,
                             Array<int64_t, 2> hit_range, Array<double, 2> factor, Array<double, 1> weight,
                             double threshold, bool far, double tolerance, Output<double, 1> total, int64_t begin,
                             int64_t end) {
  const int64_t n = dim(rows, 0);
  ZoneJob job = zone_job(rows, packed, row_sums);
  require(packed.has_value() != distance.has_value(), "either packed or distance is needed");
  require(!distance || (dim(*distance, 0) == n && dim(*distance, 1) == n), "distance: all pairs are needed");
  require(order.has_value() == distance.has_value() && (!order || dim(*order, 0) == n), "order: all rows are needed");
  for (int64_t i = 0; order && i < n; ++i)
    require(0 <= order->data()[i] && order->data()[i] < n, "order: row outside the distances");
  job.distance = data_or_null(distance);
  job.order = data_or_null(order);
  require(dim(total, 0) == job.stride, "total: wrong shape");
  const Zones zones = make_zones(n, class_start, hit_range, factor, weight, threshold, far, tolerance);
  require_range(begin, end, n);
  level->add_zone_differences(job, zones, total.data(), begin, end);
}

void py_add_sparse_zone_differences(Array<int64_t, 1> start, Array<int32_t, 1> feature, Array<double, 1> value,
                                    Array<int64_t, 1> column_start, Array<int32_t, 1> column_row,
                                    Array<double, 1> column_value, Array<double, 1> norm, Array<int64_t, 1> class_start,
                                    Array<int64_t, 2> hit_range, Array<double, 2> factor, Array<double, 1> weight,
                                    double threshold, bool far, double tolerance, Output<double, 1> total,
                                    Output<double, 1> coefficient_sums, int64_t begin, int64_t end) {
  const int64_t n = dim(start, 0) - 1, m = dim(total, 0);
  require(n >= 2 && dim(column_start, 0) == m + 1,
          "start, column_start: two rows, and one column per feature, are needed");
  require(dim(norm, 0) == n && dim(coefficient_sums, 0) == n, "norm, coefficient_sums: one per row is needed");
  const SparseZoneJob job{.rows = sparse_rows(start, feature, value, m),
                          .columns = sparse_rows(column_start, column_row, column_value, n),
                          .norm = norm.data(),
                          .n = n};
  const Zones zones = make_zones(n, class_start, hit_range, factor, weight, threshold, far, tolerance);
  require_range(begin, end, n);
  level->add_sparse_zone_differences(job, zones, total.data(), coefficient_sums.data(), begin, end);
}

template <class T>
void py_compute_zone_coefficients(Array<T, 2> rows, Array<T, 3> packed, Array<T, 1> missing_distance, int64_t n_numeric,
                                  bool missing, Array<int64_t, 1> class_start, Array<int64_t, 2> hit_range,
                                  Array<double, 2> factor, Array<double, 1> weight, double threshold, bool far,
                                  double tolerance, Output<T, 2> coefficient, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1), blocks = dim(packed, 0);
  require_packed<T>(packed, m);
  require(n >= 2 && n <= blocks * BLOCK_LANES<T>, "packed: all rows are needed");
  require_features(missing_distance, n_numeric, m);
  const Zones zones = make_zones(n, class_start, hit_range, factor, weight, threshold, far, tolerance);
  require_range(begin, end, n);
  require(dim(coefficient, 0) == end - begin && dim(coefficient, 1) == blocks * BLOCK_LANES<T>,
          "coefficient: (end - begin, lanes) is needed");
  const Features<T> features{.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m};
  level->of<T>().compute_zone_coefficients[missing](rows.data(), packed.data(), features, blocks, zones,
                                                    coefficient.data(), begin, end);
}

template <class T>
void py_add_differences(Array<T, 2> queries, Array<T, 3> packed, Array<T, 1> missing_distance, int64_t n_numeric,
                        bool missing, Array<T, 2> coefficient, Output<double, 1> total, int64_t begin, int64_t end) {
  const int64_t m = dim(queries, 1), blocks = dim(packed, 0);
  require_packed<T>(packed, m);
  require_features(missing_distance, n_numeric, m);
  require(dim(total, 0) == m, "total: one per feature is needed");
  require_range(begin, end, dim(queries, 0));
  require(dim(coefficient, 0) == end - begin && dim(coefficient, 1) == blocks * BLOCK_LANES<T>,
          "coefficient: (end - begin, lanes) is needed");
  const Features<T> features{.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m};
  level->of<T>().add_differences[missing](queries.data(), packed.data(), features, blocks, coefficient.data(),
                                          total.data(), begin, end);
}

template <class T>
void py_sum_distances(Array<T, 2> queries, Array<T, 3> packed, int64_t n, Output<double, 1> sums, int64_t begin,
                      int64_t end) {
  const int64_t m = dim(queries, 1);
  require_packed<T>(packed, m);
  require(n <= dim(packed, 0) * BLOCK_LANES<T> && sums.shape(0) == queries.shape(0), "sums: one per query");
  require_range(begin, end, dim(queries, 0));
  const Features<T> features{.numeric = m, .count = m};
  level->of<T>().sum_distances(queries.data(), packed.data(), features, n, sums.data(), begin, end);
}

template <class T>
void py_pick_nearest(Array<int32_t, 2> row, Array<T, 2> ranked_distance, Array<int64_t, 1> codes, int64_t n_classes,
                     Array<int64_t, 1> asked, Output<T, 3> distance, Output<int64_t, 3> found,
                     Output<bool, 1> lacking) {
  const int64_t n = dim(row, 0), length = dim(row, 1), n_asked = dim(asked, 0);
  require(dim(ranked_distance, 0) == n && dim(ranked_distance, 1) == length && dim(codes, 0) == n,
          "ranked_distance, codes: wrong shape");
  require_lists(distance, found, n_asked, n_classes);
  require(dim(lacking, 0) == n_asked && dim(distance, 2) > 0, "lacking: one per row is needed");
  for (int64_t i = 0; i < n; ++i)
    require(0 <= codes.data()[i] && codes.data()[i] < n_classes, "codes: class out of range");
  for (int64_t i = 0; i < n_asked; ++i) {
    require(0 <= asked.data()[i] && asked.data()[i] < n, "asked: row outside the lists");
    const int32_t* list = row.data() + asked.data()[i] * length;
    for (int64_t at = 0; at < length; ++at) require(0 <= list[at] && list[at] < n, "row: row outside the lists");
  }
  const RankedLists<T> lists{.row = row.data(),
                             .distance = ranked_distance.data(),
                             .length = length,
                             .codes = codes.data(),
                             .n_classes = n_classes};
  pick_nearest(lists, asked.data(), n_asked, dim(distance, 2), distance.data(), found.data(), lacking.data());
}

void py_count_between(Array<double, 1> limits, Array<double, 1> values, Output<int64_t, 1> counts) {
  const int64_t n = dim(limits, 0);
  require(dim(counts, 0) == n + 1, "counts: one more than limits are needed");
  for (int64_t i = 1; i < n; ++i) require(!(limits.data()[i - 1] > limits.data()[i]), "limits: they must ascend");
  count_between(limits.data(), n, values.data(), dim(values, 0), counts.data());
}

// The lists of `add_listed_differences` for n rows.
template <class T>
ListedPairs<T> listed_pairs(int64_t n, int64_t n_numeric, const Array<int64_t, 1>& query,
                            const Array<int64_t, 2>& neighbor, const Array<double, 2>& coefficient,
                            const Array<int64_t, 2>& output_row, const Output<double, 2>& total, int64_t begin,
                            int64_t end) {
  const int64_t m = dim(total, 1), width = dim(neighbor, 1);
  require(0 <= n_numeric && n_numeric <= m, "total: one column per feature is needed");
  require(query.shape(0) == neighbor.shape(0) && coefficient.shape(0) == neighbor.shape(0) &&
              output_row.shape(0) == neighbor.shape(0) && coefficient.shape(1) == neighbor.shape(1) &&
              output_row.shape(1) == neighbor.shape(1),
          "neighbor, coefficient, output_row: one shape is needed");
  require_range(begin, end, dim(query, 0));
  for (int64_t i = begin; i < end; ++i) require(0 <= query.data()[i] && query.data()[i] < n, "query outside the rows");
  for (int64_t i = begin * width; i < end * width; ++i)
    require(neighbor.data()[i] < n && 0 <= output_row.data()[i] && output_row.data()[i] < dim(total, 0),
            "neighbor or output_row out of range");
  return {
      .rows = nullptr,
      .n = n,
      .m = m,
      .numeric = n_numeric,
      .query = query.data(),
      .neighbor = neighbor.data(),
      .coefficient = coefficient.data(),
      .output_row = output_row.data(),
      .width = width,
  };
}

template <class T>
void py_add_listed_differences(Array<T, 2> rows, int64_t n_numeric, Array<int64_t, 1> query, Array<int64_t, 2> neighbor,
                               Array<double, 2> coefficient, Array<int64_t, 2> output_row, Output<double, 2> total,
                               int64_t first_feature, int64_t last_feature, int64_t begin, int64_t end) {
  require(dim(total, 1) == dim(rows, 1), "total: one column per feature is needed");
  require_range(first_feature, last_feature, dim(rows, 1));
  ListedPairs<T> pairs =
      listed_pairs<T>(dim(rows, 0), n_numeric, query, neighbor, coefficient, output_row, total, begin, end);
  pairs.rows = rows.data();
  pairs.first_feature = first_feature;
  pairs.last_feature = last_feature;
  level->of<T>().add_listed_differences(pairs, total.data(), begin, end);
}

template <class T>
void py_add_listed_sparse_differences(Array<int64_t, 1> start, Array<int32_t, 1> feature, Array<T, 1> value,
                                      Array<int64_t, 1> query, Array<int64_t, 2> neighbor, Array<double, 2> coefficient,
                                      Array<int64_t, 2> output_row, Output<double, 2> total, int64_t begin,
                                      int64_t end) {
  const SparseRows<T> rows = sparse_rows(start, feature, value, dim(total, 1));
  const ListedPairs<T> pairs =
      listed_pairs<T>(dim(start, 0) - 1, dim(total, 1), query, neighbor, coefficient, output_row, total, begin, end);
  add_listed_sparse_differences(pairs, rows, total.data(), begin, end);
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
  const int64_t n = dim(rows, 0), m = dim(rows, 1);
  require(
      dim(packed, 1) == m && dim(packed, 2) == BLOCK_LANES<float> && ids.shape(0) == packed.shape(0) * packed.shape(2),
      "packed, ids: wrong shape");
  require(dim(center, 0) == m && dim(levels, 0) == m && dim(feature_order, 0) == m,
          "center, levels, feature_order: one per feature is needed");
  for (int64_t i = 0; i < m; ++i)
    require(0 <= feature_order.data()[i] && feature_order.data()[i] < m, "feature_order: outside");
  for (size_t i = 0; i < ids.size(); ++i) require(ids.data()[i] < n, "ids: row outside the data");
  require_range(begin, end, dim(packed, 0));
  const MarginPacking<P> job{
      .rows = rows.data(),
      .m = m,
      .center = center.data(),
      .levels = levels.data(),
      .order = feature_order.data(),
      .in_order = counts_up(feature_order),
      .ids = ids.data(),
      .packed = packed.data(),
  };
  pack_margins(job, begin, end);
}

std::pair<int64_t, int64_t> py_take_simba_steps(
    Array<double, 2> rows, Array<int64_t, 1> codes, Array<double, 1> missing_distance, Array<bool, 1> nominal,
    bool mixed, nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu> packed, Array<double, 1> center,
    Array<double, 1> levels, Array<double, 1> unit, Array<double, 1> rounding, Array<int64_t, 1> ids,
    Array<int64_t, 1> block_code, Array<int64_t, 1> feature_order, bool expanded, Array<int64_t, 3> listed,
    Array<double, 3> listed_square, Array<double, 2> unlisted_distance, Array<double, 1> reference,
    Array<int64_t, 1> order, Array<double, 1> step, double beta, Output<double, 1> w, HelperThreads& helpers,
    int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1), blocks = dim(packed, 0);
  const auto per_feature = [&](auto& values) { return dim(values, 0) == m; };
  require(blocks == 0 || (dim(packed, 1) == m && dim(packed, 2) == BLOCK_LANES<float>), "packed: wrong shape");
  require(dim(codes, 0) == n && dim(listed, 0) == n && listed.shape(1) == 2 && dim(unlisted_distance, 0) == n &&
              unlisted_distance.shape(1) == 2,
          "codes, listed, unlisted_distance: one entry per row is needed");
  require(listed_square.size() == listed.size(), "listed_square: the shape of listed is needed");
  require(dim(ids, 0) == blocks * BLOCK_LANES<float> && dim(block_code, 0) == blocks, "ids, block_code: wrong shape");
  require(mixed ? packed.dtype() == nb::dtype<float>() : packed.dtype() == nb::dtype<std::int16_t>(),
          "packed: float32 is needed for mixed data, int16 otherwise");
  require(per_feature(missing_distance) && per_feature(nominal) && per_feature(center) && per_feature(levels) &&
              per_feature(unit) && per_feature(rounding) && per_feature(feature_order) && per_feature(reference) &&
              per_feature(w),
          "missing_distance, nominal, center, levels, unit, rounding, feature_order, reference, w: one per feature is "
          "needed");
  require(order.shape(0) == step.shape(0), "order, step: one shape is needed");
  require_range(begin, end, dim(order, 0));
  for (int64_t i = begin; i < end; ++i)
    require(0 <= order.data()[i] && order.data()[i] < n, "order: row outside the data");
  for (size_t i = 0; i < listed.size(); ++i) require(listed.data()[i] < n, "listed: row outside the data");
  for (size_t i = 0; i < ids.size(); ++i) require(ids.data()[i] < n, "ids: row outside the data");
  for (int64_t i = 0; i < m; ++i)
    require(0 <= feature_order.data()[i] && feature_order.data()[i] < m, "feature_order: outside");
  const MarginJob job{
      .rows = rows.data(),
      .codes = codes.data(),
      .m = m,
      .missing_distance = missing_distance.data(),
      .nominal = nominal.data(),
      .packed = mixed ? static_cast<const float*>(packed.data()) : nullptr,
      .packed_short = mixed ? nullptr : static_cast<const std::int16_t*>(packed.data()),
      .center = center.data(),
      .levels = levels.data(),
      .unit = unit.data(),
      .rounding = rounding.data(),
      .ids = ids.data(),
      .block_code = block_code.data(),
      .n_blocks = blocks,
      .feature_order = feature_order.data(),
      .in_order = counts_up(feature_order),
      .expanded = expanded && !mixed,
      .listed = listed.data(),
      .listed_square = listed_square.data(),
      .width = dim(listed, 2),
      .unlisted_distance = unlisted_distance.data(),
      .reference = reference.data(),
      .order = order.data(),
      .step = step.data(),
      .beta = beta,
  };
  return level->take_simba_steps[mixed](job, helpers, w.data(), begin, end);
}

template <class T> void bind_for(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("compute_distances", &py_compute_distances<T>, nb::kw_only(), array("queries"), array("packed"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, "p"_a, array("distance"), "begin"_a, "end"_a, release);
  m.def("compute_zone_coefficients", &py_compute_zone_coefficients<T>, nb::kw_only(), array("rows"), array("packed"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, array("class_start"), array("hit_range"),
        array("factor"), array("weight"), "threshold"_a, "far"_a, "tolerance"_a, array("coefficient"), "begin"_a,
        "end"_a, release);
  m.def("add_differences", &py_add_differences<T>, nb::kw_only(), array("queries"), array("packed"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, array("coefficient"), array("total"), "begin"_a, "end"_a,
        release);
  m.def("sum_distances", &py_sum_distances<T>, nb::kw_only(), array("queries"), array("packed"), "n"_a, array("sums"),
        "begin"_a, "end"_a, release);
  m.def("add_listed_differences", &py_add_listed_differences<T>, nb::kw_only(), array("rows"), "n_numeric"_a,
        array("query"), array("neighbor"), array("coefficient"), array("output_row"), array("total"), "first_feature"_a,
        "last_feature"_a, "begin"_a, "end"_a, release);
  m.def("pick_nearest", &py_pick_nearest<T>, nb::kw_only(), array("row"), array("ranked_distance"), array("codes"),
        "n_classes"_a, array("asked"), array("distance"), array("found"), array("lacking"), release);
  m.def("add_listed_sparse_differences", &py_add_listed_sparse_differences<T>, nb::kw_only(), array("start"),
        array("feature"), array("value"), array("query"), array("neighbor"), array("coefficient"), array("output_row"),
        array("total"), "begin"_a, "end"_a, release);
}

template <class P> void bind_pack_margins(nb::module_& m) {
  using namespace nb::literals;
  m.def("pack_margins", &py_pack_margins<P>, nb::kw_only(), array("rows"), array("center"), array("levels"),
        array("feature_order"), array("ids"), array("packed"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_weighers(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  bind_for<float>(m);
  bind_for<double>(m);
  m.def("compute_zone_distances", &py_compute_zone_distances, nb::kw_only(), array("rows"), array("packed"),
        array("row_sums"), array("distance"), "begin"_a, "end"_a, release);
  m.def("add_zone_differences", &py_add_zone_differences, nb::kw_only(), array("rows"), array_or_none("packed"),
        array_or_none("row_sums"), array_or_none("distance"), array_or_none("order"), array("class_start"),
        array("hit_range"), array("factor"), array("weight"), "threshold"_a, "far"_a, "tolerance"_a, array("total"),
        "begin"_a, "end"_a, release);
  m.def("add_sparse_zone_differences", &py_add_sparse_zone_differences, nb::kw_only(), array("start"), array("feature"),
        array("value"), array("column_start"), array("column_row"), array("column_value"), array("norm"),
        array("class_start"), array("hit_range"), array("factor"), array("weight"), "threshold"_a, "far"_a,
        "tolerance"_a, array("total"), array("coefficient_sums"), "begin"_a, "end"_a, release);
  m.def("count_between", &py_count_between, nb::kw_only(), array("limits"), array("values"), array("counts"), release);
  nb::class_<HelperThreads>(m, "HelperThreads")
      .def(nb::init<>())
      .def("help", &HelperThreads::help, release)
      .def("close", &HelperThreads::close);
  bind_pack_margins<float>(m);
  bind_pack_margins<std::int16_t>(m);
  m.def("take_simba_steps", &py_take_simba_steps, nb::kw_only(), array("rows"), array("codes"),
        array("missing_distance"), array("nominal"), "mixed"_a, array("packed"), array("center"), array("levels"),
        array("unit"), array("rounding"), array("ids"), array("block_code"), array("feature_order"), "expanded"_a,
        array("listed"), array("listed_square"), array("unlisted_distance"), array("reference"), array("order"),
        array("step"), "beta"_a, array("w"), "helpers"_a, "begin"_a, "end"_a, release);
}

}  // namespace wb::bindings

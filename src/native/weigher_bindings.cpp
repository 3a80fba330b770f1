// Bindings of what the weighers need: distances and differences of all pairs of rows, the zones of the SURF family,
// differences of listed pairs, the steps of SIMBA, and counts for permutation tests.
#include "bindings.hpp"
#include "counting.hpp"
#include "margin_blocks.hpp"
#include "ranked.hpp"
#include "sparse.hpp"

namespace wb::bindings {

namespace {

// Rows that are packed for computations on all pairs, checked once for all calls.
template <class T> class PackedRows {
 public:
  PackedRows(Array<T, 2> rows, Array<T, 3> packed, Array<T, 1> missing_distance, int64_t n_numeric, bool missing)
      : rows_(rows.data()),
        packed_(packed.data()),
        n_(dim(rows, 0)),
        blocks_(dim(packed, 0)),
        features_{.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = dim(rows, 1)},
        missing_(missing) {
    require_packed<T>(packed, features_.count);
    require(n_ <= lanes(), "packed: all rows are needed");
    require_features(missing_distance, n_numeric, features_.count);
  }

  void compute_distances(Optional<T, 2> queries, bool missing, int p, Output<T, 2> distance, int64_t begin,
                         int64_t end) const {
    require(p == 1 || p == 2, "p: 1 or 2 is needed");
    require(!queries || dim(*queries, 1) == features_.count, "queries: one column per feature is needed");
    require_range(begin, end, queries ? dim(*queries, 0) : n_);
    require_pairs(distance, begin, end);
    level->of<T>().compute_distances[p - 1][missing_ || missing](queries ? queries->data() : rows_, packed_, features_,
                                                                 blocks_, distance.data(), begin, end);
  }

  void compute_zone_coefficients(const Zones& zones, Output<T, 2> coefficient, int64_t begin, int64_t end) const {
    require(zones.n == n_ && n_ >= 2, "zones: those of all rows are needed");
    require_range(begin, end, n_);
    require_pairs(coefficient, begin, end);
    level->of<T>().compute_zone_coefficients[missing_](rows_, packed_, features_, blocks_, zones, coefficient.data(),
                                                       begin, end);
  }

  void add_differences(Array<T, 2> coefficient, Output<double, 1> total, int64_t begin, int64_t end) const {
    require(dim(total, 0) == features_.count, "total: one per feature is needed");
    require_range(begin, end, n_);
    require_pairs(coefficient, begin, end);
    level->of<T>().add_differences[missing_](rows_, packed_, features_, blocks_, coefficient.data(), total.data(),
                                             begin, end);
  }

  void sum_distances(Output<double, 1> sums, int64_t begin, int64_t end) const {
    require(dim(sums, 0) == n_ && features_.numeric == features_.count && !missing_, "sums: one per row of numbers");
    require_range(begin, end, n_);
    level->of<T>().sum_distances(rows_, packed_, features_, n_, sums.data(), begin, end);
  }

  void sum_signs(Array<double, 2> coefficient, Output<double, 2> sums, int64_t begin, int64_t end) const
    requires std::is_same_v<T, double>
  {
    require_range(begin, end, n_);
    require_pairs(coefficient, begin, end);
    require(dim(sums, 0) == end - begin && dim(sums, 1) == features_.numeric, "sums: (end - begin, n_numeric)");
    level->sum_signs(rows_, packed_, features_, blocks_, coefficient.data(), sums.data(), begin, end);
  }

 private:
  int64_t lanes() const { return blocks_ * BLOCK_LANES<T>; }
  template <class A> void require_pairs(const A& array, int64_t begin, int64_t end) const {
    require(dim(array, 0) == end - begin && dim(array, 1) == lanes(), "distance, coefficient: (end - begin, lanes)");
  }

  const T *rows_, *packed_;
  int64_t n_, blocks_;
  Features<T> features_;
  bool missing_;
};

// Without a row in hit_range, there are classes.
Zones make_zones(Array<int64_t, 1> class_start, Array<int64_t, 2> hit_range, Array<double, 2> factor,
                 Array<double, 1> weight, double threshold, bool far, double tolerance) {
  const bool numeric = dim(hit_range, 0) > 0;
  const int64_t n = dim(weight, 0), classes = dim(class_start, 0) - 1;
  require(classes >= 1 && dim(factor, 0) == classes && dim(factor, 1) == (numeric ? 2 : classes),
          "class_start, factor: wrong shape");
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

// The rows of the SURF family: either packed, or with the distances of all pairs in another order.
ZoneJob make_zone_rows(Array<double, 2> rows, Optional<double, 3> packed, Optional<double, 1> row_sums,
                       Optional<double, 2> distance, Optional<int64_t, 1> order) {
  constexpr int64_t LANES = BLOCK_LANES<double>;
  const int64_t n = dim(rows, 0), stride = dim(rows, 1);
  require(n >= 2 && stride % VECTOR_LANES<double> == 0, "rows: two rows of whole vectors are needed");
  require(packed.has_value() != distance.has_value(), "either packed or distance is needed");
  require(!packed || (dim(*packed, 0) * LANES >= n && dim(*packed, 2) == LANES && stride >= dim(*packed, 1)),
          "packed: all rows are needed");
  require(!packed || (row_sums && dim(*row_sums, 0) == dim(*packed, 0) * LANES), "row_sums: one per lane is needed");
  require(!distance || (dim(*distance, 0) == n && dim(*distance, 1) == n), "distance: all pairs are needed");
  require(order.has_value() == distance.has_value() && (!order || dim(*order, 0) == n), "order: all rows are needed");
  for (int64_t i = 0; order && i < n; ++i)
    require(0 <= order->data()[i] && order->data()[i] < n, "order: row outside the distances");
  return {
      .rows = rows.data(),
      .packed = data_or_null(packed),
      .row_sums = data_or_null(row_sums),
      .distance = data_or_null(distance),
      .order = data_or_null(order),
      .n = n,
      .m = packed ? dim(*packed, 1) : 0,
      .stride = stride,
  };
}

void py_compute_zone_distances(const ZoneJob& job, Output<double, 2> distance, int64_t begin, int64_t end) {
  require(job.packed && dim(distance, 0) == job.n && dim(distance, 1) >= job.n &&
              dim(distance, 1) % BLOCK_LANES<double> == 0,
          "distance: one column per lane of packed rows is needed");
  require_range(begin, end, job.n);
  level->compute_zone_distances(job, job.n, distance.data(), dim(distance, 1), begin, end);
}

void py_add_zone_differences(const ZoneJob& job, const Zones& zones, Output<double, 1> total, int64_t begin,
                             int64_t end) {
  require(zones.n == job.n && dim(total, 0) == job.stride, "zones, total: wrong shape");
  require_range(begin, end, job.n);
  level->add_zone_differences(job, zones, total.data(), begin, end);
}

SparseZoneJob make_sparse_zone_rows(Array<int64_t, 1> start, Array<int32_t, 1> feature, Array<double, 1> value,
                                    Array<int64_t, 1> column_start, Array<int32_t, 1> column_row,
                                    Array<double, 1> column_value, Array<double, 1> norm) {
  const int64_t n = dim(start, 0) - 1, m = dim(column_start, 0) - 1;
  require(n >= 2 && m >= 1 && dim(norm, 0) == n, "start, column_start, norm: two rows, and one norm per row");
  return {.rows = sparse_rows(start, feature, value, m),
          .columns = sparse_rows(column_start, column_row, column_value, n),
          .norm = norm.data(),
          .n = n,
          .m = m};
}

void py_add_sparse_zone_differences(const SparseZoneJob& job, const Zones& zones, Output<double, 1> total,
                                    Output<double, 1> coefficient_sums, int64_t begin, int64_t end) {
  require(zones.n == job.n && dim(total, 0) == job.m && dim(coefficient_sums, 0) == job.n,
          "zones, total, coefficient_sums: wrong shape");
  require_range(begin, end, job.n);
  level->add_sparse_zone_differences(job, zones, total.data(), coefficient_sums.data(), begin, end);
}

template <class T>
void py_pick_nearest(Array<int32_t, 2> row, Array<T, 2> ranked_distance, Array<int64_t, 1> codes, int64_t n_classes,
                     Array<int64_t, 1> asked, View<T, 3> distance, View<int64_t, 3> found, Output<bool, 1> lacking) {
  const int64_t n = dim(row, 0), length = dim(row, 1), n_asked = dim(asked, 0);
  require(dim(ranked_distance, 0) == n && dim(ranked_distance, 1) == length && dim(codes, 0) == n,
          "ranked_distance, codes: wrong shape");
  require_lists(Lists<T>{distance, found}, n_asked, n_classes);
  require(dim(lacking, 0) == n_asked, "lacking: one per row is needed");
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
  pick_nearest(lists, asked.data(), n_asked, distance.shape[2], distance.data, found.data, lacking.data());
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

MarginRows make_margin_rows(Array<double, 2> rows, Array<int64_t, 1> codes, Array<double, 1> missing_distance,
                            Array<bool, 1> nominal, Array<double, 1> center, Array<double, 1> levels,
                            Array<double, 1> unit, Array<double, 1> rounding) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1);
  const auto per_feature = [&](auto& values) { return dim(values, 0) == m; };
  require(dim(codes, 0) == n, "codes: one per row is needed");
  require(per_feature(missing_distance) && per_feature(nominal) && per_feature(center) && per_feature(levels) &&
              per_feature(unit) && per_feature(rounding),
          "missing_distance, nominal, center, levels, unit, rounding: one per feature is needed");
  return {
      .rows = rows.data(),
      .codes = codes.data(),
      .n = n,
      .m = m,
      .missing_distance = missing_distance.data(),
      .nominal = nominal.data(),
      .center = center.data(),
      .levels = levels.data(),
      .unit = unit.data(),
      .rounding = rounding.data(),
  };
}

// P: float where values are nominal or missing, a 16-bit integer otherwise.
template <class P>
MarginBlocks make_margin_blocks(Output<P, 3> packed, Array<int64_t, 1> ids, Array<int64_t, 1> block_code,
                                Array<int64_t, 1> feature_order) {
  const int64_t blocks = dim(packed, 0), m = dim(packed, 1);
  require(dim(packed, 2) == BLOCK_LANES<float> && dim(ids, 0) == blocks * BLOCK_LANES<float> &&
              dim(block_code, 0) == blocks && dim(feature_order, 0) == m,
          "packed, ids, block_code, feature_order: wrong shape");
  for (int64_t i = 0; i < m; ++i)
    require(0 <= feature_order.data()[i] && feature_order.data()[i] < m, "feature_order: outside");
  MarginBlocks made{
      .ids = ids.data(),
      .block_code = block_code.data(),
      .n_blocks = blocks,
      .m = m,
      .last_row = blocks ? *std::max_element(ids.data(), ids.data() + ids.size()) : -1,
      .feature_order = feature_order.data(),
      .in_order = counts_up(feature_order),
  };
  if constexpr (std::is_same_v<P, float>) made.packed = packed.data();
  else made.packed_short = packed.data();
  return made;
}

void require_blocks(const MarginRows& rows, const MarginBlocks& blocks) {
  require(blocks.m == rows.m && blocks.last_row < rows.n, "blocks: those of the rows are needed");
}

void py_pack_margins(const MarginRows& rows, const MarginBlocks& blocks, int64_t begin, int64_t end) {
  require_blocks(rows, blocks);
  require_range(begin, end, blocks.n_blocks);
  if (blocks.packed) pack_margins(rows, blocks, blocks.packed, begin, end);
  else pack_margins(rows, blocks, blocks.packed_short, begin, end);
}

void py_take_simba_steps(const MarginRows& rows, const MarginBlocks& blocks, Array<int64_t, 1> order,
                         Array<double, 1> step, Output<double, 1> w, int64_t begin, int64_t end) {
  require_blocks(rows, blocks);
  require(dim(w, 0) == rows.m, "w: one per feature is needed");
  require(order.shape(0) == step.shape(0), "order, step: one shape is needed");
  require_range(begin, end, dim(order, 0));
  for (int64_t i = begin; i < end; ++i)
    require(0 <= order.data()[i] && order.data()[i] < rows.n, "order: row outside the data");
  const MarginJob job{rows, blocks, order.data(), step.data()};
  level->take_simba_steps[blocks.packed != nullptr](job, w.data(), begin, end);
}

// Defines the constructor of a struct T, which `make` fills and checks.
template <class T, class... Args> auto made_by(T (*make)(Args...)) {
  return [make](T* self, Args... args) { new (self) T(make(args...)); };
}

template <class T> void bind_packed_rows(nb::module_& m, const char* name) {
  using namespace nb::literals;
  using Rows = PackedRows<T>;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Rows> rows(m, name);
  rows.def(nb::init<Array<T, 2>, Array<T, 3>, Array<T, 1>, int64_t, bool>(), nb::kw_only(), array("rows"),
           array("packed"), array("missing_distance"), "n_numeric"_a, "missing"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("compute_distances", &Rows::compute_distances, nb::kw_only(), array_or_none("queries"), "missing"_a, "p"_a,
           array("distance"), "begin"_a, "end"_a, release)
      .def("compute_zone_coefficients", &Rows::compute_zone_coefficients, nb::kw_only(), "zones"_a,
           array("coefficient"), "begin"_a, "end"_a, release)
      .def("add_differences", &Rows::add_differences, nb::kw_only(), array("coefficient"), array("total"), "begin"_a,
           "end"_a, release)
      .def("sum_distances", &Rows::sum_distances, nb::kw_only(), array("sums"), "begin"_a, "end"_a, release);
  if constexpr (std::is_same_v<T, double>)
    rows.def("sum_signs", &Rows::sum_signs, nb::kw_only(), array("coefficient"), array("sums"), "begin"_a, "end"_a,
             release);
}

template <class T> void bind_lists(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("add_listed_differences", &py_add_listed_differences<T>, nb::kw_only(), array("rows"), "n_numeric"_a,
        array("query"), array("neighbor"), array("coefficient"), array("output_row"), array("total"), "first_feature"_a,
        "last_feature"_a, "begin"_a, "end"_a, release);
  m.def("pick_nearest", &py_pick_nearest<T>, nb::kw_only(), array("row"), array("ranked_distance"), array("codes"),
        "n_classes"_a, array("asked"), array("distance"), array("found"), array("lacking"), release);
  m.def("add_listed_sparse_differences", &py_add_listed_sparse_differences<T>, nb::kw_only(), array("start"),
        array("feature"), array("value"), array("query"), array("neighbor"), array("coefficient"), array("output_row"),
        array("total"), "begin"_a, "end"_a, release);
}

// The structs point into the arrays that are given to their constructors, so these are kept alive with them.
void bind_zones(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Zones>(m, "Zones")
      .def("__init__", made_by(&make_zones), nb::kw_only(), array("class_start"), array("hit_range"), array("factor"),
           array("weight"), "threshold"_a, "far"_a, "tolerance"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>());
  nb::class_<ZoneJob>(m, "ZoneRows")
      .def("__init__", made_by(&make_zone_rows), nb::kw_only(), array("rows"), array_or_none("packed"),
           array_or_none("row_sums"), array_or_none("distance"), array_or_none("order"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def("compute_distances", &py_compute_zone_distances, nb::kw_only(), array("distance"), "begin"_a, "end"_a,
           release)
      .def("add_differences", &py_add_zone_differences, nb::kw_only(), "zones"_a, array("total"), "begin"_a, "end"_a,
           release);
  nb::class_<SparseZoneJob>(m, "SparseZoneRows")
      .def("__init__", made_by(&make_sparse_zone_rows), nb::kw_only(), array("start"), array("feature"), array("value"),
           array("column_start"), array("column_row"), array("column_value"), array("norm"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(),
           nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>())
      .def("add_differences", &py_add_sparse_zone_differences, nb::kw_only(), "zones"_a, array("total"),
           array("coefficient_sums"), "begin"_a, "end"_a, release);
}

void bind_simba(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<MarginRows>(m, "MarginRows")
      .def("__init__", made_by(&make_margin_rows), nb::kw_only(), array("rows"), array("codes"),
           array("missing_distance"), array("nominal"), array("center"), array("levels"), array("unit"),
           array("rounding"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>(),
           nb::keep_alive<1, 9>())
      .def("pack", &py_pack_margins, nb::kw_only(), "blocks"_a, "begin"_a, "end"_a, release)
      .def("take_steps", &py_take_simba_steps, nb::kw_only(), "blocks"_a, array("order"), array("step"), array("w"),
           "begin"_a, "end"_a, release);
  nb::class_<MarginBlocks> blocks(m, "MarginBlocks");
  const auto bind_blocks = [&](auto make) {
    blocks.def("__init__", made_by(make), nb::kw_only(), array("packed"), array("ids"), array("block_code"),
               array("feature_order"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
               nb::keep_alive<1, 5>());
  };
  bind_blocks(&make_margin_blocks<float>);
  bind_blocks(&make_margin_blocks<std::int16_t>);
}

}  // namespace

void bind_weighers(nb::module_& m) {
  using namespace nb::literals;
  bind_packed_rows<float>(m, "PackedRowsFloat32");
  bind_packed_rows<double>(m, "PackedRowsFloat64");
  bind_lists<float>(m);
  bind_lists<double>(m);
  bind_zones(m);
  bind_simba(m);
  m.def("count_between", &py_count_between, nb::kw_only(), array("limits"), array("values"), array("counts"),
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace wb::bindings

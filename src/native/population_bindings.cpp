// Bindings of the evolutionary search: leave-one-out predictions of many individuals, and random subsets.
#include "bindings.hpp"
#include "population_lists.hpp"
#include "subset.hpp"

namespace wb::bindings {

namespace {

// What rows contribute to a prediction: codes of classes, which must be in range, or numeric targets.
template <class V> void require_values(const Array<V, 1>& values, int64_t n, int64_t n_classes, int64_t k) {
  require(dim(values, 0) == n && k >= 1, "values: one per row; k: at least 1");
  if constexpr (std::is_integral_v<V>)
    for (size_t i = 0; i < values.size(); ++i)
      require(0 <= values.data()[i] && values.data()[i] < n_classes, "values: class out of range");
}

template <class T>
void set_values(PopulationJob<T>& job, const Array<int32_t, 1>& codes, double, const Output<int32_t, 2>& predicted) {
  job.codes = codes.data();
  job.predicted = predicted.data();
}

template <class T>
void set_values(PopulationJob<T>& job, const Array<double, 1>& targets, double otherwise,
                const Output<double, 2>& predicted) {
  job.targets = targets.data();
  job.otherwise = otherwise;
  job.numbers = predicted.data();
}

// Instances and features of every individual, and the queries, as `predict_by_scan` and `predict_from_matrix` take
// them.
template <class T, class V>
void require_individuals(const Optional<T, 2>& scales, const Optional<bool, 2>& kept, const Array<int64_t, 1>& query,
                         const Output<V, 2>& predicted, int64_t n, int64_t first, int64_t last, int64_t begin,
                         int64_t end) {
  const int64_t count = dim(predicted, 0);
  require(!scales || (dim(*scales, 0) == count && dim(*scales, 1) == n), "scales: (n_individuals, n)");
  require(!kept || (dim(*kept, 0) == count && dim(*kept, 1) == n), "kept: (n_individuals, n)");
  require(predicted.shape(1) == query.shape(0), "predicted: one column per query is needed");
  require_range(first, last, count);
  require_range(begin, end, dim(query, 0));
  for (int64_t i = begin; i < end; ++i)
    require(0 <= query.data()[i] && query.data()[i] < n, "query: row outside the data");
}

bool is_every_row(const Array<int64_t, 1>& query, int64_t n) {
  for (int64_t i = 0; i < dim(query, 0); ++i)
    if (query.data()[i] != i) return false;
  return dim(query, 0) == n;
}

template <class T, class V>
void py_predict_by_scan(Array<T, 2> rows, Array<T, 2> centered, Array<T, 1> missing_distance, int64_t n_numeric,
                        bool missing, Array<V, 1> values, V otherwise, int64_t n_classes, int64_t k,
                        Optional<T, 3> weights, Optional<T, 2> scales, Optional<bool, 2> kept,
                        Optional<int32_t, 2> orders, Array<int32_t, 2> guesses, Optional<float, 2> columns,
                        Optional<double, 1> half_range, Array<int64_t, 1> query, Output<V, 2> predicted, int64_t first,
                        int64_t last, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1), sets = weights ? dim(*weights, 1) : 1;
  require(dim(centered, 0) == n && dim(centered, 1) == m, "centered: the shape of rows is needed");
  require_features(missing_distance, n_numeric, m);
  require(!weights || (dim(*weights, 0) == dim(predicted, 0) && dim(*weights, 2) == m &&
                       (sets == 1 || (sets == n_classes && std::is_integral_v<V>))),
          "weights: (n_individuals, 1 or n_classes, m) is needed");
  require_individuals(scales, kept, query, predicted, n, first, last, begin, end);
  require_values(values, n, n_classes, k);
  require(!orders || (dim(*orders, 0) == m && dim(*orders, 1) == n), "orders: (m, n) is needed");
  require(dim(guesses, 0) == n, "guesses: one list per row is needed");
  for (size_t i = 0; i < guesses.size(); ++i)
    require(0 <= guesses.data()[i] && guesses.data()[i] < n, "guesses: row outside");
  require(!columns || (half_range && dim(*columns, 0) == m && dim(*columns, 1) == n && dim(*half_range, 0) == m),
          "columns: (m, n) with half_range: (m,) is needed");
  require(!columns || (!missing && n_numeric == m), "columns: all features must be numbers, none missing");
  PopulationJob<T> job{
      .rows = rows.data(),
      .centered = centered.data(),
      .n = n,
      .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
      .n_classes = n_classes,
      .k = k,
      .weights = data_or_null(weights),
      .n_sets = sets,
      .scales = data_or_null(scales),
      .kept = data_or_null(kept),
      .query = query.data(),
      .n_queries = dim(query, 0),
      .all_rows = is_every_row(query, n),
      .orders = data_or_null(orders),
      .guesses = guesses.data(),
      .n_guesses = dim(guesses, 1),
      .columns = data_or_null(columns),
      .half_range = data_or_null(half_range),
  };
  set_values(job, values, double(otherwise), predicted);
  if (begin == end) return;
  level->of<T>().predict_by_scan[missing](job, first, last, begin, end);
}

template <class T>
void py_compute_squared_distances(Array<T, 2> rows, Array<T, 1> missing_distance, int64_t n_numeric, bool missing,
                                  Array<int64_t, 1> query, Output<T, 2> square, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1), lanes = BLOCK_LANES<T>;
  require_features(missing_distance, n_numeric, m);
  require_range(begin, end, n);
  require(dim(square, 0) == end - begin && dim(square, 1) == (n + lanes - 1) / lanes * lanes,
          "square: one row per row of the range, whole blocks of lanes");
  require(is_every_row(query, n), "query: all rows in order");
  // One individual that selects everything; without weights nothing is folded, so `centered` is not read.
  const PopulationJob<T> job{
      .rows = rows.data(),
      .centered = rows.data(),
      .n = n,
      .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
      .query = query.data(),
      .n_queries = n,
      .all_rows = true,
  };
  level->of<T>().compute_squared_distances[missing](job, square.data(), begin, end);
}

template <class T, class V>
void py_predict_from_matrix(Array<T, 2> square, Array<V, 1> values, V otherwise, int64_t n_classes, int64_t k,
                            Optional<T, 2> scales, Optional<bool, 2> kept, Array<int64_t, 1> query,
                            Output<V, 2> predicted, int64_t first, int64_t last, int64_t begin, int64_t end) {
  const int64_t n = dim(square, 0), stride = dim(square, 1);
  require(stride >= n && stride % BLOCK_LANES<T> == 0, "square: whole blocks of lanes are needed");
  require_individuals(scales, kept, query, predicted, n, first, last, begin, end);
  require_values(values, n, n_classes, k);
  PopulationJob<T> job{
      .n = n,
      .n_classes = n_classes,
      .k = k,
      .scales = data_or_null(scales),
      .kept = data_or_null(kept),
      .query = query.data(),
      .n_queries = dim(query, 0),
  };
  set_values(job, values, double(otherwise), predicted);
  level->of<T>().predict_from_matrix(job, square.data(), stride, first, last, begin, end);
}

template <class V>
void py_predict_from_lists(Array<int32_t, 2> lists, Array<uint64_t, 2> selected, Array<V, 1> values, V otherwise,
                           V unlisted, int64_t n_classes, int64_t k, Output<V, 2> predicted, int64_t begin,
                           int64_t end) {
  const int64_t n = dim(lists, 0), width = dim(lists, 1), count = dim(predicted, 0);
  require(dim(selected, 0) == n && dim(selected, 1) == (count + 63) / 64, "selected: (n, n_individuals / 64)");
  require(dim(predicted, 1) == n, "predicted: one per row");
  require_range(begin, end, n);
  require_values(values, n, n_classes, k);
  const NeighborListJob<V> job{
      .lists = lists.data(),
      .width = width,
      .complete = width == n - 1,
      .selected = selected.data(),
      .n_words = dim(selected, 1),
      .values = values.data(),
      .otherwise = otherwise,
      .unlisted = unlisted,
      .n = n,
      .n_individuals = count,
      .n_classes = n_classes,
      .k = k,
      .predicted = predicted.data(),
  };
  predict_from_lists(job, begin, end);
}

template <class V>
void py_predict_from_ranks(Array<int16_t, 3> ranks, int code_bits, Array<int32_t, 1> selected, Array<int64_t, 1> start,
                           Array<V, 1> values, V otherwise, Output<V, 2> predicted, int64_t begin, int64_t end) {
  const int64_t n = dim(ranks, 1), count = dim(predicted, 0), total = dim(selected, 0);
  require(n <= NO_RANK && dim(ranks, 0) == (n + RANKS_AT_ONCE - 1) / RANKS_AT_ONCE && dim(ranks, 2) == RANKS_AT_ONCE,
          "ranks: (n_blocks, n, 64) is needed");
  require(begin % RANKS_AT_ONCE == 0, "begin: the first row of a block");
  require(dim(values, 0) == n && dim(predicted, 1) == n, "values, predicted: one per row");
  require(0 <= code_bits && code_bits < (std::is_integral_v<V> ? 15 : 1), "code_bits: 0 to 14, for classes only");
  require(dim(start, 0) == count + 1 && start.data()[0] == 0 && start.data()[count] == total,
          "start: one per individual, and the end");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t selects = start.data()[i + 1] - start.data()[i];
    require(0 <= selects && selects <= n, "start: ascending, at most n rows each");  // places are 16 bits wide
  }
  for (int64_t s = 0; s < total; ++s)
    require(0 <= selected.data()[s] && selected.data()[s] < n, "selected: row outside");
  require_range(begin, end, n);
  const RankJob<V> job{
      .ranks = ranks.data(),
      .selected = selected.data(),
      .start = start.data(),
      .code_bits = code_bits,
      .values = values.data(),
      .otherwise = otherwise,
      .n = n,
      .n_individuals = count,
      .predicted = predicted.data(),
  };
  if constexpr (std::is_integral_v<V>) level->predict_classes_from_ranks(job, begin, end);
  else level->predict_numbers_from_ranks(job, begin, end);
}

void py_draw_subsets(Array<bool, 2> mask, Array<int64_t, 1> size, Array<double, 1> uniform, Output<bool, 2> chosen) {
  const int64_t count = dim(mask, 0), length = dim(mask, 1);
  require(dim(size, 0) == count && chosen.shape(0) == mask.shape(0) && chosen.shape(1) == mask.shape(1),
          "size, chosen: one per row, the shape of mask");
  int64_t candidates = 0;
  for (size_t i = 0; i < mask.size(); ++i) candidates += mask.data()[i];
  require(dim(uniform, 0) > candidates, "uniform: one number per true place, and one more, is needed");
  draw_subsets(mask.data(), count, length, size.data(), uniform.data(), chosen.data());
}

void py_count_true(Array<bool, 2> mask, Output<int64_t, 1> counts) {
  const int64_t length = dim(mask, 1);
  require(counts.shape(0) == mask.shape(0), "counts: one per row is needed");
  for (int64_t row = 0; row < dim(mask, 0); ++row) {
    const bool* bits = mask.data() + row * length;
    counts.data()[row] = count_places(length, [=](int64_t j) { return bits[j]; });
  }
}

void py_count_differences(Array<bool, 2> one, Array<bool, 2> other, Output<int64_t, 1> counts) {
  const int64_t length = dim(one, 1);
  require(one.shape(0) == other.shape(0) && one.shape(1) == other.shape(1) && counts.shape(0) == one.shape(0),
          "other, counts: the shape of one, one per row");
  for (int64_t row = 0; row < dim(one, 0); ++row)
    counts.data()[row] = count_differences(one.data() + row * length, other.data() + row * length, length);
}

void py_cross_halves(Array<bool, 2> target, Array<bool, 2> partner, Array<bool, 1> other, Array<double, 1> uniform,
                     Output<bool, 2> child) {
  const int64_t count = dim(target, 0), length = dim(target, 1);
  const auto same_shape = [&](auto& bits) { return dim(bits, 0) == count && dim(bits, 1) == length; };
  require(same_shape(partner) && same_shape(child) && dim(other, 0) == count,
          "partner, child, other: the shape of target, one per row");
  const int64_t differing = count_differences(target.data(), partner.data(), count * length);
  require(dim(uniform, 0) >= differing, "uniform: one number per differing bit is needed");
  cross_halves(target.data(), partner.data(), count, length, other.data(), uniform.data(), child.data());
}

// V is what is predicted: int32 codes of classes, or numeric targets in double.
template <class T, class V> void bind_predictions(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("predict_by_scan", &py_predict_by_scan<T, V>, nb::kw_only(), array("rows"), array("centered"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, array("values"), "otherwise"_a, "n_classes"_a, "k"_a,
        array_or_none("weights"), array_or_none("scales"), array_or_none("kept"), array_or_none("orders"),
        array("guesses"), array("columns").none(), array("half_range").none(), array("query"), array("predicted"),
        "first"_a, "last"_a, "begin"_a, "end"_a, release);
  m.def("predict_from_matrix", &py_predict_from_matrix<T, V>, nb::kw_only(), array("square"), array("values"),
        "otherwise"_a, "n_classes"_a, "k"_a, array_or_none("scales"), array_or_none("kept"), array("query"),
        array("predicted"), "first"_a, "last"_a, "begin"_a, "end"_a, release);
}

template <class V> void bind_lists(nb::module_& m) {
  using namespace nb::literals;
  m.def("predict_from_lists", &py_predict_from_lists<V>, nb::kw_only(), array("lists"), array("selected"),
        array("values"), "otherwise"_a, "unlisted"_a, "n_classes"_a, "k"_a, array("predicted"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("predict_from_ranks", &py_predict_from_ranks<V>, nb::kw_only(), array("ranks"), "code_bits"_a,
        array("selected"), array("start"), array("values"), "otherwise"_a, array("predicted"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

template <class T> void bind_for(nb::module_& m) {
  using namespace nb::literals;
  bind_predictions<T, int32_t>(m);
  bind_predictions<T, double>(m);
  m.def("compute_squared_distances", &py_compute_squared_distances<T>, nb::kw_only(), array("rows"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, array("query"), array("square"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_population(nb::module_& m) {
  using namespace nb::literals;
  bind_for<float>(m);
  bind_for<double>(m);
  bind_lists<int32_t>(m);
  bind_lists<double>(m);
  m.def("count_true", &py_count_true, nb::kw_only(), array("mask"), array("counts"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("count_differences", &py_count_differences, nb::kw_only(), array("one"), array("other"), array("counts"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("cross_halves", &py_cross_halves, nb::kw_only(), array("target"), array("partner"), array("other"),
        array("uniform"), array("child"), nb::call_guard<nb::gil_scoped_release>());
  m.def("draw_subsets", &py_draw_subsets, nb::kw_only(), array("mask"), array("size"), array("uniform"),
        array("chosen"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace wb::bindings

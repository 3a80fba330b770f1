// Python face of the population primitives. Part of bindings.cpp, after its helpers.

namespace {

void require_codes(const int32_t* codes, int64_t n, int64_t n_classes) {
  for (int64_t i = 0; i < n; ++i) require(0 <= codes[i] && codes[i] < n_classes, "codes: class out of range");
}

bool is_every_row(const int64_t* query, int64_t count, int64_t n) {
  for (int64_t i = 0; i < count; ++i)
    if (query[i] != i) return false;
  return count == n;
}

template <class T>
void py_population_scan(Array<T, 2> rows, Array<T, 2> centered, Array<T, 1> gap, int64_t n_numeric, bool missing,
                        Array<int32_t, 1> codes, int64_t n_classes, int64_t k, Optional<T, 3> weights, Optional<T, 2> scales,
                        Optional<bool, 2> kept, Optional<int32_t, 2> orders, Array<int32_t, 2> guesses,
                        Array<int64_t, 1> query,
                        Output<int32_t, 2> predicted, int64_t first, int64_t last, int64_t begin, int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1)), count = int64_t(predicted.shape(0));
  const int64_t sets = weights ? int64_t(weights->shape(1)) : 1;
  require(int64_t(centered.shape(0)) == n && int64_t(centered.shape(1)) == m, "centered: the shape of rows is needed");
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  require(int64_t(codes.shape(0)) == n && k >= 1, "codes: one per row; k: at least 1");
  require(!weights || (int64_t(weights->shape(0)) == count && int64_t(weights->shape(2)) == m && (sets == 1 || sets == n_classes)),
          "weights: (n_individuals, 1 or n_classes, m) is needed");
  require(!scales || (int64_t(scales->shape(0)) == count && int64_t(scales->shape(1)) == n), "scales: (n_individuals, n)");
  require(!kept || (int64_t(kept->shape(0)) == count && int64_t(kept->shape(1)) == n), "kept: (n_individuals, n)");
  require(predicted.shape(1) == query.shape(0), "predicted: one column per query is needed");
  require_range(first, last, count);
  require_range(begin, end, int64_t(query.shape(0)));
  require_codes(codes.data(), n, n_classes);
  require(!orders || (int64_t(orders->shape(0)) == m && int64_t(orders->shape(1)) == n), "orders: (m, n) is needed");
  require(int64_t(guesses.shape(0)) == n, "guesses: one list per row is needed");
  for (size_t i = 0; i < guesses.size(); ++i) require(0 <= guesses.data()[i] && guesses.data()[i] < n, "guesses: row outside");
  for (int64_t i = begin; i < end; ++i) require(0 <= query.data()[i] && query.data()[i] < n, "query: row outside the data");
  const wb::PopulationJob<T> job{rows.data(), centered.data(), n, {gap.data(), n_numeric, m}, codes.data(), n_classes, k,
                                 data_or_null(weights), sets, data_or_null(scales), data_or_null(kept), query.data(),
                                 int64_t(query.shape(0)), is_every_row(query.data(), int64_t(query.shape(0)), n),
                                 data_or_null(orders), guesses.data(), int64_t(guesses.shape(1)), predicted.data()};
  if (begin == end) return;
  level->of<T>().population_scan[missing](job, first, last, begin, end);
}

template <class T>
void py_squared_distances(Array<T, 2> rows, Array<T, 1> gap, int64_t n_numeric, bool missing, Array<int64_t, 1> query,
                          Output<T, 2> square, int64_t begin, int64_t end) {
  const int64_t n = int64_t(rows.shape(0)), m = int64_t(rows.shape(1)), lanes = wb::BLOCK_LANES<T>;
  require(int64_t(gap.shape(0)) == m && 0 <= n_numeric && n_numeric <= m, "gap: one per feature is needed");
  require(int64_t(square.shape(0)) == n && int64_t(square.shape(1)) == (n + lanes - 1) / lanes * lanes,
          "square: one row per row, whole blocks of lanes");
  require(int64_t(query.shape(0)) == n, "query: all rows in order");
  require(is_every_row(query.data(), n, n), "query: all rows in order");
  require_range(begin, end, n);
  const wb::PopulationJob<T> job{rows.data(), rows.data(), n, {gap.data(), n_numeric, m}, nullptr, 1, 1, nullptr, 1, nullptr,
                                 nullptr, query.data(), n, true, nullptr, nullptr, 0, nullptr};
  level->of<T>().squared_distances[missing](job, square.data(), begin, end);
}

template <class T>
void py_population_matrix(Array<T, 2> square, Array<int32_t, 1> codes, int64_t n_classes, int64_t k, Optional<T, 2> scales,
                          Optional<bool, 2> kept, Array<int64_t, 1> query, Output<int32_t, 2> predicted, int64_t first,
                          int64_t last, int64_t begin, int64_t end) {
  const int64_t n = int64_t(square.shape(0)), stride = int64_t(square.shape(1)), count = int64_t(predicted.shape(0));
  require(stride >= n && stride % wb::BLOCK_LANES<T> == 0, "square: whole blocks of lanes are needed");
  require(int64_t(codes.shape(0)) == n && k >= 1, "codes: one per row; k: at least 1");
  require(!scales || (int64_t(scales->shape(0)) == count && int64_t(scales->shape(1)) == n), "scales: (n_individuals, n)");
  require(!kept || (int64_t(kept->shape(0)) == count && int64_t(kept->shape(1)) == n), "kept: (n_individuals, n)");
  require(predicted.shape(1) == query.shape(0), "predicted: one column per query is needed");
  require_range(first, last, count);
  require_range(begin, end, int64_t(query.shape(0)));
  require_codes(codes.data(), n, n_classes);
  for (int64_t i = begin; i < end; ++i) require(0 <= query.data()[i] && query.data()[i] < n, "query: row outside the data");
  const wb::PopulationJob<T> job{nullptr, nullptr, n, {nullptr, 0, 0}, codes.data(), n_classes, k, nullptr, 1,
                                 data_or_null(scales), data_or_null(kept), query.data(), int64_t(query.shape(0)),
                                 false, nullptr, nullptr, 0, predicted.data()};
  level->of<T>().population_matrix(job, square.data(), stride, first, last, begin, end);
}

void py_population_walk(Array<int32_t, 2> lists, Array<uint64_t, 2> selected, Array<int32_t, 1> codes, int64_t n_classes,
                        int64_t k, Output<int32_t, 2> predicted, int64_t begin, int64_t end) {
  const int64_t n = int64_t(lists.shape(0)), width = int64_t(lists.shape(1)), count = int64_t(predicted.shape(0));
  require(int64_t(selected.shape(0)) == n && int64_t(selected.shape(1)) == (count + 63) / 64, "selected: (n, n_individuals / 64)");
  require(int64_t(codes.shape(0)) == n && int64_t(predicted.shape(1)) == n && k >= 1, "codes, predicted: one per row");
  require_range(begin, end, n);
  require_codes(codes.data(), n, n_classes);
  wb::population_walk({lists.data(), width, width == n - 1, selected.data(), int64_t(selected.shape(1)), codes.data(), n, count,
                       n_classes, k, predicted.data()},
                      begin, end);
}

void py_random_subset(Array<bool, 2> mask, Array<int64_t, 1> size, Array<double, 1> uniform, Output<bool, 2> chosen) {
  const int64_t count = int64_t(mask.shape(0)), length = int64_t(mask.shape(1));
  require(int64_t(size.shape(0)) == count && chosen.shape(0) == mask.shape(0) && chosen.shape(1) == mask.shape(1),
          "size, chosen: one per row, the shape of mask");
  int64_t candidates = 0;
  for (size_t i = 0; i < mask.size(); ++i) candidates += mask.data()[i];
  require(int64_t(uniform.shape(0)) > candidates, "uniform: one number per true place, and one more, is needed");
  wb::random_subset(mask.data(), count, length, size.data(), uniform.data(), chosen.data());
}

template <class T> void bind_population(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("population_scan", &py_population_scan<T>, "rows"_a.noconvert(), "centered"_a.noconvert(), "gap"_a.noconvert(),
        "n_numeric"_a, "missing"_a, "codes"_a.noconvert(), "n_classes"_a, "k"_a, "weights"_a.noconvert().none(),
        "scales"_a.noconvert().none(), "kept"_a.noconvert().none(), "orders"_a.noconvert().none(),
        "guesses"_a.noconvert(), "query"_a.noconvert(),
        "predicted"_a.noconvert(), "first"_a, "last"_a, "begin"_a, "end"_a, release);
  m.def("squared_distances", &py_squared_distances<T>, "rows"_a.noconvert(), "gap"_a.noconvert(), "n_numeric"_a, "missing"_a,
        "query"_a.noconvert(), "square"_a.noconvert(), "begin"_a, "end"_a, release);
  m.def("population_matrix", &py_population_matrix<T>, "square"_a.noconvert(), "codes"_a.noconvert(), "n_classes"_a, "k"_a,
        "scales"_a.noconvert().none(), "kept"_a.noconvert().none(), "query"_a.noconvert(), "predicted"_a.noconvert(),
        "first"_a, "last"_a, "begin"_a, "end"_a, release);
}

void bind_walk(nb::module_& m) {
  using namespace nb::literals;
  m.def("random_subset", &py_random_subset, "mask"_a.noconvert(), "size"_a.noconvert(), "uniform"_a.noconvert(),
        "chosen"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
  m.def("population_walk", &py_population_walk, "lists"_a.noconvert(), "selected"_a.noconvert(), "codes"_a.noconvert(),
        "n_classes"_a, "k"_a, "predicted"_a.noconvert(), "begin"_a, "end"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

// Bindings of the evolutionary search: leave-one-out predictions of many individuals, and random subsets.
#include "bindings.hpp"
#include "population_lists.hpp"
#include "subset.hpp"

namespace wb::bindings {

namespace {

// The rows of a search and what they contribute to predictions, checked once for all calls. Predictions are classes
// (int32), or numbers (double) if there are numeric targets.
template <class T> class PopulationTable {
 public:
  using Predicted = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

  PopulationTable(Array<T, 2> rows, Array<T, 2> centered, Array<T, 1> missing_distance, int64_t n_numeric, bool missing,
                  Array<int32_t, 1> codes, Optional<double, 1> targets, double otherwise, int64_t n_classes, int64_t k,
                  Optional<float, 2> columns, Optional<double, 1> half_range)
      : missing_(missing) {
    const int64_t n = dim(rows, 0), m = dim(rows, 1);
    require(dim(centered, 0) == n && dim(centered, 1) == m, "centered: the shape of rows is needed");
    require_features(missing_distance, n_numeric, m);
    require(dim(codes, 0) == n && (!targets || dim(*targets, 0) == n), "codes, targets: one per row is needed");
    require(k >= 1, "k: at least 1 is needed");
    for (int64_t i = 0; i < n; ++i)
      require(0 <= codes.data()[i] && codes.data()[i] < n_classes, "codes: class out of range");
    require(!columns || (half_range && dim(*columns, 0) == m && dim(*columns, 1) == n && dim(*half_range, 0) == m),
            "columns: (m, n) with half_range: (m,) is needed");
    require(!columns || (!missing && n_numeric == m), "columns: all features must be numbers, none missing");
    job_ = {
        .rows = rows.data(),
        .centered = centered.data(),
        .n = n,
        .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
        .codes = targets ? nullptr : codes.data(),
        .targets = data_or_null(targets),
        .otherwise = otherwise,
        .n_classes = n_classes,
        .k = k,
        .columns = data_or_null(columns),
        .half_range = data_or_null(half_range),
    };
  }

  // Predicts the rows `query` [begin, end) for the individuals [first, last).
  void predict_by_scan(Optional<T, 3> weights, Optional<T, 2> scales, Optional<bool, 2> kept, Array<int64_t, 1> query,
                       Predicted predicted, int64_t first, int64_t last, int64_t begin, int64_t end) const {
    PopulationJob<T> job = make_job(scales, kept, predicted, dim(query, 0));
    const int64_t sets = weights ? dim(*weights, 1) : 1;
    require(!weights || (dim(*weights, 0) == dim(predicted, 0) && dim(*weights, 2) == job.features.count &&
                         (sets == 1 || (sets == job.n_classes && !job.targets))),
            "weights: (n_individuals, 1 or n_classes, m) is needed");
    require_range(first, last, dim(predicted, 0));
    require_range(begin, end, dim(query, 0));
    job.weights = data_or_null(weights);
    job.n_sets = sets;
    job.query = query.data();
    job.all_rows = dim(query, 0) == job.n;
    for (int64_t i = 0; i < dim(query, 0); ++i) {
      require(0 <= query.data()[i] && query.data()[i] < job.n, "query: row outside the data");
      job.all_rows &= query.data()[i] == i;
    }
    if (begin < end) level->of<T>().predict_by_scan[missing_](job, first, last, begin, end);
  }

  // Predicts the rows [begin, end) for all individuals from the distances of all pairs of rows.
  void predict_from_matrix(Array<T, 2> square, Optional<T, 2> scales, Optional<bool, 2> kept, Predicted predicted,
                           int64_t begin, int64_t end) const {
    const PopulationJob<T> job = make_job(scales, kept, predicted, job_.n);
    const int64_t stride = dim(square, 1);
    require(dim(square, 0) == job.n && stride >= job.n && stride % BLOCK_LANES<T> == 0,
            "square: one row per row, whole blocks of lanes");
    require_range(begin, end, job.n);
    level->of<T>().predict_from_matrix(job, square.data(), stride, dim(predicted, 0), begin, end);
  }

  // Predicts the rows [begin, end) for all individuals from sorted neighbour lists.
  void predict_from_lists(Array<int32_t, 2> lists, Array<uint64_t, 2> selected, Predicted predicted, int64_t begin,
                          int64_t end) const {
    const PopulationJob<T> job = make_job(std::nullopt, std::nullopt, predicted, job_.n);
    require(dim(lists, 0) == job.n && dim(selected, 0) == job.n && dim(selected, 1) == (dim(predicted, 0) + 63) / 64,
            "lists, selected: one per row, one word per 64 individuals");
    require_range(begin, end, job.n);
    const auto predict = [&]<class V>(const V* values, V otherwise, V unlisted, V* to) {
      const NeighborListJob<V> list_job{
          .lists = lists.data(),
          .width = dim(lists, 1),
          .selected = selected.data(),
          .n_words = dim(selected, 1),
          .values = values,
          .otherwise = otherwise,
          .unlisted = unlisted,
          .n = job.n,
          .n_individuals = dim(predicted, 0),
          .n_classes = job.n_classes,
          .k = job.k,
          .predicted = to,
      };
      wb::predict_from_lists(list_job, begin, end);
    };
    if (job.targets) predict(job.targets, job.otherwise, std::numeric_limits<double>::infinity(), job.numbers);
    else predict(job.codes, NO_PREDICTION, UNLISTED, job.predicted);
  }

 private:
  // The job with instances and outputs of the individuals of one call.
  PopulationJob<T> make_job(const Optional<T, 2>& scales, const Optional<bool, 2>& kept, const Predicted& predicted,
                            int64_t n_queries) const {
    PopulationJob<T> job = job_;
    const int64_t count = dim(predicted, 0);
    require(!scales || (dim(*scales, 0) == count && dim(*scales, 1) == job.n), "scales: (n_individuals, n)");
    require(!kept || (dim(*kept, 0) == count && dim(*kept, 1) == job.n), "kept: (n_individuals, n)");
    require(dim(predicted, 1) == n_queries, "predicted: one column per row is needed");
    require(predicted.dtype() == (job.targets ? nb::dtype<double>() : nb::dtype<int32_t>()),
            "predicted: float64 is needed for numeric targets, int32 for classes");
    job.scales = data_or_null(scales);
    job.kept = data_or_null(kept);
    job.n_queries = n_queries;
    if (job.targets) job.numbers = static_cast<double*>(predicted.data());
    else job.predicted = static_cast<int32_t*>(predicted.data());
    return job;
  }

  bool missing_;
  PopulationJob<T> job_;
};

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

template <class T> void bind_table(nb::module_& m, const char* name) {
  using namespace nb::literals;
  using Table = PopulationTable<T>;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Table>(m, name)
      // The table points into its array arguments, which are numbers 2, 3, 4, 7, 8, 12 and 13 after itself.
      .def(nb::init<Array<T, 2>, Array<T, 2>, Array<T, 1>, int64_t, bool, Array<int32_t, 1>, Optional<double, 1>,
                    double, int64_t, int64_t, Optional<float, 2>, Optional<double, 1>>(),
           nb::kw_only(), array("rows"), array("centered"), array("missing_distance"), "n_numeric"_a, "missing"_a,
           array("codes"), array_or_none("targets"), "otherwise"_a, "n_classes"_a, "k"_a, array_or_none("columns"),
           array_or_none("half_range"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>())
      .def("predict_by_scan", &Table::predict_by_scan, nb::kw_only(), array_or_none("weights"), array_or_none("scales"),
           array_or_none("kept"), array("query"), array("predicted"), "first"_a, "last"_a, "begin"_a, "end"_a, release)
      .def("predict_from_matrix", &Table::predict_from_matrix, nb::kw_only(), array("square"), array_or_none("scales"),
           array_or_none("kept"), array("predicted"), "begin"_a, "end"_a, release)
      .def("predict_from_lists", &Table::predict_from_lists, nb::kw_only(), array("lists"), array("selected"),
           array("predicted"), "begin"_a, "end"_a, release);
}

}  // namespace

void bind_population(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  bind_table<float>(m, "PopulationTableFloat32");
  bind_table<double>(m, "PopulationTableFloat64");
  m.def("count_true", &py_count_true, nb::kw_only(), array("mask"), array("counts"), release);
  m.def("count_differences", &py_count_differences, nb::kw_only(), array("one"), array("other"), array("counts"),
        release);
  m.def("cross_halves", &py_cross_halves, nb::kw_only(), array("target"), array("partner"), array("other"),
        array("uniform"), array("child"), release);
}

}  // namespace wb::bindings

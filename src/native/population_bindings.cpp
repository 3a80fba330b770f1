// Bindings of the evolutionary search: leave-one-out predictions of many individuals, and crossover of bits.
#include "bindings.hpp"
#include "crossover.hpp"
#include "population_lists.hpp"

namespace wb::bindings {

namespace {

template <class T> void check_table(const PopulationTable<T>& table) {
  const int64_t n = table.rows.size(), m = table.rows.width();
  require(fits(table.centered, n, m), "centered: the shape of rows is needed");
  require_missing_distance(table.missing_distance, table.n_numeric, m);
  require(table.codes.size() == n && fits(table.targets, n), "codes, targets: one per row is needed");
  require(table.k >= 1, "k: at least 1 is needed");
  require_rows(table.codes, table.n_classes, "codes: class out of range");
  require(!table.columns || (fits(table.columns, m, n) && table.half_range && table.half_range.size() == m),
          "columns: (m, n) with half_range: (m,) is needed");
  require(!table.columns || (!table.missing && table.n_numeric == m),
          "columns: all features must be numbers, none missing");
}

// What individuals select, and where their predictions go. Returns how many there are.
template <class T> int64_t check_individuals(const PopulationJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size(), count = job.targets ? job.numbers.size() : job.predicted.size();
  require(bool(job.numbers) == bool(job.targets) && bool(job.predicted) != bool(job.numbers),
          "predicted, numbers: numbers for numeric targets, or else predicted is needed");
  require(fits(job.predicted, count, job.n_queries()) && fits(job.numbers, count, job.n_queries()),
          "predicted, numbers: one column per row is needed");
  require(fits(job.scales, count, n), "scales: (n_individuals, n)");
  require(fits(job.kept, count, n), "kept: (n_individuals, n)");
  require_range(begin, end, job.n_queries());
  return count;
}

template <class T> void run_predict_by_scan(const PopulationJob<T>& job, int64_t begin, int64_t end) {
  const int64_t count = check_individuals(job, begin, end), sets = job.n_sets();
  require(!job.weights || (job.weights.size() == count && job.weights.shape[2] == job.rows.width() &&
                           (sets == 1 || (sets == job.n_classes && !job.targets))),
          "weights: (n_individuals, 1 or n_classes, m) is needed");
  require_range(job.first, job.last, count);
  require_rows(job.query, job.rows.size(), "query: row outside the data");
  if (begin < end) level->of<T>().predict_by_scan[job.missing](job, begin, end);
}

template <class T> struct MatrixJob : PopulationJob<T> {
  Rows<T> square;  // (n, stride) distances of all pairs of rows
};

template <class T> void run_predict_from_matrix(MatrixJob<T> job, int64_t begin, int64_t end) {
  job.last = check_individuals(job, begin, end);
  require(job.square.size() == job.rows.size() && job.square.width() >= job.rows.size() &&
              job.square.width() % BLOCK_LANES<T> == 0,
          "square: one row per row, whole blocks of lanes");
  level->of<T>().predict_from_matrix(job, job.square, begin, end);
}

template <class T> struct ListsJob : PopulationJob<T> {
  Rows<int32_t> lists;
  Rows<uint64_t> selected;
};

template <class T> void run_predict_from_lists(const ListsJob<T>& job, int64_t begin, int64_t end) {
  const int64_t count = check_individuals(job, begin, end), n = job.rows.size();
  require(job.lists.size() == n && fits(job.selected, n, (count + 63) / 64),
          "lists, selected: one per row, one word per 64 individuals");
  const auto predict = [&]<class V>(const Values<V>& values, V otherwise, V unlisted, const View<V, 2>& predicted) {
    predict_from_lists(
        NeighborListJob<V>{job.lists, job.selected, values, otherwise, unlisted, job.n_classes, job.k, predicted},
        begin, end);
  };
  if (job.targets) predict(job.targets, job.otherwise, std::numeric_limits<double>::infinity(), job.numbers);
  else predict(job.codes, NO_PREDICTION, UNLISTED, job.predicted);
}

void run_cross_halves(const Crossover& job) {
  const int64_t count = job.target.size(), length = job.target.width();
  require(fits(job.partner, count, length) && fits(job.child, count, length) && job.other.size() == count,
          "partner, child, other: the shape of target, one per row");
  int64_t differing = 0;
  for (int64_t at = 0; at < count * length; ++at) differing += job.target.data[at] != job.partner.data[at];
  require(job.uniform.size() >= differing, "uniform: one number per differing bit is needed");
  cross_halves(job);
}

template <class T> void bind_table(nb::module_& m, const char* name) {
  def_object<PopulationTable<T>>(m, name, "make_population_table", check_table<T>, ARG(rows), ARG(centered),
                                 ARG(missing_distance), ARG(n_numeric), ARG(missing), ARG(codes), ARG_OR_NONE(targets),
                                 ARG(otherwise), ARG(n_classes), ARG(k), ARG_OR_NONE(columns), ARG_OR_NONE(half_range));
  const auto table = OBJECT("table", PopulationTable<T>);
  const auto predicted = ARG_OR_NONE(predicted);
  const auto numbers = ARG_OR_NONE(numbers);
  def_job<PopulationJob<T>>(m, "predict_by_scan", run_predict_by_scan<T>, table, ARG_OR_NONE(weights),
                            ARG_OR_NONE(scales), ARG_OR_NONE(kept), ARG_OR_NONE(query), predicted, numbers, ARG(first),
                            ARG(last));
  def_job<MatrixJob<T>>(m, "predict_from_matrix", run_predict_from_matrix<T>, table, ARG(square), ARG_OR_NONE(scales),
                        ARG_OR_NONE(kept), predicted, numbers);
  def_job<ListsJob<T>>(m, "predict_from_lists", run_predict_from_lists<T>, table, ARG(lists), ARG(selected), predicted,
                       numbers);
}

}  // namespace

void bind_population(nb::module_& m) {
  bind_table<float>(m, "PopulationTableFloat32");
  bind_table<double>(m, "PopulationTableFloat64");
  def_call<Crossover>(m, "cross_halves", run_cross_halves, ARG(target), ARG(partner), ARG(other), ARG(uniform),
                      ARG(child));
}

}  // namespace wb::bindings

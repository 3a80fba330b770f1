// Bindings of what the weighers need: distances and differences of all pairs of rows, the zones of the SURF family,
// differences of listed pairs, the steps of SIMBA, and counts for permutation tests.
#include "bindings.hpp"
#include "counting.hpp"
#include "margin_blocks.hpp"
#include "ranked.hpp"
#include "sparse.hpp"

namespace wb::bindings {

namespace {

template <class T> void check_packed_rows(const PackedRows<T>& job) {
  require_lanes(job.packed, BLOCK_LANES<T>);
  require(job.packed.width() == job.rows.width(), "packed: wrong shape");
  require(job.rows.size() <= job.n_lanes(), "packed: all rows are needed");
  require_missing_distance(job.missing_distance, job.n_numeric, job.rows.width());
}

// Numbers of all pairs of the rows [begin, end) with all packed rows.
template <class T, class V> void require_pairs(const PackedRows<T>& rows, const V& pairs, int64_t begin, int64_t end) {
  require(fits(pairs, end - begin, rows.n_lanes()), "distance, coefficient: (end - begin, lanes)");
}

template <class T> struct DistancesJob : PackedRows<T> {
  Rows<T> queries;  // (n_queries, m), or none: the packed rows
  bool queries_missing = false;
  int p = 2;
  View<T, 2> distance;
};

template <class T> void run_compute_distances(const DistancesJob<T>& job, int64_t begin, int64_t end) {
  const Rows<T>& queries = job.queries ? job.queries : job.rows;
  require_exponent(job.p);
  require(queries.width() == job.rows.width(), "queries: one column per feature is needed");
  require_range(begin, end, queries.size());
  require_pairs(job, job.distance, begin, end);
  const bool missing = job.missing || job.queries_missing;
  level->of<T>().compute_distances[job.p - 1][missing](job, queries, job.distance.data, begin, end);
}

template <class T> struct ZoneCoefficientsJob : PackedRows<T> {
  const Zones* zones = nullptr;
  View<T, 2> coefficient;
};

template <class T> void run_compute_zone_coefficients(const ZoneCoefficientsJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size();
  require(job.zones->size() == n && n >= 2, "zones: those of all rows are needed");
  require_range(begin, end, n);
  require_pairs(job, job.coefficient, begin, end);
  level->of<T>().compute_zone_coefficients[job.missing](job, *job.zones, job.coefficient.data, begin, end);
}

template <class T> struct DifferencesJob : PackedRows<T> {
  Rows<T> coefficient;
  View<double, 1> total;  // (m,)
};

template <class T> void run_add_differences(const DifferencesJob<T>& job, int64_t begin, int64_t end) {
  require(job.total.size() == job.rows.width(), "total: one per feature is needed");
  require_range(begin, end, job.rows.size());
  require_pairs(job, job.coefficient, begin, end);
  level->of<T>().add_differences[job.missing](job, job.coefficient.data, job.total.data, begin, end);
}

template <class T> struct DistanceSumsJob : PackedRows<T> {
  View<double, 1> sums;  // (n,)
};

template <class T> void run_sum_distances(const DistanceSumsJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size();
  require(job.sums.size() == n && job.n_numeric == job.rows.width() && !job.missing, "sums: one per row of numbers");
  require_range(begin, end, n);
  level->of<T>().sum_distances(job, job.sums.data, begin, end);
}

struct SignsJob : PackedRows<double> {
  Rows<double> coefficient;
  View<double, 2> sums;  // (end - begin, n_numeric)
};

void run_sum_signs(const SignsJob& job, int64_t begin, int64_t end) {
  require_range(begin, end, job.rows.size());
  require_pairs(job, job.coefficient, begin, end);
  require(fits(job.sums, end - begin, job.n_numeric), "sums: (end - begin, n_numeric)");
  level->sum_signs(job, job.coefficient.data, job.sums.data, begin, end);
}

void check_zones(const Zones& zones) {
  const int64_t n = zones.size(), classes = zones.class_start.size() - 1;
  require(classes >= 1 && fits(zones.factor, zones.numeric() ? 1 : classes, zones.numeric() ? 2 : classes),
          "class_start, factor: wrong shape");
  require(zones.hit_range.width() == 2 && (!zones.numeric() || (zones.hit_range.size() == n && classes == 1)),
          "hit_range: wrong shape");
  for (int64_t row = 0; row < zones.hit_range.size(); ++row) {
    const int64_t first = zones.hit_range[row][0], last = zones.hit_range[row][1];
    require(0 <= first && first <= last && last <= n, "hit_range: rows outside the data");
  }
  require(zones.class_start[0] == 0 && zones.class_start[classes] == n, "class_start: all rows are needed");
  require_ascending(zones.class_start, "class_start: descends");
}

void check_zone_rows(const ZoneRows& job) {
  constexpr int64_t LANES = BLOCK_LANES<double>;
  const int64_t n = job.rows.size(), stride = job.rows.width(), blocks = job.packed.size();
  require(n >= 2 && stride % VECTOR_LANES<double> == 0, "rows: two rows of whole vectors are needed");
  require(bool(job.packed) != bool(job.distance), "either packed or distance is needed");
  require(!job.packed || (blocks * LANES >= n && job.packed.shape[2] == LANES && stride >= job.packed.width()),
          "packed: all rows are needed");
  require(!job.packed || (job.row_sums && job.row_sums.size() == blocks * LANES), "row_sums: one per lane is needed");
  require(fits(job.distance, n, n), "distance: all pairs are needed");
  require(bool(job.order) == bool(job.distance) && fits(job.order, n), "order: all rows are needed");
  require_rows(job.order, n, "order: row outside the distances");
}

struct ZoneDistancesJob : ZoneRows {
  View<double, 2> distance_to_lanes;
};

void run_compute_zone_distances(const ZoneDistancesJob& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size(), width = job.distance_to_lanes.width();
  require(job.packed && job.distance_to_lanes.size() == n && width >= n && width % BLOCK_LANES<double> == 0,
          "distance: one column per lane of packed rows is needed");
  require_range(begin, end, n);
  level->compute_zone_distances(job, job.distance_to_lanes, begin, end);
}

struct ZoneDifferencesJob : ZoneRows {
  const Zones* zones = nullptr;
  View<double, 1> total;  // (stride,)
};

void run_add_zone_differences(const ZoneDifferencesJob& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size();
  require(job.zones->size() == n && job.total.size() == job.rows.width(), "zones, total: wrong shape");
  require_range(begin, end, n);
  level->add_zone_differences(job, *job.zones, job.total.data, begin, end);
}

void run_add_sparse_zone_differences(const SparseZoneJob& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows->size(), m = job.rows->width;
  require(n >= 2 && m >= 1 && job.columns->size() == m && job.columns->width == n && job.norm.size() == n,
          "rows, columns, norm: two rows, and one norm per row");
  require(job.zones->size() == n && job.total.size() == m && job.coefficient_sums.size() == n,
          "zones, total, coefficient_sums: wrong shape");
  require_range(begin, end, n);
  level->add_sparse_zone_differences(job, begin, end);
}

template <class T> void run_pick_nearest(const RankedLists<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.row.size();
  require(fits(job.ranked_distance, n, job.row.width()) && job.codes.size() == n,
          "ranked_distance, codes: wrong shape");
  require_lists(job.lists, job.asked.size(), job.lists.n_groups());
  require(job.lacking.size() == job.asked.size(), "lacking: one per row is needed");
  require_range(begin, end, job.asked.size());
  require_rows(job.codes, job.lists.n_groups(), "codes: class out of range");
  require_rows(job.asked, n, "asked: row outside the lists");
  for (int64_t i = begin; i < end; ++i)
    require_rows(numbers_of(job.row, job.asked[i], job.asked[i] + 1), n, "row: row outside the lists");
  pick_nearest(job, begin, end);
}

struct CountJob {
  Values<double> limits, values;
  View<int64_t, 1> counts;  // (n_limits + 1,)
};

void run_count_between(const CountJob& job) {
  const int64_t n = job.limits.size();
  require(job.counts.size() == n + 1, "counts: one more than limits are needed");
  for (int64_t i = 1; i < n; ++i) require(!(job.limits[i - 1] > job.limits[i]), "limits: they must ascend");
  count_between(job.limits.data, n, job.values.data, job.values.size(), job.counts.data);
}

// Lists of the rows 0 to n - 1.
void require_listed(const ListedPairs& job, int64_t n, int64_t m, int64_t begin, int64_t end) {
  const int64_t lists = job.query.size(), width = job.neighbor.width();
  require(job.total.width() == m, "total: one column per feature is needed");
  require(job.neighbor.size() == lists && fits(job.coefficient, lists, width) && fits(job.output_row, lists, width),
          "neighbor, coefficient, output_row: one shape is needed");
  require_range(begin, end, lists);
  require_rows(Values<int64_t>{job.query.data + begin, {end - begin}}, n, "query outside the rows");
  require_below(numbers_of(job.neighbor, begin, end), n, "neighbor or output_row out of range");
  require_rows(numbers_of(job.output_row, begin, end), job.total.size(), "neighbor or output_row out of range");
}

template <class T> void run_add_listed_differences(const ListedRows<T>& job, int64_t begin, int64_t end) {
  const int64_t m = job.rows.width();
  require(0 <= job.n_numeric && job.n_numeric <= m, "total: one column per feature is needed");
  require_range(job.first_feature, job.last_feature, m);
  require_listed(job, job.rows.size(), m, begin, end);
  level->of<T>().add_listed_differences(job, begin, end);
}

template <class T> void run_add_listed_sparse_differences(const ListedSparseRows<T>& job, int64_t begin, int64_t end) {
  require_listed(job, job.rows->size(), job.rows->width, begin, end);
  add_listed_sparse_differences(job, begin, end);
}

void check_margins(const Margins& job) {
  const int64_t n = job.rows.size(), m = job.rows.width(), blocks = job.packed.size();
  require(job.codes.size() == n, "codes: one per row is needed");
  for (const int64_t size : {job.missing_distance.size(), job.nominal.size(), job.center.size(), job.levels.size(),
                             job.unit.size(), job.rounding.size()})
    require(size == m, "missing_distance, nominal, center, levels, unit, rounding: one per feature is needed");
  require_lanes(job.packed, BLOCK_LANES<float>);
  require(job.packed.width() == m && job.ids.size() == blocks * BLOCK_LANES<float> && job.block_code.size() == blocks &&
              job.feature_order.size() == m,
          "packed, ids, block_code, feature_order: wrong shape");
  require_below(job.ids, n, "ids: row outside the data");
  require_rows(job.feature_order, m, "feature_order: outside");
}

void run_pack_margins(const Margins& job, int64_t begin, int64_t end) {
  require_range(begin, end, job.packed.size());
  pack_margins(job, begin, end);
}

void run_take_simba_steps(const MarginSteps& job, int64_t begin, int64_t end) {
  require(job.w.size() == job.rows.width(), "w: one per feature is needed");
  require(job.order.size() == job.step.size(), "order, step: one shape is needed");
  require_range(begin, end, job.order.size());
  require_rows(Values<int64_t>{job.order.data + begin, {end - begin}}, job.rows.size(), "order: row outside the data");
  level->take_simba_steps[job.mixed](job, begin, end);
}

// The lists of `add_listed_differences` among the arguments of a function.
template <class Job, class Run, class... F> void def_listed(nb::module_& m, const char* name, Run run, F... fields) {
  def_job<Job>(m, name, run, ARG(rows), fields..., ARG(query), ARG(neighbor), ARG(coefficient), ARG(output_row),
               ARG(total));
}

template <class T> void bind_rows(nb::module_& m, const char* packed_rows) {
  const auto rows = OBJECT("rows", PackedRows<T>);
  def_object<PackedRows<T>>(m, packed_rows, "make_packed_rows", check_packed_rows<T>, ARG(rows), ARG(packed),
                            ARG(missing_distance), ARG(n_numeric), ARG(missing));
  def_job<DistancesJob<T>>(m, "compute_distances", run_compute_distances<T>, rows, ARG_OR_NONE(queries),
                           field("missing", FIELD(queries_missing)), ARG(p), ARG(distance));
  def_job<ZoneCoefficientsJob<T>>(m, "compute_zone_coefficients", run_compute_zone_coefficients<T>, rows, ARG(zones),
                                  ARG(coefficient));
  def_job<DifferencesJob<T>>(m, "add_differences", run_add_differences<T>, rows, ARG(coefficient), ARG(total));
  def_job<DistanceSumsJob<T>>(m, "sum_distances", run_sum_distances<T>, rows, ARG(sums));
  def_listed<ListedRows<T>>(m, "add_listed_differences", run_add_listed_differences<T>, ARG(n_numeric),
                            ARG(first_feature), ARG(last_feature));
  def_listed<ListedSparseRows<T>>(m, "add_listed_sparse_differences", run_add_listed_sparse_differences<T>);
  def_job<RankedLists<T>>(m, "pick_nearest", run_pick_nearest<T>, ARG(row), ARG(ranked_distance), ARG(codes),
                          ARG(asked), DISTANCE_OF_LISTS, ID_OF_LISTS, ARG(lacking));
}

}  // namespace

void bind_weighers(nb::module_& m) {
  def_object<Zones>(m, "Zones", "make_zones", check_zones, ARG(class_start), ARG(hit_range), ARG(factor), ARG(weight),
                    ARG(threshold), ARG(far), ARG(tolerance));
  bind_rows<float>(m, "PackedRowsFloat32");
  bind_rows<double>(m, "PackedRowsFloat64");
  def_job<SignsJob>(m, "sum_signs", run_sum_signs, OBJECT("rows", PackedRows<double>), ARG(coefficient), ARG(sums));
  const auto zone_rows = OBJECT("rows", ZoneRows);
  def_object<ZoneRows>(m, "ZoneRows", "make_zone_rows", check_zone_rows, ARG(rows), ARG_OR_NONE(packed),
                       ARG_OR_NONE(row_sums), ARG_OR_NONE(distance), ARG_OR_NONE(order));
  def_job<ZoneDistancesJob>(m, "compute_zone_distances", run_compute_zone_distances, zone_rows,
                            field("distance", FIELD(distance_to_lanes)));
  def_job<ZoneDifferencesJob>(m, "add_zone_differences", run_add_zone_differences, zone_rows, ARG(zones), ARG(total));
  def_job<SparseZoneJob>(m, "add_sparse_zone_differences", run_add_sparse_zone_differences, ARG(rows), ARG(columns),
                         ARG(norm), ARG(zones), ARG(total), ARG(coefficient_sums));
  def_object<Margins>(m, "Margins", "make_margins", check_margins, ARG(rows), ARG(codes), ARG(missing_distance),
                      ARG(nominal), ARG(mixed), ARG(center), ARG(levels), ARG(unit), ARG(rounding), ARG(packed),
                      ARG(ids), ARG(block_code), ARG(feature_order));
  const auto margins = OBJECT("margins", Margins);
  def_job<Margins>(m, "pack_margins", run_pack_margins, margins);
  def_job<MarginSteps>(m, "take_simba_steps", run_take_simba_steps, margins, ARG(order), ARG(step), ARG(w));
  def_call<CountJob>(m, "count_between", run_count_between, ARG(limits), ARG(values), ARG(counts));
}

}  // namespace wb::bindings

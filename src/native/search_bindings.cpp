// Bindings of the neighbour search: packing, the k nearest by a scan or by bytes, and exact distances of candidates.
#include "bindings.hpp"
#include "pack.hpp"
#include "sparse.hpp"

namespace wb::bindings {

namespace {

template <class T> double run_pack(const Packing<T>& job, int64_t begin, int64_t end) {
  constexpr int64_t LANES = BLOCK_LANES<T>;
  const int64_t m = job.source.width();
  require_lanes(job.packed, LANES);
  require(job.packed.width() == m, "packed: wrong shape");
  require(job.order.size() == job.packed.size() * LANES, "order: one entry per lane is needed");
  require(bool(job.center) == bool(job.factor), "center and factor come together");
  require(fits(job.factor, m) && fits(job.center, m), "factor: one per feature");
  require_range(begin, end, job.packed.size());
  require_below(Values<int64_t>{job.order.data + begin * LANES, {(end - begin) * LANES}}, job.source.size(),
                "order: row outside the source");
  return pack(job, begin, end);
}

template <class T> void check_references(const References<T>& job) {
  const int64_t m = job.n_features(), lanes = job.packed.size() * BLOCK_LANES<T>, groups = job.n_groups();
  require_exponent(job.p);
  require_lanes(job.packed, BLOCK_LANES<T>);
  require(!job.weights || job.weights.shape == job.packed.shape, "weights: the shape of packed is needed");
  require(job.ids.size() == lanes && fits(job.scales, lanes), "ids, scales: one per lane is needed");
  require_missing_distance(job.missing_distance, job.n_numeric, m);
  require(groups >= 1 && job.group_start[groups] == job.packed.size(), "group_start: wrong last block");
  if (!job.source) return;
  require(job.order && job.exact_weights && job.exact_missing_distance && job.order.size() == lanes &&
              job.source.width() == m && job.exact_weights.size() == m && job.exact_missing_distance.size() == m,
          "a recheck needs order, exact_weights and exact_missing_distance");
  require_below(job.order, job.source.size(), "order: row outside the source");
}

template <class T> void check_queries(const Queries<T>& queries, int64_t begin, int64_t end) {
  const int64_t n = queries.rows.size(), m = queries.references->n_features();
  require(queries.rows.width() == m, "packed: wrong shape");
  require(fits(queries.own, n), "own: one per query is needed");
  require(bool(queries.exact) == bool(queries.references->source) && bool(queries.exact) == bool(queries.slack) &&
              fits(queries.exact, n) && fits(queries.slack, n) && (!queries.exact || queries.exact.width() == m),
          "a recheck needs exact_queries and slack");
  require_range(begin, end, n);
}

template <class T> struct SearchJob {
  Queries<T> queries;
  Lists<T> lists;
};

template <class T> void run_find_k_nearest(const SearchJob<T>& job, int64_t begin, int64_t end) {
  const References<T>& refs = *job.queries.references;
  check_queries(job.queries, begin, end);
  require_lists(job.lists, job.queries.rows.size(), refs.n_groups());
  level->of<T>().find_k_nearest[refs.p - 1][bool(refs.weights)][job.queries.missing](job.queries, job.lists, begin,
                                                                                     end);
}

// A NumPy array that owns the values.
template <class V> nb::ndarray<nb::numpy, V, nb::ndim<1>> owned_array(std::vector<V>&& values) {
  auto* held = new std::vector<V>(std::move(values));
  const nb::capsule owner(held, [](void* vector) noexcept { delete static_cast<std::vector<V>*>(vector); });
  return nb::ndarray<nb::numpy, V, nb::ndim<1>>(held->data(), {held->size()}, owner);
}

template <class T> struct WithinJob {
  Queries<T> queries;
  Values<T> limits;
};

template <class T> auto run_find_within(const WithinJob<T>& job, int64_t begin, int64_t end) {
  const References<T>& refs = *job.queries.references;
  check_queries(job.queries, begin, end);
  require(job.limits.size() == job.queries.rows.size(), "limits: one per query is needed");
  Hits<T> hits;
  level->of<T>().find_within[refs.p - 1][bool(refs.weights)][job.queries.missing](job.queries, job.limits, hits, begin,
                                                                                  end);
  const nb::gil_scoped_acquire acquire;  // The arrays of the result are made with it.
  return std::tuple(owned_array(std::move(hits.count)), owned_array(std::move(hits.distance)),
                    owned_array(std::move(hits.id)));
}

struct MixedSearchJob : MixedJob {
  Lists<double> lists;
};

int64_t run_find_k_nearest_mixed(const MixedSearchJob& job, int64_t begin, int64_t end) {
  const References<float>& refs = *job.queries.references;
  const int64_t n = job.queries.rows.size(), m = refs.n_features();
  check_queries(job.queries, begin, end);
  require(job.exact_queries.size() == n && job.exact_queries.width() == m && job.source.width() == m &&
              job.shift.size() == n && fits(job.exact_weights, m),
          "exact_queries, source, shift, exact_weights: wrong shape");
  require_missing_distance(job.exact_missing_distance, refs.n_numeric, m);
  require_lists(job.lists, n, refs.n_groups());
  require_below(refs.ids, job.source.size(), "ids: row outside the source");
  return level->find_k_nearest_mixed[refs.p - 1][job.queries.missing](job, job.lists, begin, end);
}

// The layout of the pairs of `n` rows, of which the blocks from `first_block` on are in memory.
template <class T> PairLayout pair_layout(int64_t n, int64_t first_block, int64_t blocks) {
  return {.n_lanes = n,
          .block_lanes = BLOCK_LANES<T>,
          .width = level->pair_queries,
          .first_block = first_block,
          .blocks = blocks};
}

// Here a range has one of `n_pieces` pieces.
template <class T> void run_symmetric(const SymmetricJob<T>& job, int64_t piece, int64_t n_pieces) {
  const References<T>& refs = *job.references;
  const int64_t lanes = job.order.size();
  require(job.source.width() == refs.n_features(), "packed: wrong shape");
  require(job.first_block >= 0 && (job.first_block + refs.packed.size()) * BLOCK_LANES<T> <= lanes,
          "packed: blocks beyond order");
  require(job.distance.size() == lanes && job.distance.width() == lanes,
          "distance: one row and column per lane is needed");
  require(0 <= piece && piece < n_pieces, "piece: outside of all pieces");
  int64_t used = lanes;
  while (used > 0 && job.order[used - 1] < 0) --used;
  require(lanes % BLOCK_LANES<T> == 0 && lanes < used + BLOCK_LANES<T>, "order: whole blocks are needed");
  require_below(job.order, job.source.size(), "order: row outside the source");
  const PairLayout layout = pair_layout<T>(used, job.first_block, refs.packed.size());
  level->of<T>().compute_symmetric_distances[refs.p - 1][job.missing](job, layout,
                                                                      list_pair_tiles(layout, piece, n_pieces));
}

template <class T> void run_select_nearest(const SelectJob<T>& job, int64_t begin, int64_t end) {
  const int64_t lanes = job.order.size(), groups = job.group_start.size() - 1;
  require(job.pair_distance.size() == lanes && job.pair_distance.width() == lanes,
          "pair_distance: one row per lane is needed");
  require(groups >= 1 && job.group_start[groups] * BLOCK_LANES<T> == lanes, "group_start: wrong last block");
  require_lists(job.lists, job.lists.distance.size(), groups);
  require_range(begin, end, lanes);
  require_below(job.order, job.lists.distance.size(), "order: row without a list");
  level->of<T>().select_nearest(job, begin, end);
}

template <class T> void run_rerank(const Candidates<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.source.size(), m = job.source.width(), n_queries = job.queries.size();
  require_exponent(job.p);
  require(job.queries.width() == m && job.candidates.size() == n_queries, "queries: wrong shape");
  require(!job.weights || job.weights.width() == m, "weights: one column per feature is needed");
  require(fits(job.weight_row, n) && fits(job.scales, n), "weight_row, scales: one per reference is needed");
  require_missing_distance(job.missing_distance, job.n_numeric, m);
  require_lists(job.lists, n_queries, 1);
  require(fits(job.own_row, n_queries), "own_row: one per query is needed");
  require_range(begin, end, n_queries);
  require_below(numbers_of(job.candidates, begin, end), n, "candidate outside the source");
  level->of<T>().rerank[job.p - 1](job, begin, end);
}

template <class T> void run_measure_pairs(const PairsJob<T>& job, int64_t begin, int64_t end) {
  require(job.pairs.width() == 2 && job.distance.size() == job.pairs.size(),
          "pairs, distance: (n_pairs, 2) and (n_pairs,)");
  require_range(begin, end, job.pairs.size());
  require_rows(numbers_of(job.pairs, begin, end), job.rows.size(), "pairs: row outside the data");
  if (begin < end) level->of<T>().measure_pairs(job, begin, end);
}

template <class T> void run_round_to_bytes(const BytesJob<T>& job, int64_t begin, int64_t end) {
  require(job.low.size() == job.rows.width() && job.bytes.size() == job.rows.size() &&
              job.bytes.width() >= job.rows.width() && job.residual.size() == job.rows.size() && job.delta > 0,
          "low, bytes, residual: wrong shape");
  require_range(begin, end, job.rows.size());
  level->of<T>().round_to_bytes(job, begin, end);
}

template <class T> int64_t run_find_by_bytes(const ByteJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.queries.size(), m = job.source.width(), groups = job.group_start.size() - 1;
  const int64_t words = job.packed.width();
  require_lanes(job.packed, BYTE_LANES);
  require(words * 8 >= m, "packed: wrong shape");
  require(job.ids.size() == job.packed.size() * BYTE_LANES, "ids: one per lane is needed");
  require(groups >= 1 && job.group_start[groups] == job.packed.size(), "group_start: wrong last block");
  require(job.query_words.size() == n && job.query_words.width() == words && job.queries.width() == m &&
              job.query_residual.size() == n && fits(job.own_lane, n),
          "query_words, queries, query_residual, own_lane: wrong shape");
  require_lists(job.lists, n, groups);
  require_range(begin, end, n);
  require_below(job.ids, job.source.size(), "ids: row outside the data");
  return level->of<T>().find_k_nearest_by_bytes(job, begin, end);
}

template <class T> void check_sparse_rows(const SparseRows<T>& rows) {
  const int64_t n = rows.size(), entries = rows.feature.size();
  require(n >= 0 && rows.value.size() == entries && rows.start[0] == 0 && rows.start[n] == entries,
          "sparse rows: start, feature and value do not fit together");
  require_ascending(rows.start, "sparse rows: start must ascend");
  require_rows(rows.feature, rows.width, "sparse rows: entry outside");
}

template <class T> void run_find_sparse(SparseJob<T> job, int64_t begin, int64_t end) {
  const SparseRows<T>& rows = *job.references;
  const int64_t n = rows.size(), m = rows.width, n_queries = job.queries->size();
  const int64_t n_groups = job.group_start.size() - 1;
  require_exponent(job.p);
  require(n > 0 && m > 0 && n_groups > 0, "references, features and groups are needed");
  require(job.queries->width == m && job.columns->size() == m && job.columns->width == n,
          "queries, references, columns: the same features are needed");
  require(job.norm.size() == n && job.order.size() == n && job.query_norm.size() == n_queries,
          "norm, order, query_norm: one per row is needed");
  require(fits(job.weights, m), "weights: one per feature is needed");
  require(fits(job.own, n_queries), "own: one per query is needed");
  require_lists(job.lists, n_queries, n_groups);
  require_rows(job.order, n, "order: row outside");
  require(job.group_start[0] == 0 && job.group_start[n_groups] == n, "group_start: all rows are needed");
  require_ascending(job.group_start, "group_start: must ascend");
  require_range(begin, end, n_queries);
  for (int64_t i = 0; i < n; ++i) {
    job.largest_norm = std::max(job.largest_norm, job.norm[i]);
    job.most_entries = std::max(job.most_entries, rows.start[i + 1] - rows.start[i]);
  }
  (job.p == 1 ? find_k_nearest_sparse<T, 1> : find_k_nearest_sparse<T, 2>)(job, level->fused, begin, end);
}

template <class T> void run_round_to_levels(const LevelsJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size(), m = job.rows.width(), lanes = job.levels.shape[2];
  require(job.center.size() == m && job.factor.size() == m && job.most.size() == m,
          "center, factor, most: one per feature");
  for (int64_t j = 0; j < m; ++j)
    require(0 <= job.most[j] && job.most[j] * double(std::abs(job.times)) < 32768, "most: levels must fit in 16 bits");
  require((lanes == 1 || lanes == BLOCK_LANES<float>) && 2 * job.levels.width() >= m && job.levels.size() * lanes >= n,
          "levels: (n, pairs, 1), or (n_blocks, pairs, lanes) is needed");
  require(job.norm.size() >= n && job.residual.size() >= n, "norm, residual: one per row is needed");
  require_range(begin, end, n);
  level->of<T>().round_to_levels(job, begin, end);
}

void run_propose_rounded(const RoundedJob& job, int64_t begin, int64_t end) {
  const int64_t n_queries = job.queries.size();
  require_lanes(job.packed, BLOCK_LANES<float>);
  require(job.norm.size() == job.packed.size() * BLOCK_LANES<float>, "norm: one per lane");
  require(0 < job.n && job.n <= job.norm.size() && job.norm.size() < job.n + BLOCK_LANES<float>, "n: wrong");
  require(job.queries.width() == job.packed.width() && job.query_norm.size() == n_queries,
          "queries: as wide as packed, with their norms");
  require(fits(job.own, n_queries), "own: one per query is needed");
  require_lists(job.lists, n_queries, 1);
  require_range(begin, end, n_queries);
  require(level->rounded.multiplies_pairs, "this CPU level has no instruction for rounded rows");
  if (begin < end) level->rounded.propose(job, begin, end);
}

// Here a range has one of `n_pieces` pieces.
void run_propose_rounded_pairs(const RoundedPairsJob& job, int64_t piece, int64_t n_pieces) {
  const int64_t lanes = job.packed.size() * BLOCK_LANES<float>;
  require_lanes(job.packed, BLOCK_LANES<float>);
  require(job.norm.size() == lanes, "norm: one per lane is needed");
  require(job.packed.width() % ROUNDED_PANEL == 0, "packed: whole panels are needed");
  require(0 < job.n && job.n <= lanes && lanes < job.n + BLOCK_LANES<float>, "n: wrong");
  require(job.square.size() == lanes && job.square.width() == lanes, "square: one row and column per lane is needed");
  require(0 <= piece && piece < n_pieces, "piece: outside of all pieces");
  require(level->rounded.multiplies_pairs, "this CPU level has no instruction for rounded rows");
  const PairLayout layout = pair_layout<float>(job.n, 0, job.packed.size());
  level->rounded.propose_pairs(job, layout, list_pair_tiles(layout, piece, n_pieces));
}

// The arguments that all searches among packed references take.
template <class Job, class Run, class... F> void def_search(nb::module_& m, const char* name, Run run, F... fields) {
  def_job<Job>(m, name, run, field("references", FIELD(queries.references)), field("queries", FIELD(queries.rows)),
               field_or_none("own", FIELD(queries.own)), field("missing", FIELD(queries.missing)), fields...);
}

template <class T> void bind_for(nb::module_& m, const char* references, const char* sparse_rows) {
  def_object<References<T>>(m, references, "make_references", check_references<T>, ARG(packed), ARG_OR_NONE(weights),
                            ARG_OR_NONE(scales), ARG(ids), ARG(group_start), ARG(missing_distance), ARG(n_numeric),
                            ARG(p), ARG_OR_NONE(source), ARG_OR_NONE(order), ARG_OR_NONE(exact_weights),
                            ARG_OR_NONE(exact_missing_distance));
  def_job<Packing<T>>(m, "pack", run_pack<T>, ARG(source), ARG(order), ARG(packed), ARG(fill), ARG_OR_NONE(center),
                      ARG_OR_NONE(factor), ARG(n_numeric), ARG(p));
  const auto exact = field_or_none("exact_queries", FIELD(queries.exact));
  const auto slack = field_or_none("slack", FIELD(queries.slack));
  def_search<SearchJob<T>>(m, "find_k_nearest", run_find_k_nearest<T>, exact, slack, DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_search<WithinJob<T>>(m, "find_within", run_find_within<T>, exact, slack, ARG(limits));
  def_job<SymmetricJob<T>>(m, "compute_symmetric_distances", run_symmetric<T>, ARG(references), ARG(source), ARG(order),
                           ARG(first_block), ARG(missing), ARG(distance));
  def_job<SelectJob<T>>(m, "select_nearest", run_select_nearest<T>, ARG(pair_distance), ARG(order), ARG(group_start),
                        DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_job<PairsJob<T>>(m, "measure_pairs", run_measure_pairs<T>, ARG(rows), ARG(pairs), ARG(distance));
  def_job<Candidates<T>>(m, "rerank", run_rerank<T>, ARG(queries), ARG(source), ARG(candidates), ARG_OR_NONE(weights),
                         ARG_OR_NONE(weight_row), ARG_OR_NONE(scales), ARG_OR_NONE(own_row), ARG(missing_distance),
                         ARG(n_numeric), ARG(p), DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_job<BytesJob<T>>(m, "round_to_bytes", run_round_to_bytes<T>, ARG(rows), ARG(low), ARG(delta), ARG(bytes),
                       ARG(residual));
  def_job<ByteJob<T>>(m, "find_k_nearest_by_bytes", run_find_by_bytes<T>, ARG(packed), ARG(ids), ARG(group_start),
                      ARG(delta), ARG(largest_residual), ARG(source), ARG(query_words), ARG(query_residual),
                      ARG(queries), ARG_OR_NONE(own_lane), DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_object<SparseRows<T>>(m, sparse_rows, "make_sparse_rows", check_sparse_rows<T>, ARG(start), ARG(feature),
                            ARG(value), ARG(width));
  def_job<SparseJob<T>>(m, "find_k_nearest_sparse", run_find_sparse<T>, ARG(queries), ARG(references), ARG(columns),
                        ARG_OR_NONE(weights), ARG(query_norm), ARG(norm), ARG(order), ARG(group_start),
                        ARG_OR_NONE(own), ARG(p), DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_job<LevelsJob<T>>(m, "round_to_levels", run_round_to_levels<T>, ARG(rows), ARG(center), ARG(factor), ARG(most),
                        ARG(times), ARG(levels), ARG(norm), ARG(residual));
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def("multiplies_pairs", [] { return level->rounded.multiplies_pairs; });
  def_job<RoundedJob>(m, "propose_rounded", run_propose_rounded, ARG(packed), ARG(norm), ARG(n), ARG(queries),
                      ARG(query_norm), ARG_OR_NONE(own), DISTANCE_OF_LISTS, ID_OF_LISTS);
  def_job<RoundedPairsJob>(m, "propose_rounded_pairs", run_propose_rounded_pairs, ARG(packed), ARG(norm), ARG(n),
                           ARG(square));
  bind_for<float>(m, "ReferencesFloat32", "SparseRowsFloat32");
  bind_for<double>(m, "ReferencesFloat64", "SparseRowsFloat64");
  def_search<MixedSearchJob>(m, "find_k_nearest_mixed", run_find_k_nearest_mixed, ARG(exact_queries), ARG(source),
                             ARG_OR_NONE(exact_weights), ARG(exact_missing_distance), ARG(shift), ARG(scale),
                             ARG(most_measured), DISTANCE_OF_LISTS, ID_OF_LISTS);
}

}  // namespace wb::bindings

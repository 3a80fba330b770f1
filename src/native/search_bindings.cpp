// Bindings of the neighbour search: packing, the k nearest by a scan or by bytes, and exact distances of candidates.
#include "bindings.hpp"
#include "pack.hpp"
#include "sparse.hpp"

namespace wb::bindings {

namespace {

template <class T>
double py_pack(Array<T, 2> source, Array<int64_t, 1> order, Output<T, 3> packed, T fill, Optional<T, 1> center,
               Optional<T, 1> factor, int64_t n_numeric, int p, int64_t begin, int64_t end) {
  const int64_t n = dim(source, 0), m = dim(source, 1);
  require_packed<T>(packed, m);
  require(order.shape(0) == packed.shape(0) * packed.shape(2), "order: one entry per lane is needed");
  require(bool(center) == bool(factor), "center and factor come together");
  require(!factor || (dim(*factor, 0) == m && dim(*center, 0) == m), "factor: one per feature");
  require_range(begin, end, dim(packed, 0));
  for (int64_t i = begin * BLOCK_LANES<T>; i < end * BLOCK_LANES<T>; ++i)
    require(order.data()[i] < n, "order: row outside the source");
  const Packing<T> job{
      .source = source.data(),
      .order = order.data(),
      .m = m,
      .numeric = n_numeric,
      .center = data_or_null(center),
      .factor = data_or_null(factor),
      .fill = fill,
      .p = p,
      .packed = packed.data(),
  };
  return pack(job, begin, end);
}

// What a scan reads: queries, references and the recheck of folded distances, after their shapes were checked.
template <class T> struct ScanJob {
  Queries<T> queries;
  References<T> references;
  Features<T> features;
  Recheck<T> recheck;
};

template <class T>
ScanJob<T> scan_job(const Array<T, 2>& queries, const Optional<int64_t, 1>& query_ids, const Array<T, 3>& packed,
                    const Optional<T, 3>& weights, const Optional<T, 1>& scales, const Array<int64_t, 1>& ids,
                    const Array<int64_t, 1>& group_start, const Array<T, 1>& missing_distance, int64_t n_numeric, int p,
                    const Optional<T, 2>& source, const Optional<int64_t, 1>& order,
                    const Optional<T, 2>& exact_queries, const Optional<T, 1>& exact_weights,
                    const Optional<T, 1>& exact_missing_distance, const Optional<T, 1>& slack) {
  const int64_t n = dim(queries, 0), m = dim(queries, 1), groups = dim(group_start, 0) - 1;
  const auto lanes = packed.shape(0) * packed.shape(2);
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require_packed<T>(packed, m);
  require(!weights || (weights->shape(0) == packed.shape(0) && weights->shape(1) == packed.shape(1) &&
                       weights->shape(2) == packed.shape(2)),
          "weights: the shape of packed is needed");
  require(ids.shape(0) == lanes && (!scales || scales->shape(0) == lanes), "ids, scales: one per lane is needed");
  require_features(missing_distance, n_numeric, m);
  require(groups >= 1 && group_start.data()[groups] == dim(packed, 0), "group_start: wrong last block");
  require(!query_ids || dim(*query_ids, 0) == n, "query_ids: one per query is needed");
  if (source) {
    require(order && exact_queries && exact_weights && exact_missing_distance && slack && order->shape(0) == lanes &&
                dim(*source, 1) == m && dim(*exact_queries, 0) == n && dim(*exact_queries, 1) == m &&
                dim(*exact_weights, 0) == m && dim(*exact_missing_distance, 0) == m && dim(*slack, 0) == n,
            "a recheck needs order, exact_queries, exact_weights, exact_missing_distance and slack");
  }
  const References<T> references{
      .packed = packed.data(),
      .weights = data_or_null(weights),
      .scales = data_or_null(scales),
      .ids = ids.data(),
      .group_start = group_start.data(),
      .n_groups = groups,
  };
  const Recheck<T> recheck{
      .source = data_or_null(source),
      .order = data_or_null(order),
      .queries = data_or_null(exact_queries),
      .weights = data_or_null(exact_weights),
      .slack = data_or_null(slack),
      .features = {.missing_distance = data_or_null(exact_missing_distance), .numeric = n_numeric, .count = m},
  };
  return {
      .queries = {.rows = queries.data(), .ids = data_or_null(query_ids)},
      .references = references,
      .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
      .recheck = recheck,
  };
}

template <class T>
void py_find_k_nearest(Array<T, 2> queries, Optional<int64_t, 1> query_ids, Array<T, 3> packed, Optional<T, 3> weights,
                       Optional<T, 1> scales, Array<int64_t, 1> ids, Array<int64_t, 1> group_start,
                       Array<T, 1> missing_distance, int64_t n_numeric, bool missing, int p, Output<T, 3> distance,
                       Output<int64_t, 3> id, Optional<T, 2> source, Optional<int64_t, 1> order,
                       Optional<T, 2> exact_queries, Optional<T, 1> exact_weights,
                       Optional<T, 1> exact_missing_distance, Optional<T, 1> slack, int64_t begin, int64_t end) {
  const auto job =
      scan_job<T>(queries, query_ids, packed, weights, scales, ids, group_start, missing_distance, n_numeric, p, source,
                  order, exact_queries, exact_weights, exact_missing_distance, slack);
  require_lists(distance, id, dim(queries, 0), job.references.n_groups);
  require_range(begin, end, dim(queries, 0));
  const Lists<T> lists{.distance = distance.data(), .id = id.data(), .k = dim(distance, 2)};
  level->of<T>().find_k_nearest[p - 1][weights.has_value()][missing](job.queries, job.references, job.features,
                                                                     job.recheck, lists, begin, end);
}

int64_t py_find_k_nearest_mixed(Array<float, 2> queries, Optional<int64_t, 1> query_ids, Array<float, 3> packed,
                                Array<int64_t, 1> ids, Array<int64_t, 1> group_start, Array<float, 1> missing_distance,
                                int64_t n_numeric, bool missing, int p, Array<double, 2> exact_queries,
                                Array<double, 2> source, Optional<double, 1> exact_weights,
                                Array<double, 1> exact_missing_distance, Array<double, 1> shift, double scale,
                                int64_t most_measured, Output<double, 3> distance, Output<int64_t, 3> id, int64_t begin,
                                int64_t end) {
  const auto job = scan_job<float>(queries, query_ids, packed, {}, {}, ids, group_start, missing_distance, n_numeric, p,
                                   {}, {}, {}, {}, {}, {});
  const int64_t n = dim(queries, 0), m = dim(queries, 1);
  require(dim(exact_queries, 0) == n && dim(exact_queries, 1) == m && dim(source, 1) == m && dim(shift, 0) == n,
          "exact_queries, source, shift: wrong shape");
  require(!exact_weights || dim(*exact_weights, 0) == m, "exact_weights: one per feature is needed");
  require_features(exact_missing_distance, n_numeric, m);
  require_lists(distance, id, n, job.references.n_groups);
  require_range(begin, end, n);
  for (int64_t i = 0; i < dim(ids, 0); ++i) require(ids.data()[i] < dim(source, 0), "ids: row outside the source");
  const MixedJob mixed{
      .exact = {.source = source.data(),
                .queries = exact_queries.data(),
                .weights = data_or_null(exact_weights),
                .features = {.missing_distance = exact_missing_distance.data(), .numeric = n_numeric, .count = m}},
      .shift = shift.data(),
      .scale = scale,
      .most_measured = most_measured,
  };
  const Lists<double> lists{.distance = distance.data(), .id = id.data(), .k = dim(distance, 2)};
  return level->find_k_nearest_mixed[p - 1][missing](job.queries, job.references, job.features, mixed, lists, begin,
                                                     end);
}

template <class T> PairLayout pair_layout(int64_t n_lanes, int64_t first_block, int64_t blocks) {
  return {.n_lanes = n_lanes,
          .block_lanes = BLOCK_LANES<T>,
          .width = level->pair_queries,
          .first_block = first_block,
          .blocks = blocks};
}

template <class T>
void py_compute_symmetric_distances(Array<T, 2> source, Array<int64_t, 1> order, Array<T, 3> packed,
                                    int64_t first_block, Array<T, 1> missing_distance, int64_t n_numeric, bool missing,
                                    int p, Output<T, 2> distance, int64_t piece, int64_t n_pieces) {
  const int64_t n = dim(source, 0), m = dim(source, 1), lanes = dim(order, 0);
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require_packed<T>(packed, m);
  require_features(missing_distance, n_numeric, m);
  require(first_block >= 0 && (first_block + dim(packed, 0)) * BLOCK_LANES<T> <= lanes, "packed: blocks beyond order");
  require(dim(distance, 0) == lanes && dim(distance, 1) == lanes, "distance: one row and column per lane is needed");
  require(0 <= piece && piece < n_pieces, "piece: outside of all pieces");
  int64_t used = lanes;
  while (used > 0 && order.data()[used - 1] < 0) --used;
  require(lanes % BLOCK_LANES<T> == 0 && lanes < used + BLOCK_LANES<T>, "order: whole blocks are needed");
  for (int64_t i = 0; i < lanes; ++i) require(order.data()[i] < n, "order: row outside the source");
  const SymmetricJob<T> job{
      .source = source.data(),
      .order = order.data(),
      .n_lanes = lanes,
      .packed = packed.data(),
      .layout = pair_layout<T>(used, first_block, dim(packed, 0)),
      .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
      .distance = distance.data(),
  };
  level->of<T>().compute_symmetric_distances[p - 1][missing](job, list_pair_tiles(job.layout, piece, n_pieces));
}

template <class T>
void py_select_nearest(Output<T, 2> pair_distance, Array<int64_t, 1> order, Array<int64_t, 1> group_start,
                       Output<T, 3> distance, Output<int64_t, 3> id, int64_t begin, int64_t end) {
  const int64_t lanes = dim(order, 0), groups = dim(group_start, 0) - 1;
  require(dim(pair_distance, 0) == lanes && dim(pair_distance, 1) == lanes,
          "pair_distance: one row per lane is needed");
  require(groups >= 1 && group_start.data()[groups] * BLOCK_LANES<T> == lanes, "group_start: wrong last block");
  require_lists(distance, id, dim(distance, 0), groups);
  require_range(begin, end, lanes);
  for (int64_t i = 0; i < lanes; ++i) require(order.data()[i] < dim(distance, 0), "order: row without a list");
  const SymmetricJob<T> job{.order = order.data(), .n_lanes = lanes, .distance = pair_distance.data()};
  const Lists<T> lists{.distance = distance.data(), .id = id.data(), .k = dim(distance, 2)};
  level->of<T>().select_nearest(job, group_start.data(), groups, lists, begin, end);
}

// A NumPy array that owns the values.
template <class V> nb::ndarray<nb::numpy, V, nb::ndim<1>> owned_array(std::vector<V>&& values) {
  auto* held = new std::vector<V>(std::move(values));
  const nb::capsule owner(held, [](void* vector) noexcept { delete static_cast<std::vector<V>*>(vector); });
  return nb::ndarray<nb::numpy, V, nb::ndim<1>>(held->data(), {held->size()}, owner);
}

// The GIL is released here and not by a guard of the call, since the arrays of the result are made with it.
template <class T>
nb::tuple py_find_within(Array<T, 2> queries, Optional<int64_t, 1> query_ids, Array<T, 3> packed,
                         Optional<T, 3> weights, Optional<T, 1> scales, Array<int64_t, 1> ids,
                         Array<int64_t, 1> group_start, Array<T, 1> missing_distance, int64_t n_numeric, bool missing,
                         int p, Array<T, 1> limits, Optional<T, 2> source, Optional<int64_t, 1> order,
                         Optional<T, 2> exact_queries, Optional<T, 1> exact_weights,
                         Optional<T, 1> exact_missing_distance, Optional<T, 1> slack, int64_t begin, int64_t end) {
  const auto job =
      scan_job<T>(queries, query_ids, packed, weights, scales, ids, group_start, missing_distance, n_numeric, p, source,
                  order, exact_queries, exact_weights, exact_missing_distance, slack);
  require(dim(limits, 0) == dim(queries, 0), "limits: one per query is needed");
  require_range(begin, end, dim(queries, 0));
  Hits<T> hits;
  {
    const nb::gil_scoped_release release;
    level->of<T>().find_within[p - 1][weights.has_value()][missing](job.queries, job.references, job.features,
                                                                    job.recheck, limits.data(), hits, begin, end);
  }
  return nb::make_tuple(owned_array(std::move(hits.count)), owned_array(std::move(hits.distance)),
                        owned_array(std::move(hits.id)));
}

template <class T>
void py_rerank(Array<T, 2> queries, Array<T, 2> source, Array<int64_t, 2> candidates, Optional<T, 2> weights,
               Optional<int64_t, 1> weight_row, Optional<T, 1> scales, Optional<int64_t, 1> own_row,
               Array<T, 1> missing_distance, int64_t n_numeric, int p, Output<T, 2> distance, Output<int64_t, 2> id,
               int64_t begin, int64_t end) {
  const int64_t n = dim(source, 0), m = dim(source, 1), width = dim(candidates, 1);
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require(dim(queries, 1) == m && queries.shape(0) == candidates.shape(0), "queries: wrong shape");
  require(!weights || dim(*weights, 1) == m, "weights: one column per feature is needed");
  require((!weight_row || dim(*weight_row, 0) == n) && (!scales || dim(*scales, 0) == n),
          "weight_row, scales: one per reference is needed");
  require_features(missing_distance, n_numeric, m);
  require(distance.shape(0) == queries.shape(0) && id.shape(0) == queries.shape(0) &&
              id.shape(1) == distance.shape(1) && distance.shape(1) >= 1 &&
              (!own_row || own_row->shape(0) == queries.shape(0)),
          "distance, id, own_row: one row per query is needed");
  require_range(begin, end, dim(queries, 0));
  for (int64_t i = begin * width; i < end * width; ++i)
    require(candidates.data()[i] < n, "candidate outside the source");
  const Candidates<T> job{
      .queries = queries.data(),
      .source = source.data(),
      .candidates = candidates.data(),
      .width = width,
      .weights = data_or_null(weights),
      .weight_row = data_or_null(weight_row),
      .scales = data_or_null(scales),
      .own_row = data_or_null(own_row),
  };
  const Features<T> features{.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m};
  const Lists<T> lists{.distance = distance.data(), .id = id.data(), .k = dim(distance, 1)};
  level->of<T>().rerank[p - 1](job, features, lists, begin, end);
}

template <class T>
void py_round_to_bytes(Array<T, 2> rows, Array<double, 1> low, double delta, Output<uint8_t, 2> bytes,
                       Output<double, 1> residual, int64_t begin, int64_t end) {
  require(low.shape(0) == rows.shape(1) && bytes.shape(0) == rows.shape(0) && bytes.shape(1) >= rows.shape(1) &&
              residual.shape(0) == rows.shape(0) && delta > 0,
          "low, bytes, residual: wrong shape");
  require_range(begin, end, dim(rows, 0));
  level->of<T>().round_to_bytes(rows.data(), dim(rows, 1), low.data(), delta, bytes.data(), dim(bytes, 1),
                                residual.data(), begin, end);
}

template <class T>
void py_find_k_nearest_sparse(Array<int64_t, 1> query_start, Array<int32_t, 1> query_feature, Array<T, 1> query_value,
                              Array<int64_t, 1> start, Array<int32_t, 1> feature, Array<T, 1> value,
                              Array<int64_t, 1> column_start, Array<int32_t, 1> column_row,
                              Array<double, 1> column_value, Optional<T, 1> weights, Array<double, 1> query_norm,
                              Array<double, 1> norm, Array<int64_t, 1> order, Array<int64_t, 1> group_start,
                              Optional<int64_t, 1> own, int64_t p, Output<T, 3> distance, Output<int64_t, 3> id,
                              int64_t begin, int64_t end) {
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  const int64_t n = dim(start, 0) - 1, m = dim(column_start, 0) - 1, n_queries = dim(query_start, 0) - 1;
  const int64_t n_groups = dim(group_start, 0) - 1;
  require(n > 0 && m > 0 && n_groups > 0, "references, features and groups are needed");
  require(dim(norm, 0) == n && dim(order, 0) == n && dim(query_norm, 0) == n_queries,
          "norm, order, query_norm: one per row is needed");
  require(!weights || dim(*weights, 0) == m, "weights: one per feature is needed");
  require(!own || dim(*own, 0) == n_queries, "own: one per query is needed");
  require_lists(distance, id, n_queries, n_groups);
  for (int64_t i = 0; i < n; ++i) require(0 <= order.data()[i] && order.data()[i] < n, "order: row outside");
  require(group_start.data()[0] == 0 && group_start.data()[n_groups] == n, "group_start: all rows are needed");
  for (int64_t g = 0; g < n_groups; ++g)
    require(group_start.data()[g] <= group_start.data()[g + 1], "group_start: must ascend");
  require_range(begin, end, n_queries);
  SparseJob<T> job{
      .queries = sparse_rows(query_start, query_feature, query_value, m),
      .references = sparse_rows(start, feature, value, m),
      .columns = sparse_rows(column_start, column_row, column_value, n),
      .weights = data_or_null(weights),
      .query_norm = query_norm.data(),
      .norm = norm.data(),
      .n = n,
      .order = order.data(),
      .group_start = group_start.data(),
      .n_groups = n_groups,
      .own = data_or_null(own),
  };
  for (int64_t i = 0; i < n; ++i) {
    job.largest_norm = std::max(job.largest_norm, norm.data()[i]);
    job.most_entries = std::max(job.most_entries, start.data()[i + 1] - start.data()[i]);
  }
  const Lists<T> lists{.distance = distance.data(), .id = id.data(), .k = dim(id, 2)};
  (p == 1 ? find_k_nearest_sparse<T, 1> : find_k_nearest_sparse<T, 2>)(job, lists, level->fused, begin, end);
}

template <class T>
void py_round_to_levels(Array<T, 2> rows, Array<double, 1> center, Array<double, 1> factor, Array<double, 1> most,
                        int64_t times, bool packed, nb::ndarray<int32_t, nb::c_contig, nb::device::cpu> levels,
                        Output<int32_t, 1> norm, Output<double, 1> residual, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1);
  require(dim(center, 0) == m && dim(factor, 0) == m && dim(most, 0) == m, "center, factor, most: one per feature");
  for (int64_t j = 0; j < m; ++j)
    require(0 <= most.data()[j] && most.data()[j] * double(std::abs(times)) < 32768,
            "most: levels must fit in 16 bits");
  require(levels.ndim() == (packed ? 3 : 2), "levels: (n, pairs), or (n_blocks, pairs, lanes) if they are packed");
  const int64_t pairs = int64_t(levels.shape(1)), room = int64_t(levels.shape(0)) * (packed ? BLOCK_LANES<float> : 1);
  require(2 * pairs >= m && room >= n && (!packed || levels.shape(2) == size_t(BLOCK_LANES<float>)),
          "levels: wrong shape");
  require(dim(norm, 0) >= n && dim(residual, 0) >= n, "norm, residual: one per row is needed");
  require_range(begin, end, n);
  const LevelsJob<T> job{
      .rows = rows.data(),
      .m = m,
      .pairs = pairs,
      .center = center.data(),
      .factor = factor.data(),
      .most = most.data(),
      .times = int(times),
      .packed = packed,
      .levels = levels.data(),
      .norm = norm.data(),
      .residual = residual.data(),
  };
  level->of<T>().round_to_levels(job, begin, end);
}

template <class T>
int64_t py_find_k_nearest_by_bytes(Array<uint64_t, 3> packed, Array<int64_t, 1> ids, Array<int64_t, 1> group_start,
                                   double delta, double largest_residual, Array<T, 2> source,
                                   Array<uint64_t, 2> query_words, Array<double, 1> query_residual, Array<T, 2> queries,
                                   Optional<int64_t, 1> own_lane, Output<T, 3> distance, Output<int64_t, 3> id,
                                   int64_t begin, int64_t end) {
  const int64_t n = dim(queries, 0), m = dim(source, 1), groups = dim(group_start, 0) - 1;
  const int64_t words = dim(packed, 1), lanes = dim(packed, 0) * BYTE_LANES;
  require(dim(packed, 2) == BYTE_LANES && words * 8 >= m, "packed: wrong shape");
  require(dim(ids, 0) == lanes, "ids: one per lane is needed");
  require(groups >= 1 && group_start.data()[groups] == dim(packed, 0), "group_start: wrong last block");
  require(dim(query_words, 0) == n && dim(query_words, 1) == words && dim(queries, 1) == m &&
              dim(query_residual, 0) == n && (!own_lane || dim(*own_lane, 0) == n),
          "query_words, queries, query_residual, own_lane: wrong shape");
  require_lists(distance, id, n, groups);
  require_range(begin, end, n);
  for (int64_t i = 0; i < lanes; ++i) require(ids.data()[i] < dim(source, 0), "ids: row outside the data");
  const ByteJob<T> job{
      .packed = packed.data(),
      .words = words,
      .ids = ids.data(),
      .group_start = group_start.data(),
      .n_groups = groups,
      .delta = delta,
      .largest_residual = largest_residual,
      .source = source.data(),
      .m = m,
      .query_words = query_words.data(),
      .query_residual = query_residual.data(),
      .queries = queries.data(),
      .own_lane = data_or_null(own_lane),
  };
  const Lists<T> lists{.distance = distance.data(), .id = id.data(), .k = dim(distance, 2)};
  return level->of<T>().find_k_nearest_by_bytes(job, lists, begin, end);
}

template <class T>
void py_measure_pairs(Array<T, 2> rows, Array<int64_t, 2> pairs, Output<T, 1> distance, int64_t begin, int64_t end) {
  require(dim(pairs, 1) == 2 && dim(distance, 0) == dim(pairs, 0), "pairs, distance: (n_pairs, 2) and (n_pairs,)");
  require_range(begin, end, dim(pairs, 0));
  for (int64_t i = 2 * begin; i < 2 * end; ++i)
    require(0 <= pairs.data()[i] && pairs.data()[i] < dim(rows, 0), "pairs: row outside the data");
  if (begin == end) return;
  if constexpr (sizeof(T) == sizeof(float))
    level->measure_float_pairs(rows.data(), dim(rows, 1), pairs.data(), distance.data(), begin, end);
  else level->measure_double_pairs(rows.data(), dim(rows, 1), pairs.data(), distance.data(), begin, end);
}

template <class T> void bind_for(nb::module_& m) {
  using namespace nb::literals;
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("pack", &py_pack<T>, nb::kw_only(), array("source"), array("order"), array("packed"), "fill"_a,
        array_or_none("center"), array_or_none("factor"), "n_numeric"_a, "p"_a, "begin"_a, "end"_a, release);
  m.def("find_k_nearest", &py_find_k_nearest<T>, nb::kw_only(), array("queries"), array_or_none("query_ids"),
        array("packed"), array_or_none("weights"), array_or_none("scales"), array("ids"), array("group_start"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, "p"_a, array("distance"), array("id"),
        array_or_none("source"), array_or_none("order"), array_or_none("exact_queries"), array_or_none("exact_weights"),
        array_or_none("exact_missing_distance"), array_or_none("slack"), "begin"_a, "end"_a, release);
  m.def("find_within", &py_find_within<T>, nb::kw_only(), array("queries"), array_or_none("query_ids"), array("packed"),
        array_or_none("weights"), array_or_none("scales"), array("ids"), array("group_start"),
        array("missing_distance"), "n_numeric"_a, "missing"_a, "p"_a, array("limits"), array_or_none("source"),
        array_or_none("order"), array_or_none("exact_queries"), array_or_none("exact_weights"),
        array_or_none("exact_missing_distance"), array_or_none("slack"), "begin"_a, "end"_a);
  m.def("compute_symmetric_distances", &py_compute_symmetric_distances<T>, nb::kw_only(), array("source"),
        array("order"), array("packed"), "first_block"_a, array("missing_distance"), "n_numeric"_a, "missing"_a, "p"_a,
        array("distance"), "piece"_a, "n_pieces"_a, release);
  m.def("select_nearest", &py_select_nearest<T>, nb::kw_only(), array("pair_distance"), array("order"),
        array("group_start"), array("distance"), array("id"), "begin"_a, "end"_a, release);
  m.def("measure_pairs", &py_measure_pairs<T>, nb::kw_only(), array("rows"), array("pairs"), array("distance"),
        "begin"_a, "end"_a, release);
  m.def("rerank", &py_rerank<T>, nb::kw_only(), array("queries"), array("source"), array("candidates"),
        array_or_none("weights"), array_or_none("weight_row"), array_or_none("scales"), array_or_none("own_row"),
        array("missing_distance"), "n_numeric"_a, "p"_a, array("distance"), array("id"), "begin"_a, "end"_a, release);
  m.def("round_to_bytes", &py_round_to_bytes<T>, nb::kw_only(), array("rows"), array("low"), "delta"_a, array("bytes"),
        array("residual"), "begin"_a, "end"_a, release);
  m.def("find_k_nearest_sparse", &py_find_k_nearest_sparse<T>, nb::kw_only(), array("query_start"),
        array("query_feature"), array("query_value"), array("start"), array("feature"), array("value"),
        array("column_start"), array("column_row"), array("column_value"), array_or_none("weights"),
        array("query_norm"), array("norm"), array("order"), array("group_start"), array_or_none("own"), "p"_a,
        array("distance"), array("id"), "begin"_a, "end"_a, release);
  m.def("round_to_levels", &py_round_to_levels<T>, nb::kw_only(), array("rows"), array("center"), array("factor"),
        array("most"), "times"_a, "packed"_a, array("levels"), array("norm"), array("residual"), "begin"_a, "end"_a,
        release);
  m.def("find_k_nearest_by_bytes", &py_find_k_nearest_by_bytes<T>, nb::kw_only(), array("packed"), array("ids"),
        array("group_start"), "delta"_a, "largest_residual"_a, array("source"), array("query_words"),
        array("query_residual"), array("queries"), array_or_none("own_lane"), array("distance"), array("id"), "begin"_a,
        "end"_a, release);
}

void py_propose_rounded(Array<int32_t, 3> packed, Array<int32_t, 1> norm, int64_t n, Array<int32_t, 2> queries,
                        Array<int32_t, 1> query_norm, Optional<int64_t, 1> own, Output<int32_t, 2> distance,
                        Output<int64_t, 2> id, int64_t begin, int64_t end) {
  const int64_t blocks = dim(packed, 0), pairs = dim(packed, 1), n_queries = dim(queries, 0);
  require(dim(packed, 2) == BLOCK_LANES<float> && dim(norm, 0) == blocks * BLOCK_LANES<float>, "norm: one per lane");
  require(0 < n && n <= dim(norm, 0) && (n + BLOCK_LANES<float> - 1) / BLOCK_LANES<float> == blocks, "n: wrong");
  require(dim(queries, 1) == pairs && dim(query_norm, 0) == n_queries, "queries: as wide as packed, with their norms");
  require(!own || dim(*own, 0) == n_queries, "own: one per query is needed");
  require(dim(distance, 0) == n_queries && dim(id, 0) == n_queries && dim(distance, 1) == dim(id, 1) && dim(id, 1) > 0,
          "distance, id: (n_queries, k) is needed");
  require_range(begin, end, n_queries);
  require(level->rounded.multiplies_pairs, "this CPU level has no instruction for rounded rows");
  const RoundedJob job{
      .packed = packed.data(),
      .norm = norm.data(),
      .n = n,
      .pairs = pairs,
      .queries = queries.data(),
      .query_norm = query_norm.data(),
      .own = data_or_null(own),
      .k = dim(id, 1),
      .distance = distance.data(),
      .id = id.data(),
  };
  if (begin < end) level->rounded.propose(job, begin, end);
}

void py_propose_rounded_pairs(Array<int32_t, 3> packed, Array<double, 1> norm, int64_t n, Output<float, 2> square,
                              int64_t piece, int64_t n_pieces) {
  const int64_t lanes = dim(packed, 0) * BLOCK_LANES<float>;
  require(dim(packed, 2) == BLOCK_LANES<float> && dim(norm, 0) == lanes, "norm: one per lane is needed");
  require(dim(packed, 1) % ROUNDED_PANEL == 0, "packed: whole panels are needed");
  require(0 < n && n <= lanes && lanes < n + BLOCK_LANES<float>, "n: wrong");
  require(dim(square, 0) == lanes && dim(square, 1) == lanes, "square: one row and column per lane is needed");
  require(0 <= piece && piece < n_pieces, "piece: outside of all pieces");
  require(level->rounded.multiplies_pairs, "this CPU level has no instruction for rounded rows");
  const RoundedPairsJob job{
      .packed = packed.data(),
      .norm = norm.data(),
      .n_blocks = dim(packed, 0),
      .pairs = dim(packed, 1),
      .layout = pair_layout<float>(n, 0, dim(packed, 0)),
      .square = square.data(),
  };
  level->rounded.propose_pairs(job, list_pair_tiles(job.layout, piece, n_pieces));
}

}  // namespace

void bind_search(nb::module_& m) {
  using namespace nb::literals;
  m.def("multiplies_pairs", [] { return level->rounded.multiplies_pairs; });
  m.def("propose_rounded", &py_propose_rounded, nb::kw_only(), array("packed"), array("norm"), "n"_a, array("queries"),
        array("query_norm"), array_or_none("own"), array("distance"), array("id"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("propose_rounded_pairs", &py_propose_rounded_pairs, nb::kw_only(), array("packed"), array("norm"), "n"_a,
        array("square"), "piece"_a, "n_pieces"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("find_k_nearest_mixed", &py_find_k_nearest_mixed, nb::kw_only(), array("queries"), array_or_none("query_ids"),
        array("packed"), array("ids"), array("group_start"), array("missing_distance"), "n_numeric"_a, "missing"_a,
        "p"_a, array("exact_queries"), array("source"), array_or_none("exact_weights"), array("exact_missing_distance"),
        array("shift"), "scale"_a, "most_measured"_a, array("distance"), array("id"), "begin"_a, "end"_a,
        nb::call_guard<nb::gil_scoped_release>());
  bind_for<float>(m);
  bind_for<double>(m);
}

}  // namespace wb::bindings

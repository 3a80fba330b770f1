// Leave-one-out predictions of many individuals of an evolutionary search (paper 004). An individual is a selection of
// instances and features with weights on both (individual-inl.hpp); the prediction of a row is the most frequent class
// among its k nearest selected instances, without the row itself, or the mean of their numeric targets.
//
// `predict_by_scan` serves every individual: it packs the selected instances and features once and compares tiles of
// rows with them. Numeric features without missing values are left to population_pairs-inl.hpp where that has the
// instructions, and few selected instances to population_minima-inl.hpp. `predict_from_matrix`
// (population_matrix-inl.hpp) reads distances that were computed before, and `predict_from_lists`
// (population_lists.hpp) sorted neighbour lists. All three give the same predictions.
//
// Most of the speed comes from not computing distances to the end: every row has a limit, and a tile is abandoned as
// soon as all its partial sums exceed their limits.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The most frequent class among the k entries of a list; of equally frequent classes the one with the lower code wins.
// `counts` is all zero before and after, so that it need not be cleared per row.
template <class T>
WB_INLINE int vote(const T* distance, const std::int64_t* id, std::int64_t k, const std::int32_t* codes, int* counts) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) return distance[0] < infinity ? codes[id[0]] : NO_PREDICTION;
  int best = NO_PREDICTION;
  for (std::int64_t s = 0; s < k; ++s)
    if (distance[s] < infinity) {
      const int code = codes[id[s]], count = ++counts[code];
      if (best == NO_PREDICTION || count > counts[best] || (count == counts[best] && code < best)) best = code;
    }
  for (std::int64_t s = 0; s < k; ++s)
    if (distance[s] < infinity) counts[codes[id[s]]] = 0;
  return best;
}

// The mean target of the entries of a list; `otherwise` if the list is empty. The list is a heap and is sorted here:
// targets are added from the nearest entry on, so that all ways of finding the neighbours give the same bits.
template <class T>
WB_INLINE double mean_target(T* distance, std::int64_t* id, std::int64_t k, const double* targets, double otherwise) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) return distance[0] < infinity ? targets[id[0]] : otherwise;
  sort_list(distance, id, k);
  double sum = 0;
  std::int64_t found = 0;
  for (; found < k && distance[found] < infinity; ++found) sum += targets[id[found]];
  return found ? sum / double(found) : otherwise;
}

// Writes what the k entries of a list predict to place `at` of the output. The list is used up.
template <class T>
WB_INLINE void write_prediction(const PopulationJob<T>& job, std::int64_t at, T* distance, std::int64_t* id,
                                std::int64_t k, int* counts) {
  if (job.targets) job.numbers[at] = mean_target(distance, id, k, job.targets, job.otherwise);
  else job.predicted[at] = vote(distance, id, k, job.codes, counts);
}

// Whether any pair of a tile is below the bound of its query or, unless `column` is null, of its reference.
template <class T> WB_INLINE bool any_below(const TileSums<T>& sum, const T* bound, const T* column) {
  Mask<T> hit = no_lane<T>();
  WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
    const Vec<T> least =
        column ? load<T>(column + v * VECTOR_LANES<T>) : broadcast<T>(-std::numeric_limits<T>::infinity());
    WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
      Vec<T> most = broadcast<T>(bound[q]);
      if (column) most = larger<T>(least, most);
      hit = hit | less<T>(sum[q][v], most);
    }
  }
  return any<T>(hit);
}

// `accumulate_tile` with early exit: after `look`, 2 `look`, 4 `look`, ... features it returns false if no pair can
// stay below its bound. Terms are not negative, so partial sums are lower bounds.
template <class T, bool MISSING>
WB_INLINE bool accumulate_tile_below(const T* queries, const T* block, const Features<T>& features, std::int64_t look,
                                     const T* bound, const T* column, TileSums<T>& sum) {
  constexpr int LANES = VECTOR_LANES<T>;
  Vec<T> acc[TILE_QUERIES][TILE_VECTORS];
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) acc[q][v] = broadcast<T>(T(0));
  for (std::int64_t j = 0; j < features.count;) {
    const std::int64_t end = j < features.numeric ? features.numeric : features.count;
    const std::int64_t stop = std::min<std::int64_t>(end, j ? 2 * j : look);
    if (j < features.numeric) {
      for (; j < stop; ++j) {
        Vec<T> ref[TILE_VECTORS];
        WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) ref[v] = load<T>(block + (j * TILE_VECTORS + v) * LANES);
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
          const Vec<T> query = broadcast<T>(queries[j * TILE_QUERIES + q]);
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
            Vec<T> diff = ref[v] - query;
            if constexpr (MISSING)
              diff = choose<T>(equal<T>(diff, diff), diff, broadcast<T>(features.missing_distance[j]));
            acc[q][v] = add_term<T, 2, false>(acc[q][v], diff, diff);
          }
        }
      }
    } else {
      for (; j < stop; ++j) {
        const Vec<T> zero = broadcast<T>(T(0)), missing_distance = broadcast<T>(features.missing_distance[j]);
        for (int v = 0; v < TILE_VECTORS; ++v) {
          const Vec<T> ref = load<T>(block + (j * TILE_VECTORS + v) * LANES);
          WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
            const Vec<T> diff =
                choose<T>(equal<T>(ref, broadcast<T>(queries[j * TILE_QUERIES + q])), zero, missing_distance);
            acc[q][v] = add_term<T, 2, false>(acc[q][v], diff, diff);
          }
        }
      }
    }
    if (!any_below<T>(acc, bound, column)) return false;
  }
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = acc[q][v];
  return true;
}

// The nearest selected instances of the rows of one call, and how near other instances must be to enter the lists.
//
// With k = 1 and folded rows the list holds folded distances (`propose`). A row is then in doubt if another instance is
// so close to the best one that rounding may have swapped them; rows in doubt are searched again with exact distances.
// Otherwise the distances in the lists are exact.
template <class T> struct NearestLists {
  std::vector<T> distance, slack, limit;   // (rows, k) as heaps; (rows,); (rows, padded)
  std::vector<std::int64_t> id;            // (rows, k)
  std::vector<char> doubt;                 // (rows,)
  std::vector<char> settled;               // (rows,) all k distances are exactly 0: only a lower row number can enter
  bool ascending = false;                  // instances are offered in the order of their rows: a settled row is done
  std::vector<std::int64_t> query, place;  // (rows,) row number, and place among the queries of the call
  bool propose = false;                    // the list holds folded distances
  std::vector<T> queries;                  // one tile
  std::vector<int> counts;                 // (n_classes,) for votes

  void start(const PopulationJob<T>& job, const Individual<T>& individual, std::int64_t rows, bool only_propose) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    propose = only_propose;
    doubt.assign(std::size_t(rows), 0);
    settled.assign(std::size_t(rows), 0);
    ascending = !individual.scaled && job.n_sets == 1;
    distance.assign(std::size_t(rows * job.k), infinity);
    id.assign(std::size_t(rows * job.k), std::numeric_limits<std::int64_t>::max());
    slack.assign(std::size_t(rows), T(0));
    limit.assign(std::size_t(rows + BLOCK_LANES<T>), infinity);
    std::fill(limit.begin() + rows, limit.end(), -infinity);
    queries.resize(std::size_t(individual.width() * TILE_QUERIES));
    counts.assign(std::size_t(job.n_classes), 0);
  }
};

// The distance of a tile below which an instance may replace one at distance `worst` in the list of `row`.
template <class T>
WB_INLINE T limit_for(const Individual<T>& individual, const NearestLists<T>& nearest, std::int64_t row, T worst) {
  if (nearest.propose)
    worst = folded_limit<T, 2>(worst, nearest.slack[row], individual.width());  // The exact distance may be this large.
  if (individual.folded) worst = folded_limit<T, 2>(worst, nearest.slack[row], individual.width());
  return just_above(worst);
}

// Sets the limit below which a distance of the tile may change the list of `row`. Until the list is full there is none.
template <class T>
WB_INLINE void set_limit(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                         std::int64_t row) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T worst = nearest.distance[row * job.k];
  if (!(worst < infinity)) return;
  nearest.limit[row] =
      nearest.settled[row] && nearest.ascending ? -infinity : limit_for(individual, nearest, row, worst);
}

// Whether an instance whose distance in the tile is d may still enter the list of `row`. The limits may have fallen
// since the tile was compared.
template <class T>
WB_INLINE bool may_enter(const NearestLists<T>& nearest, std::int64_t k, std::int64_t row, T d, std::int64_t id) {
  return d < nearest.limit[row] && !(nearest.settled[row] && id > nearest.id[row * k]);
}

// Offers a folded distance to the list of a row, for k = 1, and notes whether it leaves a doubt. `scale` is that of the
// instance.
//
// Features with few different values put many instances at distance 0. Their folded distance is 0, too, so one exact
// distance shows that nothing can be nearer, and equal instances leave no doubt.
template <class T>
WB_INLINE void propose_pair(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                            std::int64_t row, T d, std::int64_t id, T scale) {
  const T before = nearest.distance[row];
  const bool zero = d == 0 && measure(job, individual, nearest.query[row], id) * scale == 0;
  if (nearest.settled[row]) {
    if (zero) nearest.id[row] = id;  // `may_enter` admits only lower rows.
    else if (d > 0) nearest.doubt[row] = 1;
    return;
  }
  if (!zero && !(d < before)) {
    nearest.doubt[row] = 1;
    return;
  }
  nearest.distance[row] = d;
  nearest.id[row] = id;
  nearest.doubt[row] = before < limit_for(individual, nearest, row, d);  // All earlier ones were at least at `before`.
  nearest.settled[row] = zero;
  set_limit(job, individual, nearest, row);
}

// Offers an exact distance to the list of a row.
template <class T>
WB_INLINE void offer(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                     std::int64_t row, T d, std::int64_t id) {
  T* list = nearest.distance.data() + row * job.k;
  std::int64_t* list_id = nearest.id.data() + row * job.k;
  if (!worse(list[0], list_id[0], d, id)) return;
  replace_worst(list, list_id, job.k, d, id);
  nearest.settled[row] = list[0] == 0;
  set_limit(job, individual, nearest, row);
}

// Sets a first limit for a row: the distance of an instance that is near without weights, for k = 1 without scales. The
// nearest instance cannot be farther, and most tiles are then abandoned early.
template <class T>
WB_INLINE void set_first_limit(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                               std::int64_t i, std::int64_t at, std::int64_t row) {
  const bool* kept = job.kept ? job.kept + i * job.n : nullptr;
  for (std::int64_t g = 0; g < job.n_guesses; ++g) {
    const std::int64_t id = job.guesses[row * job.n_guesses + g];
    if (kept && !kept[id]) continue;
    const T d = measure(job, individual, row, id);
    const T most = individual.folded ? folded_limit<T, 2>(d, nearest.slack[at], individual.width()) : d;
    nearest.limit[at] = just_above(most);
    return;
  }
}

// Gathers the queries [first, first + used) of the call in the form of one set's packed blocks.
template <class T>
WB_NOINLINE WB_KERNEL void gather_queries(const PopulationJob<T>& job, const Individual<T>& individual,
                                          std::int64_t set, std::int64_t first, int used, NearestLists<T>& nearest) {
  for (int q = 0; q < TILE_QUERIES; ++q)
    write_tile_row(job, individual, nearest.query[first + std::min(q, used - 1)], set, nearest.queries.data() + q,
                   TILE_QUERIES);
}

// Sets slack and limits of the queries that `gather_queries` gathered for individual i and one set of weights; `guess`:
// also their first limits.
template <class T>
WB_NOINLINE WB_KERNEL void set_limits(const PopulationJob<T>& job, const Individual<T>& individual,
                                      NearestLists<T>& nearest, std::int64_t i, std::int64_t set, std::int64_t first,
                                      int used, bool guess) {
  for (int q = 0; q < used; ++q) {
    if (individual.folded) {
      nearest.slack[first + q] = folding_slack(individual, nearest.queries.data() + q, set);
      set_limit(job, individual, nearest, first + q);
    }
    if (guess) set_first_limit(job, individual, nearest, i, first + q, nearest.query[first + q]);
  }
}

// Offers the pairs of a tile that are below a limit to the lists. SYMMETRIC: the rows are also the references, so that
// lane, row number and position in the call are the same; every pair is computed once and serves both its rows.
template <class T, bool SYMMETRIC>
WB_NOINLINE WB_KERNEL void offer_pairs(const PopulationJob<T>& job, const Individual<T>& individual,
                                       NearestLists<T>& nearest, std::int64_t first, int used, std::int64_t block,
                                       const TileSums<T>& sum) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  for (int q = 0; q < used; ++q) {
    const std::int64_t at = first + q, row = nearest.query[at];
    unsigned lanes = 0;
    for (int v = 0; v < TILE_VECTORS; ++v) {
      unsigned found = lane_bits<T>(less<T>(sum[q][v], broadcast<T>(nearest.limit[at])));
      if constexpr (SYMMETRIC)
        found |= lane_bits<T>(less<T>(sum[q][v], load<T>(nearest.limit.data() + block * LANES + v * VECTOR_LANES<T>)));
      lanes |= found << (v * VECTOR_LANES<T>);
    }
    if (!lanes) continue;
    T distance[LANES];
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(distance + v * VECTOR_LANES<T>, sum[q][v]);
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const std::int64_t id = individual.ids[block * LANES + lane];
      if (id < 0 || id == row || (SYMMETRIC && id < row)) continue;
      T d = distance[lane];
      const bool enters = may_enter(nearest, job.k, at, d, id);
      const bool other_enters = SYMMETRIC && may_enter(nearest, job.k, id, d, row);
      if (nearest.propose) {
        const T scale = individual.scaled ? individual.scales[block * LANES + lane] : T(1);
        if (enters) propose_pair(job, individual, nearest, at, d, id, scale);
        if (other_enters) propose_pair(job, individual, nearest, id, d, row, scale);
        continue;
      }
      if (!enters && !other_enters) continue;
      if (individual.folded) {
        d = measure(job, individual, row, id);
        if (individual.scaled) d *= individual.scales[block * LANES + lane];
      }
      offer(job, individual, nearest, at, d, id);
      if constexpr (SYMMETRIC) offer(job, individual, nearest, id, d, row);
    }
  }
}

// Compares one tile of queries with the blocks [block, stop) of one set of weights.
template <class T, bool MISSING, bool SYMMETRIC>
WB_INLINE void compare_tile(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                            std::int64_t set, std::int64_t first, int used, std::int64_t block, std::int64_t stop) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Features<T> features{
      .missing_distance = individual.missing_distance.data() + set * individual.width(),
      .numeric = individual.numeric,
      .count = individual.width(),
  };
  // A look at partial sums costs as much as one or two features. Scaled instances are too far after few features.
  const std::int64_t look = individual.scaled         ? 4
                            : individual.width() < 16 ? individual.width()
                                                      : (individual.width() + 1) / 2;
  const T* limit = nearest.limit.data() + first;  // It is -inf beyond the last row.
  T scaled_limit[TILE_QUERIES];
  T behind = infinity, ahead = -infinity;  // The range of the first feature in the tile.
  for (int q = 0; individual.scaled && q < used; ++q) {
    const T x = individual.numeric ? nearest.queries[q] : T(0);
    behind = x == x ? std::min(behind, x) : -infinity;
    ahead = x == x ? std::max(ahead, x) : infinity;
  }
  for (; block < stop; ++block) {
    const T* bound = limit;
    if (individual.scaled) {
      // The first feature alone may prove the whole block too far; the factor covers the rounding of the sums.
      const T apart = std::max(individual.low[block] - ahead, behind - individual.high[block]);
      if (apart > 0 && apart * apart * individual.least[block] * (1 - 16 * std::numeric_limits<T>::epsilon()) >
                           *std::max_element(limit, limit + used))
        continue;
      // Sums are compared before they are multiplied by the scales, so the limits are divided by the smallest one.
      for (int q = 0; q < TILE_QUERIES; ++q)
        scaled_limit[q] = individual.inverse[block] < infinity ? limit[q] * individual.inverse[block]
                          : q < used                           ? infinity
                                                               : -infinity;
      bound = scaled_limit;
    }
    TileSums<T> sum;
    if (!accumulate_tile_below<T, MISSING>(
            nearest.queries.data(), individual.packed.data() + block * individual.width() * LANES, features, look,
            bound, SYMMETRIC ? nearest.limit.data() + block * LANES : nullptr, sum))
      continue;
    if (individual.scaled)
      for (int v = 0; v < TILE_VECTORS; ++v) {
        const Vec<T> scale = load<T>(individual.scales.data() + block * LANES + v * VECTOR_LANES<T>);
        for (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
      }
    offer_pairs<T, SYMMETRIC>(job, individual, nearest, first, used, block, sum);
  }
}

// Fills the lists of the queries [begin, end) of `job` for individual i.
template <class T, bool MISSING>
WB_KERNEL void search_rows(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                           std::int64_t i, std::int64_t begin, std::int64_t end, bool propose) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, CACHE_BYTES = 256 * 1024;
  const std::int64_t rows = end - begin;
  const std::int64_t part_blocks = std::max<std::int64_t>(
      1, CACHE_BYTES / std::max<std::int64_t>(1, individual.width() * LANES * std::int64_t(sizeof(T))));
  const bool symmetric = job.all_rows && rows == job.n && job.n_sets == 1 && !job.kept && !individual.scaled;
  nearest.start(job, individual, rows, propose);
  nearest.place.resize(std::size_t(rows));
  nearest.query.resize(std::size_t(rows));
  std::iota(nearest.place.begin(), nearest.place.end(), begin);
  const std::int32_t* order = first_order(job, individual);
  // Tiles hold rows that are similar in the first feature, so that whole blocks are too far from all of them.
  if (individual.scaled && order && job.all_rows && rows == job.n) std::copy_n(order, rows, nearest.place.begin());
  for (std::int64_t at = 0; at < rows; ++at) nearest.query[at] = job.query[nearest.place[at]];
  const bool guessing = job.k == 1 && job.n_sets == 1 && job.n_guesses > 0 && !individual.scaled;
  if (symmetric)  // Both rows of a pair need slack and limit from the start.
    for (std::int64_t first = 0; first < rows; first += TILE_QUERIES) {
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, rows - first));
      if (individual.folded) gather_queries(job, individual, 0, first, used, nearest);
      set_limits(job, individual, nearest, i, 0, first, used, guessing);
    }
  for (std::int64_t s = 0; s < job.n_sets; ++s)
    for (std::int64_t part = individual.set_start[s]; part < individual.set_start[s + 1]; part += part_blocks) {
      const std::int64_t stop = std::min(part + part_blocks, individual.set_start[s + 1]);
      for (std::int64_t first = 0; first < rows; first += TILE_QUERIES) {
        const int used = int(std::min<std::int64_t>(TILE_QUERIES, rows - first));
        if (symmetric && stop * LANES <= first) break;  // All pairs with lower rows are done.
        gather_queries(job, individual, s, first, used, nearest);
        if (!symmetric && part == individual.set_start[s])
          set_limits(job, individual, nearest, i, s, first, used, guessing);
        if (symmetric)
          compare_tile<T, MISSING, true>(job, individual, nearest, s, first, used, std::max(part, first / LANES), stop);
        else compare_tile<T, MISSING, false>(job, individual, nearest, s, first, used, part, stop);
      }
    }
}

// Predictions of individual i for the queries [begin, end). Rows in doubt are searched again with exact distances.
template <class T, bool MISSING>
WB_KERNEL void scan_individual(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                               std::int64_t i, std::int64_t begin, std::int64_t end) {
  const std::int64_t k = job.k;
  const std::int64_t to = i * job.n_queries;
  search_rows<T, MISSING>(job, individual, nearest, i, begin, end, k == 1 && individual.folded && job.n_sets == 1);
  std::vector<std::int64_t> doubtful, row;
  for (std::int64_t at = 0; at < end - begin; ++at) {
    write_prediction(job, to + nearest.place[at], nearest.distance.data() + at * k, nearest.id.data() + at * k, k,
                     nearest.counts.data());
    if (!nearest.doubt[at]) continue;
    doubtful.push_back(nearest.place[at]);
    row.push_back(nearest.query[at]);
  }
  if (doubtful.empty()) return;
  PopulationJob<T> again = job;
  again.query = row.data();
  again.all_rows = false;
  search_rows<T, MISSING>(again, individual, nearest, i, 0, std::int64_t(row.size()), false);
  for (std::size_t at = 0; at < row.size(); ++at)
    write_prediction(job, to + doubtful[std::size_t(nearest.place[at])], nearest.distance.data() + at,
                     nearest.id.data() + at, 1, nearest.counts.data());
}

// Predictions of the individuals [first, last) for the queries [begin, end).
template <class T, bool MISSING>
WB_KERNEL void predict_by_scan(const PopulationJob<T>& job, std::int64_t first, std::int64_t last, std::int64_t begin,
                               std::int64_t end) {
  Individual<T> individual;
  NearestLists<T> nearest;
  MinimaScratch<T> scratch;
  RoundedIndividual rounded;
  const bool by_pairs = !MISSING && pairs_serve(job, begin, end);
  for (std::int64_t i = first; i < last; ++i) {
    if (by_pairs && predict_by_pairs(job, i, individual, rounded)) continue;
    const bool all = compares_all(job, i);
    pack_individual(job, i, individual, !all);
    if (all) predict_by_minima<T, MISSING>(job, individual, scratch, i, begin, end);
    else scan_individual<T, MISSING>(job, individual, nearest, i, begin, end);
  }
}

// Squared distances, without weights, of the rows [begin, end) to all rows; infinite to itself and for padding.
// `square` has one row for each of these rows.
template <class T, bool MISSING>
WB_KERNEL void compute_squared_distances(const PopulationJob<T>& job, T* square, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Individual<T> all;
  NearestLists<T> nearest;
  pack_individual(job, 0, all, true);
  nearest.start(job, all, TILE_QUERIES, false);
  nearest.query.resize(TILE_QUERIES);
  const std::int64_t blocks = all.set_start[1], stride = blocks * LANES;
  for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
    const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
    for (int q = 0; q < used; ++q) nearest.query[q] = first + q;
    gather_queries(job, all, 0, 0, used, nearest);
    for (std::int64_t block = 0; block < blocks; ++block) {
      TileSums<T> sum;
      accumulate_tile<T, 2, false, MISSING>(
          nearest.queries.data(), all.packed.data() + block * all.width() * LANES, nullptr,
          {.missing_distance = all.missing_distance.data(), .numeric = all.numeric, .count = all.width()}, sum);
      for (int q = 0; q < used; ++q)
        for (int v = 0; v < TILE_VECTORS; ++v)
          store<T>(square + (first - begin + q) * stride + block * LANES + v * VECTOR_LANES<T>, sum[q][v]);
    }
    for (std::int64_t row = first; row < first + used; ++row) {
      T* of_row = square + (row - begin) * stride;
      std::fill(of_row + job.n, of_row + stride, infinity);
      of_row[row] = infinity;
    }
  }
}

}  // namespace wb::WB_LEVEL

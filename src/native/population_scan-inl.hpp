// Leave-one-out predictions of many individuals of an evolutionary search (paper 004). An individual is a selection of
// instances and features with weights on both (individual-inl.hpp); the prediction of a row is the most frequent class
// among its k nearest selected instances, without the row itself, or the mean of their numeric targets.
//
// `predict_by_scan` serves every individual: it packs the selected instances and features once and compares tiles of
// rows with them, as every search does (scan-inl.hpp). Numeric features without missing values are left to
// population_pairs-inl.hpp where that has the instructions. `predict_from_matrix` reads distances that were computed
// before, and `predict_from_lists` (population_lists.hpp) sorted neighbour lists. All give the same predictions.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The most frequent class among the k entries of a list; of equally frequent classes the one with the lower code wins.
// `counts` is all zero before and after, so that it need not be cleared per row.
template <class T>
WB_INLINE int vote(const T* distance, const std::int64_t* id, std::int64_t k, const Values<std::int32_t>& codes,
                   int* counts) {
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
WB_INLINE double mean_target(T* distance, std::int64_t* id, std::int64_t k, const Values<double>& targets,
                             double otherwise) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) return distance[0] < infinity ? targets[id[0]] : otherwise;
  sort_list(distance, id, k);
  double sum = 0;
  std::int64_t found = 0;
  for (; found < k && distance[found] < infinity; ++found) sum += targets[id[found]];
  return found ? sum / double(found) : otherwise;
}

// The lists of the k nearest selected instances of some rows, as heaps.
template <class T> struct NearestLists {
  std::vector<T> distance;       // (rows, k)
  std::vector<std::int64_t> id;  // (rows, k)
  std::vector<int> counts;       // (n_classes,) for votes

  void clear(const PopulationJob<T>& job, std::int64_t rows) {
    distance.assign(std::size_t(rows * job.k), std::numeric_limits<T>::infinity());
    id.assign(std::size_t(rows * job.k), std::numeric_limits<std::int64_t>::max());
    counts.assign(std::size_t(job.n_classes), 0);
  }
  // Writes what each list predicts for one of the queries from `begin` on. The lists are used up.
  WB_INLINE void write_predictions(const PopulationJob<T>& job, std::int64_t individual, std::int64_t begin) {
    T* d = distance.data();
    std::int64_t* of = id.data();
    for (std::int64_t query = begin; d < distance.data() + distance.size(); ++query, d += job.k, of += job.k)
      if (job.targets) job.numbers[individual][query] = mean_target(d, of, job.k, job.targets, job.otherwise);
      else job.predicted[individual][query] = vote(d, of, job.k, job.codes, counts.data());
  }
};

// The collector of `scan_tiles` that keeps the k nearest selected instances of one set of weights, whose lanes begin at
// `first_lane`, by exact distance. Rows count from the first one of the call.
template <class T> struct IndividualCollector {
  const PopulationJob<T>& job;
  const Individual<T>& individual;
  std::int64_t begin;  // the first query
  const T* slack;      // (rows,) what folding changes in a distance (not squared); if rows are folded
  std::int64_t first_lane;
  NearestLists<T>& nearest;

  WB_INLINE T widen(T worst, std::int64_t row) const {
    if (worst == std::numeric_limits<T>::infinity()) return worst;
    // If rows ascend, the one in the list stays of equal distances. They do within a set without scales.
    if (job.n_sets() > 1 || individual.scaled) worst = just_above(worst);
    else if (worst == 0) return 0;
    return individual.folded ? folded_limit<T, 2>(worst, slack[row], individual.width()) : worst;
  }
  WB_INLINE T limit(std::int64_t row, std::int64_t) const { return widen(nearest.distance[row * job.k], row); }
  // Selected instances are few, so that even the list of one neighbour would change for most tiles. Scales order
  // instances, and then nearly all tiles are left after a look.
  std::int64_t first_wanted() const { return look() ? 0 : std::max(FirstBlocks<T>::LEAST_WANTED, job.k + 1); }
  std::int64_t look() const { return individual.scaled && job.k == 1 ? 4 : 0; }
  // At least k other instances have sums of at most `kth`, so nothing beyond it can enter the list.
  WB_KERNEL T limit_of_kth(std::int64_t row, T kth) const {
    if (individual.folded) kth = folded_limit<T, 2>(kth, slack[row], individual.width());
    return std::nextafter(widen(kth, row), std::numeric_limits<T>::infinity());
  }
  // Not inlined, because it is rare and its registers would push the tile's sums out of theirs.
  WB_NOINLINE WB_KERNEL T take(const TilePosition& place, unsigned lanes, const T* distance, T limit) const {
    T* list = nearest.distance.data() + place.row * job.k;
    std::int64_t* list_id = nearest.id.data() + place.row * job.k;
    const std::int64_t own = job.row_of(begin + place.row);
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (!(distance[lane] < limit)) continue;  // The limit may have fallen since the lanes were found.
      const std::int64_t at = first_lane + place.block * BLOCK_LANES<T> + lane, id = individual.ids[at];
      if (id < 0 || id == own) continue;
      T d = distance[lane];
      if (individual.folded) {
        d = measure(job, individual, own, id);
        if (individual.scaled) d *= individual.scales[at];
      }
      if (!worse(list[0], list_id[0], d, id)) continue;
      replace_worst(list, list_id, job.k, d, id);
      limit = std::min(limit, widen(list[0], place.row));
    }
    return limit;
  }
};

// Predictions of individual i for the queries [begin, end).
template <class T, bool MISSING>
WB_KERNEL void scan_individual(const PopulationJob<T>& job, const Individual<T>& individual, NearestLists<T>& nearest,
                               std::vector<T>& queries, std::int64_t i, std::int64_t begin, std::int64_t end) {
  const std::int64_t rows = end - begin, width = individual.width();
  std::vector<T> slack(std::size_t(individual.folded ? rows : 0));
  queries.resize(std::size_t(rows * width));
  nearest.clear(job, rows);
  for (std::int64_t set = 0; set < job.n_sets(); ++set) {
    const std::int64_t first = individual.set_start[set], lane = first * BLOCK_LANES<T>;
    const std::int64_t group_start[] = {0, individual.set_start[set + 1] - first};
    for (std::int64_t row = 0; row < rows; ++row) {
      T* to = queries.data() + row * width;
      write_tile_row(job, individual, job.row_of(begin + row), set, to, 1);
      if (individual.folded) slack[row] = folding_slack(individual, to, set);
    }
    const std::int64_t n_blocks = group_start[1], n_lanes = n_blocks * BLOCK_LANES<T>;
    const References<T> refs{
        .packed = {individual.packed.data() + lane * width, {n_blocks, width, BLOCK_LANES<T>}},
        .scales = {individual.scaled ? individual.scales.data() + lane : nullptr, {n_lanes}},
        .group_start = {group_start, {2}},
        .missing_distance = {individual.missing_distance.data() + set * width, {width}},
        .n_numeric = individual.numeric,
    };
    const IndividualCollector<T> collector{.job = job,
                                           .individual = individual,
                                           .begin = begin,
                                           .slack = slack.data(),
                                           .first_lane = lane,
                                           .nearest = nearest};
    const Queries<T> tile_rows{.references = &refs, .rows = {queries.data(), {rows, width}}};
    scan_tiles<T, 2, false, MISSING>(tile_rows, collector, 0, rows);
  }
  nearest.write_predictions(job, i, begin);
}

// Predictions of the individuals [job.first, job.last) for the queries [begin, end).
template <class T, bool MISSING>
WB_KERNEL void predict_by_scan(const PopulationJob<T>& job, std::int64_t begin, std::int64_t end) {
  Individual<T> individual;
  NearestLists<T> nearest;
  RoundedIndividual rounded;
  std::vector<T> queries;
  const bool by_pairs = !MISSING && pairs_serve(job, begin, end);
  for (std::int64_t i = job.first; i < job.last; ++i) {
    if (by_pairs && predict_by_pairs(job, i, individual, rounded)) continue;
    pack_individual(job, i, individual);
    scan_individual<T, MISSING>(job, individual, nearest, queries, i, begin, end);
  }
}

// Predictions of individuals, which select and scale instances but not features, for the rows [begin, end): the
// distances are those of the matrix times v_x^2, so that one product replaces a sum over features. Instances that are
// not selected get an infinite scale; infinity times a distance of 0 is NaN, which is below nothing either.
// square: (n, stride), of whole vectors, infinite to itself and for padding.
template <class T>
WB_KERNEL void predict_from_matrix(const PopulationJob<T>& job, const Rows<T>& square, std::int64_t begin,
                                   std::int64_t end) {
  constexpr int LANES = VECTOR_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  std::vector<T> scale(std::size_t(square.width()), infinity);
  NearestLists<T> nearest;
  for (std::int64_t i = job.first; i < job.last; ++i) {
    for (std::int64_t x = 0; x < job.rows.size(); ++x) {
      const bool selected = !job.kept || job.kept[i][x];
      scale[x] = !selected ? infinity : job.scales ? job.scales[i][x] : T(1);
    }
    nearest.clear(job, end - begin);
    for (std::int64_t row = 0; row < end - begin; ++row) {
      const T* d = square[begin + row];
      T* list = nearest.distance.data() + row * job.k;
      std::int64_t* list_id = nearest.id.data() + row * job.k;
      for (std::int64_t at = 0; at < square.width(); at += LANES) {
        const Vec<T> here = load<T>(d + at) * load<T>(scale.data() + at);
        unsigned near = lane_bits<T>(less<T>(here, broadcast<T>(list[0])));
        if (!near) continue;
        T distance[LANES];
        store<T>(distance, here);
        for (; near; near &= near - 1) {
          const int lane = std::countr_zero(near);
          if (distance[lane] < list[0]) replace_worst(list, list_id, job.k, distance[lane], at + lane);
        }
      }
    }
    nearest.write_predictions(job, i, begin);
  }
}

}  // namespace wb::WB_LEVEL

// Leave-one-out predictions by the nearest selected instance (k = 1, one set of weights), for individuals that select
// so few instances that all distances of six rows fit in the first-level cache. All of them are computed, then their
// minimum is taken. That has no branches per pair, while `search_rows` pays for its early exits with limits and lists.
// Both give the same predictions.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The most selected instances for which all distances are computed: six rows of them take 24 kB in single precision.
constexpr std::int64_t MINIMA_LANES = 1024;
// Fewer if they have scales: the early exits of `search_rows` then spare most of the work (measured with 68 to 1000
// selected instances).
constexpr std::int64_t SCALED_MINIMA_LANES = 448;

// What the predictions of one call need besides the individual.
template <class T> struct MinimaScratch {
  std::vector<T> queries;             // (width, TILE_QUERIES) one tile
  std::vector<T> distance;            // (TILE_QUERIES, lanes)
  std::vector<std::int64_t> lane_of;  // (n,) lane of each row among the selected ones, -1: not selected
};

// Whether individual i is predicted here. If all rows are instances without scales, `search_rows` computes each pair
// once for both its rows; with more than a few features that is worth more than its limits and lists cost (measured
// with 178 to 615 rows).
template <class T> WB_INLINE bool compares_all(const PopulationJob<T>& job, std::int64_t i) {
  constexpr std::int64_t FEW_FEATURES = 8;
  if (job.k != 1 || job.n_sets != 1) return false;
  const std::int64_t m = job.features.count;
  const T* a = job.weights ? job.weights + i * m : nullptr;
  const bool* kept = job.kept ? job.kept + i * job.n : nullptr;
  const std::int64_t features = a ? std::count_if(a, a + m, [](T weight) { return weight > 0; }) : m;
  const std::int64_t instances = kept ? std::count(kept, kept + job.n, true) : job.n;
  const std::int64_t most = job.scales ? SCALED_MINIMA_LANES : MINIMA_LANES;
  return instances <= most && (kept || job.scales || features < FEW_FEATURES);
}

// Writes the squared distances of one tile of queries to all lanes to `scratch.distance`; infinite to padding.
template <class T, bool MISSING>
WB_NOINLINE WB_KERNEL void measure_tile(const Individual<T>& individual, MinimaScratch<T>& scratch, int used) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const std::int64_t blocks = individual.set_start[1], stride = blocks * LANES, width = individual.width();
  const Features<T> features{
      .missing_distance = individual.missing_distance.data(), .numeric = individual.numeric, .count = width};
  for (std::int64_t block = 0; block < blocks; ++block) {
    TileSums<T> sum;
    accumulate_tile<T, 2, false, MISSING>(scratch.queries.data(), individual.packed.data() + block * width * LANES,
                                          nullptr, features, sum);
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
      const std::int64_t at = block * LANES + v * VECTOR_LANES<T>;
      if (individual.scaled) {
        const Vec<T> scale = load<T>(individual.scales.data() + at);
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
      }
      WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) store<T>(scratch.distance.data() + q * stride + at, sum[q][v]);
    }
  }
  for (std::int64_t lane = stride; lane-- > 0 && individual.ids[lane] < 0;)
    for (int q = 0; q < used; ++q) scratch.distance[q * stride + lane] = std::numeric_limits<T>::infinity();
}

// The smallest of `count` values, a multiple of BLOCK_LANES.
template <class T> WB_INLINE T smallest(const T* values, std::int64_t count) {
  constexpr int LANES = VECTOR_LANES<T>;
  Vec<T> first = broadcast<T>(std::numeric_limits<T>::infinity()), second = first;
  for (std::int64_t at = 0; at < count; at += 2 * LANES) {
    first = smaller<T>(load<T>(values + at), first);
    second = smaller<T>(load<T>(values + at + LANES), second);
  }
  T lanes[LANES];
  store<T>(lanes, smaller<T>(first, second));
  return *std::min_element(lanes, lanes + LANES);
}

// The lane of the nearest selected instance of `row`, whose distances to all lanes are given; -1: there is none.
//
// Lanes are in the order of rows, so the first of equal distances is the right one. Folded distances are rounded: each
// lane below `limit` may be the nearest one. If there are several, their exact distances decide.
template <class T>
WB_INLINE std::int64_t nearest_lane(const PopulationJob<T>& job, const Individual<T>& individual, std::int64_t row,
                                    const T* distance, T slack) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr int LANES = VECTOR_LANES<T>;
  const std::int64_t count = individual.set_start[1] * BLOCK_LANES<T>;
  const T least = smallest(distance, count);
  if (!(least < infinity)) return -1;
  T limit = just_above(least);
  if (individual.folded)
    for (int i = 0; i < 2; ++i) limit = just_above(folded_limit<T, 2>(limit, slack, individual.width()));
  std::int64_t best = -1;
  T best_exact = infinity;
  for (std::int64_t at = 0; at < count; at += LANES) {
    unsigned lanes = lane_bits<T>(less<T>(load<T>(distance + at), broadcast<T>(limit)));
    for (; lanes; lanes &= lanes - 1) {
      const std::int64_t lane = at + std::countr_zero(lanes);
      T exact = distance[lane];
      if (individual.folded) {
        exact = measure(job, individual, row, individual.ids[lane]);
        if (individual.scaled) exact *= individual.scales[lane];
      }
      if (!(exact < best_exact)) continue;
      best = lane;
      best_exact = exact;
      if (exact == 0) return best;
    }
  }
  return best;
}

// Predictions of individual i for the queries [begin, end).
template <class T, bool MISSING>
WB_KERNEL void predict_by_minima(const PopulationJob<T>& job, const Individual<T>& individual,
                                 MinimaScratch<T>& scratch, std::int64_t i, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = individual.width(), stride = individual.set_start[1] * BLOCK_LANES<T>;
  scratch.queries.resize(std::size_t(width * TILE_QUERIES));
  scratch.distance.resize(std::size_t(stride * TILE_QUERIES));
  scratch.lane_of.assign(std::size_t(job.n), -1);
  for (std::size_t lane = 0; lane < individual.ids.size(); ++lane)
    if (individual.ids[lane] >= 0) scratch.lane_of[individual.ids[lane]] = std::int64_t(lane);
  for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
    const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
    for (int q = 0; q < TILE_QUERIES; ++q)
      write_tile_row(job, individual, job.query[first + std::min(q, used - 1)], 0, scratch.queries.data() + q,
                     TILE_QUERIES);
    measure_tile<T, MISSING>(individual, scratch, used);
    for (int q = 0; q < used; ++q) {
      const std::int64_t row = job.query[first + q], own = scratch.lane_of[row];
      T* distance = scratch.distance.data() + q * stride;
      if (own >= 0) distance[own] = std::numeric_limits<T>::infinity();
      const T slack = individual.folded ? folding_slack(individual, scratch.queries.data() + q, 0) : T(0);
      const std::int64_t lane = nearest_lane(job, individual, row, distance, slack);
      const std::int64_t at = i * job.n_queries + first + q;
      if (job.targets) job.numbers[at] = lane < 0 ? job.otherwise : job.targets[individual.ids[lane]];
      else job.predicted[at] = lane < 0 ? NO_PREDICTION : job.codes[individual.ids[lane]];
    }
  }
}

}  // namespace wb::WB_LEVEL

// All pairs of queries and packed references: their distances, sums of their differences weighted by
// coefficients (RELIEF, SURF and their relatives), and sums of their Euclidean distances (MBIW, paper 000, eq. 2).
//
// SURF counts all rows nearer than a threshold as neighbours: hits lower and misses raise the weight of a feature.
// SURF* and MultiSURF* also count far rows, with the opposite sign. The threshold is the mean distance of all pairs, or
// each row's mean distance with a dead band of half a standard deviation on either side (MultiSURF).
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// City-block or squared Euclidean distances of the queries [begin, end) to all references: (end - begin, n_lanes).
template <class T, int P, bool MISSING>
WB_KERNEL void compute_distances(const PackedRows<T>& rows, const Rows<T>& queries, T* distance, std::int64_t begin,
                                 std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const Features<T> features = rows.features();
  const std::int64_t m = features.count, width = rows.n_lanes();
  std::vector<T> tile_rows(std::size_t(m * TILE_QUERIES));
  for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
    gather_tile(queries.data, first, end, m, 0, m, tile_rows.data());
    const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
    for (std::int64_t block = 0; block < rows.packed.size(); ++block) {
      TileSums<T> sum;
      accumulate_tile<T, P, false, MISSING>(tile_rows.data(), rows.packed[block], nullptr, features, sum);
      for (int q = 0; q < used; ++q) {
        T* out = distance + (first - begin + q) * width + block * LANES;
        for (int v = 0; v < TILE_VECTORS; ++v) store<T>(out + v * VECTOR_LANES<T>, sum[q][v]);
      }
    }
  }
}

// Sum of d - mean, or of its square, over n distances. Eight partial sums allow vectors without a change of the order
// of additions, which compilers may not make.
template <class T> WB_INLINE double sum_powers(const T* d, std::int64_t n, double mean, bool square) {
  double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  std::int64_t z = 0;
  for (; z + 8 <= n; z += 8)
    for (int i = 0; i < 8; ++i) {
      const double value = double(d[z + i]) - mean;
      part[i] += square ? value * value : value;
    }
  for (; z < n; ++z) part[0] += square ? (double(d[z]) - mean) * (double(d[z]) - mean) : double(d[z]) - mean;
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

// For one row, the distances where near ends and where far begins.
struct Thresholds {
  double low, high;
};

// A fixed threshold, or mean - sd / 2 and mean + sd / 2 of the distances of one row to all others.
template <class T> WB_INLINE Thresholds zone_thresholds(const Zones& zones, std::int64_t row, T* distance) {
  if (zones.threshold >= 0) return {zones.threshold, zones.threshold};
  const std::int64_t n = zones.size();
  distance[row] = 0;  // A row with missing values is not at distance 0 from itself.
  const double mean = sum_powers(distance, n, 0.0, false) / double(n - 1);
  distance[row] = T(mean);  // So that it adds nothing to the squares but the rounding of the mean to T.
  const double rest = (double(distance[row]) - mean) * (double(distance[row]) - mean);
  const double half = std::sqrt(std::max(0.0, sum_powers(distance, n, mean, true) - rest) / double(n - 1)) / 2;
  return {mean - half, mean + half};
}

// Numbers of rows in the two zones.
struct ZoneCounts {
  std::int64_t near = 0, far = 0;
};

// Counts the rows [from, to) of each zone by their distances.
template <class T>
WB_INLINE ZoneCounts count_zones(const T* distance, std::int64_t from, std::int64_t to, T below, T above) {
  ZoneCounts counts;
  for (std::int64_t z = from; z < to; ++z) {
    counts.near += distance[z] < below ? 1 : 0;
    counts.far += distance[z] > above ? 1 : 0;
  }
  return counts;
}

// Turns the distances of the rows [from, to) into coefficients, in place: `scale` is shared among the near rows, and
// with the opposite sign among the far ones.
template <class T>
WB_INLINE void write_coefficients(T* distance, std::int64_t from, std::int64_t to, T below, T above, double scale,
                                  const ZoneCounts& counts, bool far) {
  const T for_near = T(counts.near > 0 ? scale / double(counts.near) : 0.0);
  const T for_far = T(far && counts.far > 0 ? -scale / double(counts.far) : 0.0);
  for (std::int64_t z = from; z < to; ++z)
    distance[z] = distance[z] < below ? for_near : distance[z] > above ? for_far : T(0);
}

// Turns the distances of one row into coefficients of its differences, in place. A near row of class c counts
// factor[own class, c] * weight[row] / number of near rows of class c; a far row counts the same with the opposite
// sign. With a numeric target there are two groups in place of classes: hits and misses. The coefficient is 0 between
// the zones, for the row itself and for padding.
template <class T>
WB_INLINE void distances_to_coefficients(const Zones& zones, std::int64_t row, T* distance, std::int64_t width) {
  const Thresholds at = zone_thresholds(zones, row, distance);
  // Distances that equal a threshold up to rounding belong to no zone: rounding must not decide.
  const T below = T(at.low * (1 - zones.tolerance)), above = T(at.high * (1 + zones.tolerance));
  distance[row] = above;  // In neither zone: neither below `below` nor above `above`.
  const std::int64_t n = zones.size();
  const auto scale_of = [&](std::int64_t group) { return zones.factor_of(row, group) * zones.weight[row]; };
  if (zones.numeric()) {
    const std::int64_t first = zones.hit_range[row][0], last = zones.hit_range[row][1];
    const ZoneCounts hits = count_zones(distance, first, last, below, above);
    const ZoneCounts all = count_zones(distance, 0, n, below, above);
    const ZoneCounts misses{.near = all.near - hits.near, .far = all.far - hits.far};
    write_coefficients(distance, 0, first, below, above, scale_of(1), misses, zones.far);
    write_coefficients(distance, first, last, below, above, scale_of(0), hits, zones.far);
    write_coefficients(distance, last, n, below, above, scale_of(1), misses, zones.far);
  } else {
    for (std::int64_t c = 0; c < zones.n_groups(); ++c) {
      const std::int64_t from = zones.class_start[c], to = zones.class_start[c + 1];
      const ZoneCounts counts = count_zones(distance, from, to, below, above);
      write_coefficients(distance, from, to, below, above, scale_of(c), counts, zones.far);
    }
  }
  std::fill(distance + n, distance + width, T(0));
}

// Coefficients of the rows [begin, end) with all rows: (end - begin, n_lanes).
template <class T, bool MISSING>
WB_KERNEL void compute_zone_coefficients(const PackedRows<T>& rows, const Zones& zones, T* coefficient,
                                         std::int64_t begin, std::int64_t end) {
  const std::int64_t width = rows.n_lanes();
  compute_distances<T, 1, MISSING>(rows, rows.rows, coefficient, begin, end);
  for (std::int64_t row = begin; row < end; ++row)
    distances_to_coefficients(zones, row, coefficient + (row - begin) * width, width);
}

// total[j] += sum over pairs of coefficient * |difference of feature j|. Over a run of RUN blocks there is one sum per
// lane, in T, since float has twice the lanes of double; after the run they are added to the total in double, so
// that rounding does not grow with the number of rows. coefficient: (end - begin, n_lanes), 0 for padding.
// MISSING: a number that is missing differs from all others by the missing distance of its feature. A missing category
// (NaN) equals nothing, so that it differs by 1 anyway.
template <class T, bool MISSING>
WB_KERNEL void add_differences(const PackedRows<T>& rows, const T* coefficient, double* total, std::int64_t begin,
                               std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, RUN = 32;
  constexpr int WIDE = VECTOR_LANES<T>;
  const Features<T> features = rows.features();
  const std::int64_t m = features.count, n_blocks = rows.packed.size(), width = rows.n_lanes();
  std::vector<T> tile_rows(std::size_t(m * TILE_QUERIES)), by_lane(std::size_t(m * WIDE));
  for (std::int64_t from = 0; from < n_blocks; from += RUN) {
    const std::int64_t to = std::min(from + RUN, n_blocks);
    for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
      gather_tile(rows.rows.data, first, end, m, 0, m, tile_rows.data());
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
      std::fill(by_lane.begin(), by_lane.end(), T(0));
      for (std::int64_t block = from; block < to; ++block) {
        Vec<T> weight[TILE_QUERIES][TILE_VECTORS];
        Mask<T> busy = no_lane<T>();
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
            const T* from_row = coefficient + (first - begin + std::min(q, used - 1)) * width + block * LANES;
            weight[q][v] = q < used ? load<T>(from_row + v * WIDE) : broadcast<T>(T(0));
            busy = busy | less<T>(broadcast<T>(T(0)), absolute<T>(weight[q][v]));
          }
        if (!any<T>(busy)) continue;  // Most coefficients are 0, if few rows are near.
        const T* values = rows.packed[block];
        std::int64_t j = 0;
        for (; j < features.numeric; ++j) {
          const Vec<T> ref[TILE_VECTORS] = {load<T>(values + j * LANES), load<T>(values + j * LANES + WIDE)};
          Vec<T> sum[TILE_VECTORS] = {load<T>(by_lane.data() + j * WIDE), broadcast<T>(T(0))};
          WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
            const Vec<T> query = broadcast<T>(tile_rows[std::size_t(j * TILE_QUERIES + q)]);
            WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
              Vec<T> difference = absolute<T>(ref[v] - query);
              if constexpr (MISSING)
                difference =
                    choose<T>(equal<T>(difference, difference), difference, broadcast<T>(features.missing_distance[j]));
              sum[v] = add_product<T>(sum[v], weight[q][v], difference);
            }
          }
          store<T>(by_lane.data() + j * WIDE, sum[0] + sum[1]);
        }
        for (; j < m; ++j) {
          const Vec<T> ref[TILE_VECTORS] = {load<T>(values + j * LANES), load<T>(values + j * LANES + WIDE)};
          Vec<T> sum = load<T>(by_lane.data() + j * WIDE);
          for (int q = 0; q < TILE_QUERIES; ++q) {
            const Vec<T> query = broadcast<T>(tile_rows[std::size_t(j * TILE_QUERIES + q)]);
            for (int v = 0; v < TILE_VECTORS; ++v)
              sum = sum + choose<T>(equal<T>(ref[v], query), broadcast<T>(T(0)), weight[q][v]);
          }
          store<T>(by_lane.data() + j * WIDE, sum);
        }
      }
      for (std::int64_t j = 0; j < m; ++j)
        for (int i = 0; i < WIDE; ++i) total[j] += double(by_lane[std::size_t(j * WIDE + i)]);
    }
  }
}

// The collector of `scan_tiles` that adds all Euclidean distances: by_lane is (end - begin, BLOCK_LANES).
template <class T> struct RootCollector {
  std::int64_t begin, n;  // the first query, and the number of references
  double* by_lane;

  T limit(std::int64_t, std::int64_t) const { return std::numeric_limits<T>::infinity(); }
  static std::int64_t first_wanted() { return 0; }
  static constexpr std::int64_t look() { return 0; }
  static T limit_of_kth(std::int64_t, T kth) { return kth; }
  WB_NOINLINE WB_KERNEL T take(const TilePosition& place, unsigned, const T* squares, T limit) const {
    constexpr std::int64_t LANES = BLOCK_LANES<T>;
    T roots[LANES];
    for (std::int64_t i = 0; i < LANES; ++i) roots[i] = std::sqrt(squares[i]);
    std::fill(roots + std::min(LANES, n - place.block * LANES), roots + LANES, T(0));  // those of padding
    for (std::int64_t i = 0; i < LANES; ++i) by_lane[(place.row - begin) * LANES + i] += double(roots[i]);
    return limit;
  }
};

// sums[i] = sum over all rows of the Euclidean distance to row i, in double, for the rows [begin, end).
template <class T>
WB_KERNEL void sum_distances(const PackedRows<T>& rows, double* sums, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const std::int64_t groups[] = {0, rows.packed.size()};
  const References<T> references{.packed = rows.packed,
                                 .group_start = {groups, {2}},
                                 .missing_distance = rows.missing_distance,
                                 .n_numeric = rows.n_numeric};
  std::vector<double> by_lane(std::size_t((end - begin) * LANES), 0.0);
  const RootCollector<T> collector{.begin = begin, .n = rows.rows.size(), .by_lane = by_lane.data()};
  scan_tiles<T, 2, false, false>({.references = &references, .rows = rows.rows}, collector, begin, end);
  for (std::int64_t row = begin; row < end; ++row)
    sums[row] =
        std::accumulate(by_lane.data() + (row - begin) * LANES, by_lane.data() + (row - begin + 1) * LANES, 0.0);
}

}  // namespace wb::WB_LEVEL

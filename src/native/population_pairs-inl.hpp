// Leave-one-out predictions of an individual by the nearest selected instance (k = 1, one set of weights, numeric
// features without missing values), with every pair of selected instances computed once for both its rows.
//
// Rows are folded, (x - center) sqrt(a), and rounded to integers b of 16 bits, so that one instruction multiplies and
// adds two features of eight pairs. |b_q - b_x|^2 = |b_q|^2 + |b_x|^2 - 2 <b_q, b_x> is exact in integers: what is lost
// is only the rounding of the rows, which moves a distance by at most `shift`. With e = LOOSENESS,
//   (1 - e) (s - shift^2 / e) <= d^2 <= (1 + e) (s + shift^2 / e)   for a squared distance d^2 rounded to s,
// so that s alone tells which instances may be the nearest one, without a root. In most rows that is one instance;
// where there are several, their exact distances decide. The predictions are those of population_scan-inl.hpp.
//
// There is no branch per pair. A running minimum keeps the row number in the lowest bits of the distance, and a running
// second minimum shows whether instances were lost that may be the nearest; these rows are compared once more.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Row numbers must leave enough bits of a float for its distance. With few features and more rows, `scan_individual` is
// faster.
constexpr std::int64_t MOST_PAIRED_ROWS = 32768, MOST_NARROW_ROWS = 4096;

#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)

constexpr float LOOSENESS = 1.0f / 512;
// An individual as rounded rows, and the running minima of one call. Positions count the rows: the selected instances
// first, then all others, both ascending. Slots count the queries in tiles of six; a tile has no rows of both kinds.
struct RoundedIndividual {
  std::int64_t kept = 0, blocks = 0, kept_tiles = 0, tiles = 0, pairs = 0;  // pairs: of features
  std::vector<std::int64_t> row;                                            // (n,) per position
  std::vector<std::int32_t> packed;               // (blocks, pairs, lanes) two features of an instance each
  std::vector<std::int32_t> queries;              // (tiles, pairs, TILE_QUERIES) the same times -2
  std::vector<std::int32_t> norm, query_norm;     // squared norms per lane, and per slot less `loss`
  std::vector<float> scale;                       // per position: v^2, the largest is 1; empty: no scales
  std::vector<float> best, second;                // (slots, VECTOR_LANES) smallest distances of a query, by lane
  std::vector<float> column_best, column_second;  // per lane: smallest distances of an instance to earlier rows
  float loss = 0;                                 // shift^2 / e
  float least = 0;                                // distances up to this one may be 0 in type T
  std::int32_t mask = 0;                          // the bits that hold a row number

  std::int64_t slot_of(std::int64_t position) const {
    return position < kept ? position : kept_tiles * TILE_QUERIES + position - kept;
  }
};

// Rounds one feature of the rows at eight positions, the last of which may be unused, and adds the squares of what
// rounding moved. `in_order`: positions are rows. The levels are in the lower 16 bits of the lanes.
WB_INLINE Ints round_feature(const float* column, float factor, std::int64_t position, bool in_order,
                             const std::int64_t* row, std::int64_t used, Vec<float>& moved) {
  constexpr std::int64_t WIDE = VECTOR_LANES<float>;
  // Adding this number rounds to an integer, which is then in the lowest bits of the sum.
  const Vec<float> magic = broadcast<float>(12582912.0f);
  Vec<float> x;
  if (in_order && used == WIDE) {
    x = load<float>(column + position);
  } else {
    float values[WIDE] = {};
    for (std::int64_t lane = 0; lane < used; ++lane) values[lane] = column[row[lane]];
    x = load<float>(values);
  }
  x = x * broadcast<float>(factor);
  const Vec<float> sum = x + magic, rest = x - (sum - magic);
  moved = moved + rest * rest;
  return (Ints)sum;
}

// Rounds and packs the rows. `factor`: per selected feature, what one unit of job.columns is in levels. Returns the
// largest squared residual of a row, in levels.
template <class T>
WB_KERNEL float round_rows(const PopulationJob<T>& job, const std::vector<std::int64_t>& columns,
                           const std::vector<float>& factor, RoundedIndividual& out) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>;
  const std::int64_t n = job.rows.size(), pairs = out.pairs, width = std::int64_t(columns.size());
  out.packed.resize(std::size_t(out.blocks * pairs * LANES));
  out.norm.assign(std::size_t(out.blocks * LANES), 0);
  out.queries.resize(std::size_t(out.tiles * pairs * TILE_QUERIES));
  out.query_norm.assign(std::size_t(out.tiles * TILE_QUERIES), 0);
  Vec<float> largest = broadcast<float>(0);
  std::vector<std::int32_t> doubled(std::size_t(pairs * WIDE));
  const bool in_order = out.kept == n;
  for (std::int64_t position = 0; position < n; position += WIDE) {
    const std::int64_t used = std::min(WIDE, n - position);
    const std::int64_t* row = out.row.data() + position;
    Vec<float> moved = broadcast<float>(0);
    Ints norm = {};
    const bool instances = position < out.blocks * LANES;
    std::int32_t* to = out.packed.data() + position / LANES * pairs * LANES + position % LANES;
    for (std::int64_t c = 0; c < pairs; ++c) {
      Ints both = {};
      for (std::int64_t at = 2 * c; at < std::min(2 * c + 2, width); ++at) {
        const Ints level = round_feature(job.columns[columns[at]], factor[at], position, in_order, row, used, moved);
        both |= (level & 0xffff) << (at % 2 * 16);
      }
      norm += multiply_pairs(both, both);
      if (instances) store_ints(to + c * LANES, both);
      typedef short Shorts __attribute__((vector_size(VECTOR_BYTES)));
      store_ints(doubled.data() + c * WIDE, (Ints)(-((Shorts)both + (Shorts)both)));
    }
    largest = larger<float>(largest, moved);
    std::int32_t norms[WIDE];
    store_ints(norms, norm);
    if (instances) store_ints(out.norm.data() + position, norm);
    for (std::int64_t lane = 0; lane < used; ++lane) {
      const std::int64_t slot = out.slot_of(position + lane);
      out.query_norm[slot] = norms[lane];
      std::int32_t* query = out.queries.data() + slot / TILE_QUERIES * pairs * TILE_QUERIES + slot % TILE_QUERIES;
      for (std::int64_t c = 0; c < pairs; ++c) query[c * TILE_QUERIES] = doubled[c * WIDE + lane];
    }
  }
  float lanes[WIDE];
  store<float>(lanes, largest);
  return *std::max_element(lanes, lanes + WIDE);
}

// Rounds individual i, whose features were chosen. Returns false if its numbers are too large or too small for it, or
// if `scan_individual` is faster.
template <class T>
WB_KERNEL bool round_individual(const PopulationJob<T>& job, std::int64_t i, const Individual<T>& individual,
                                RoundedIndividual& out) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>;
  const std::int64_t n = job.rows.size(), width = individual.width();
  const bool* kept = job.kept ? job.kept[i] : nullptr;
  const T* scales = job.scales ? job.scales[i] : nullptr;
  double largest = 0, square = 0, most = scales ? 0 : 1;
  for (std::int64_t c = 0; c < width; ++c) {
    const double reach = std::sqrt(double(individual.weights[c])) * job.half_range[individual.columns[c]];
    largest = std::max(largest, reach);
    square += reach * reach;
  }
  out.row.resize(std::size_t(n));
  out.kept = kept ? std::count(kept, kept + n, true) : n;
  for (std::int64_t row = 0, in = 0, left = out.kept; row < n; ++row) {
    const bool selected = !kept || kept[row];
    out.row[selected ? in++ : left++] = row;
    if (selected && scales) most = std::max(most, double(scales[row]));
  }
  if (out.kept == 0 || (width < 4 && n > MOST_NARROW_ROWS)) return false;
  // Sums of squares must be finite in type T, and fit in 31 bits as integers; twice a level must fit in 16 bits.
  if (!(square > 0) || !(most > 0) || !(16 * square * std::max(most, 1.0) < double(std::numeric_limits<T>::max())))
    return false;
  const double levels = std::min(16380 / largest, std::sqrt(1.9 * double(1 << 28) / square));
  const double least = 1e4 * double(std::numeric_limits<T>::min()) * levels * levels / most;
  if (!(least < 1e30) || !(levels < double(std::numeric_limits<float>::max()))) return false;
  out.least = float(least);
  std::vector<float> factor(static_cast<std::size_t>(width));
  for (std::int64_t c = 0; c < width; ++c)
    factor[c] = float(levels * std::sqrt(double(individual.weights[c])) * job.half_range[individual.columns[c]]);
  out.blocks = (out.kept + LANES - 1) / LANES;
  out.kept_tiles = (out.kept + TILE_QUERIES - 1) / TILE_QUERIES;
  out.tiles = out.kept_tiles + (n - out.kept + TILE_QUERIES - 1) / TILE_QUERIES;
  out.pairs = (width + 1) / 2;
  out.mask = std::int32_t(std::bit_ceil(std::uint64_t(std::max(n, out.blocks * LANES)))) - 1;
  const float moved = round_rows(job, individual.columns, factor, out);
  // job.columns and the products with `factor` are rounded, too: by less than a hundredth of a level per feature.
  const float shift = 2 * (std::sqrt(moved) * 1.001f + 0.01f * std::sqrt(float(width)));
  out.loss = std::ceil(shift * shift / LOOSENESS);
  for (std::int32_t& norm : out.query_norm) norm -= std::int32_t(out.loss);
  out.scale.clear();
  if (scales) {
    // It is read for all lanes of the last block and for all queries of the last tile, also for their padding.
    out.scale.assign(std::size_t(std::max({n, out.blocks * LANES, out.kept_tiles * TILE_QUERIES})), 1.0f);
    for (std::int64_t position = 0; position < out.kept; ++position)
      out.scale[position] = float(double(scales[out.row[position]]) / most);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  out.best.assign(std::size_t(out.tiles * TILE_QUERIES * VECTOR_LANES<float>), infinity);
  out.second.assign(out.best.size(), infinity);
  out.column_best.assign(std::size_t(out.blocks * LANES), infinity);
  out.column_second.assign(out.column_best.size(), infinity);
  return true;
}

// Replaces the lowest bits of a distance, which are those of `mask`, by a number.
WB_INLINE Vec<float> with_number(Vec<float> distance, Ints mask, std::int64_t number) {
  return (Vec<float>)(((Ints)distance & ~mask) | (std::int32_t(number) - Ints{}));
}

// Enters a distance in the two smallest. The order of the operands matters: NaN, which is infinity with a number,
// enters neither. By name, because GCC turns a choice between numbers with replaced bits into three instructions.
WB_INLINE void enter(Vec<float> distance, Vec<float>& best, Vec<float>& second) {
  second = __builtin_ia32_minps256(__builtin_ia32_maxps256(best, distance), second);
  best = __builtin_ia32_minps256(distance, best);
}

// Compares the tile of queries that begins at `slot`, whose first row has the given position, with the blocks
// [block, stop). SYMMETRIC: the queries are selected instances; pairs with earlier positions are left out, and every
// distance is also entered for the instance of its lane.
template <bool SCALED, bool SYMMETRIC>
WB_INLINE void compare_rounded_tile(RoundedIndividual& individual, std::int64_t slot, std::int64_t position, int used,
                                    std::int64_t block, std::int64_t stop) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>;
  const std::int64_t pairs = individual.pairs;
  const std::int32_t *queries = individual.queries.data() + slot * pairs,
                     *query_norm = individual.query_norm.data() + slot;
  const Ints mask = individual.mask - Ints{};
  Vec<float> best[TILE_QUERIES], second[TILE_QUERIES];
  for (int q = 0; q < TILE_QUERIES; ++q) {
    best[q] = load<float>(individual.best.data() + (slot + q) * WIDE);
    second[q] = load<float>(individual.second.data() + (slot + q) * WIDE);
  }
  for (; block < stop; ++block) {
    Ints sum[TILE_QUERIES][TILE_VECTORS];
    measure_rounded_tile(queries, query_norm, individual.packed.data() + block * pairs * LANES,
                         individual.norm.data() + block * LANES, pairs, sum);
    TileSums<float> distance;
    WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
        distance[q][v] = __builtin_convertvector(sum[q][v], Vec<float>);
    const std::int64_t lane_position = block * LANES;
    if (lane_position + LANES > individual.kept ||
        (SYMMETRIC && (used < TILE_QUERIES || lane_position < position + TILE_QUERIES))) {
      float values[TILE_QUERIES][LANES];
      std::memcpy(values, distance, sizeof values);
      for (int q = 0; q < TILE_QUERIES; ++q)
        for (std::int64_t lane = 0; lane < LANES; ++lane)
          if (lane_position + lane >= individual.kept ||
              (SYMMETRIC && (q >= used || lane_position + lane <= position + q)))
            values[q][lane] = std::numeric_limits<float>::infinity();
      std::memcpy(distance, values, sizeof values);
    }
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
      const std::int64_t at = lane_position + v * WIDE;
      const Vec<float> scale = SCALED ? load<float>(individual.scale.data() + at) : Vec<float>{};
      WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
        enter(with_number(SCALED ? distance[q][v] * scale : distance[q][v], mask, at / WIDE), best[q], second[q]);
      if constexpr (SYMMETRIC) {
        Vec<float> column_best = load<float>(individual.column_best.data() + at);
        Vec<float> column_second = load<float>(individual.column_second.data() + at);
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
          Vec<float> d = distance[q][v];
          if constexpr (SCALED) d = d * individual.scale[position + q];
          enter(with_number(d, mask, position + q), column_best, column_second);
        }
        store<float>(individual.column_best.data() + at, column_best);
        store<float>(individual.column_second.data() + at, column_second);
      }
    }
  }
  for (int q = 0; q < TILE_QUERIES; ++q) {
    store<float>(individual.best.data() + (slot + q) * WIDE, best[q]);
    store<float>(individual.second.data() + (slot + q) * WIDE, second[q]);
  }
}

// Enters all pairs. A few blocks at a time stay in the first-level cache for all tiles.
template <bool SCALED> WB_KERNEL void compare_rounded_rows(RoundedIndividual& individual, std::int64_t n) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, CACHE_BYTES = 16 * 1024;
  const std::int64_t part = std::max<std::int64_t>(1, CACHE_BYTES / (individual.pairs * LANES * 4));
  for (std::int64_t begin = 0; begin < individual.blocks; begin += part) {
    const std::int64_t stop = std::min(begin + part, individual.blocks);
    for (std::int64_t tile = 0; tile < individual.kept_tiles && tile * TILE_QUERIES < stop * LANES; ++tile) {
      const std::int64_t position = tile * TILE_QUERIES;
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, individual.kept - position));
      compare_rounded_tile<SCALED, true>(individual, position, position, used, std::max(begin, position / LANES), stop);
    }
    for (std::int64_t tile = individual.kept_tiles; tile < individual.tiles; ++tile) {
      const std::int64_t slot = tile * TILE_QUERIES,
                         position = individual.kept + (tile - individual.kept_tiles) * TILE_QUERIES;
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, n - position));
      compare_rounded_tile<SCALED, false>(individual, slot, position, used, begin, stop);
    }
  }
}

// The nearest instance so far by exact distance; of equal distances the one with the lower row.
template <class T> struct ExactNearest {
  const PopulationJob<T>& job;
  const Individual<T>& individual;
  const T* scales;
  std::int64_t row, id = -1;
  T distance = std::numeric_limits<T>::infinity();

  WB_INLINE void offer(std::int64_t other) {
    T d = measure(job, individual, row, other);
    if (scales) d *= scales[other];
    if (d < distance || (d == distance && id >= 0 && other < id)) {
      distance = d;
      id = other;
    }
  }
};

// Offers every selected instance whose rounded distance is at most `limit`.
template <class T>
WB_NOINLINE WB_KERNEL void offer_up_to(const RoundedIndividual& rounded, std::int64_t position, float limit,
                                       ExactNearest<T>& nearest) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>;
  const std::int64_t pairs = rounded.pairs, slot = rounded.slot_of(position);
  const std::int32_t* query = rounded.queries.data() + slot / TILE_QUERIES * TILE_QUERIES * pairs + slot % TILE_QUERIES;
  for (std::int64_t block = 0; block < rounded.blocks; ++block) {
    Ints sum[1][TILE_VECTORS];
    measure_rounded_tile(query, rounded.query_norm.data() + slot, rounded.packed.data() + block * pairs * LANES,
                         rounded.norm.data() + block * LANES, pairs, sum);
    for (int v = 0; v < TILE_VECTORS; ++v) {
      const std::int64_t at = block * LANES + v * WIDE;
      Vec<float> distance = __builtin_convertvector(sum[0][v], Vec<float>);
      if (!rounded.scale.empty()) distance = distance * load<float>(rounded.scale.data() + at);
      unsigned lanes = lane_bits<float>(less<float>(distance, broadcast<float>(limit)));
      for (; lanes; lanes &= lanes - 1) {
        const std::int64_t other = at + std::countr_zero(lanes);
        if (other < rounded.kept && other != position) nearest.offer(rounded.row[other]);
        if (nearest.distance == 0) return;  // Rows ascend, so no other row at 0 has a lower number.
      }
    }
  }
}

// The nearest selected instance of the row at `position`; -1: there is none.
template <class T>
WB_INLINE std::int64_t nearest_of(const PopulationJob<T>& job, const Individual<T>& individual, const T* scales,
                                  const RoundedIndividual& rounded, std::int64_t position) {
  constexpr std::int64_t WIDE = VECTOR_LANES<float>;
  const std::int64_t slot = rounded.slot_of(position);
  const bool column = position < rounded.kept;
  const auto instance = [&](float key, std::int64_t lane) {
    const std::int64_t number = std::bit_cast<std::int32_t>(key) & rounded.mask;
    return lane < WIDE ? number * WIDE + lane : number;
  };
  // The lanes of the query, then what was entered for it as an instance.
  float best[WIDE + 1], least = std::numeric_limits<float>::infinity();
  std::memcpy(best, rounded.best.data() + slot * WIDE, WIDE * sizeof(float));
  best[WIDE] = column ? rounded.column_best[position] : least;
  std::int64_t where = -1;
  for (std::int64_t lane = 0; lane <= WIDE; ++lane)
    if (best[lane] < least) {
      least = best[lane];
      where = lane;
    }
  if (where < 0) return -1;
  const std::int64_t nearest = instance(least, where);
  // Upper bounds on the exact distance of this instance, then on the rounded one of any that is as near.
  const std::int32_t bits = std::bit_cast<std::int32_t>(least);
  const float scale = rounded.scale.empty() ? 1.0f : rounded.scale[nearest];
  const float highest =
      std::max(std::bit_cast<float>(bits | rounded.mask), std::bit_cast<float>(bits & ~rounded.mask)) +
      2 * scale * rounded.loss;
  const float margin = 1 + 4 * LOOSENESS + 8 * float(individual.width() + 16) * std::numeric_limits<float>::epsilon();
  const float limit = std::max(highest * margin, rounded.least);
  const float most = std::bit_cast<float>(std::bit_cast<std::int32_t>(limit) | rounded.mask);
  const Vec<float> bound = broadcast<float>(most);
  unsigned near = lane_bits<float>(less<float>(load<float>(best), bound)) | unsigned(best[WIDE] < most) << WIDE;
  unsigned more = lane_bits<float>(less<float>(load<float>(rounded.second.data() + slot * WIDE), bound)) |
                  unsigned(column && rounded.column_second[position] < most);
  if (!more && std::has_single_bit(near)) return rounded.row[nearest];
  ExactNearest<T> exact{.job = job, .individual = individual, .scales = scales, .row = rounded.row[position]};
  if (more) offer_up_to(rounded, position, most, exact);
  else
    for (; near; near &= near - 1) {
      const int lane = std::countr_zero(near);
      exact.offer(rounded.row[instance(best[lane], lane)]);
    }
  return exact.id;
}

// Whether individuals of this call may be predicted here.
template <class T> WB_INLINE bool pairs_serve(const PopulationJob<T>& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = job.rows.size();
  return job.columns && job.k == 1 && job.n_sets() == 1 && !job.query && begin == 0 && end == n &&
         n <= MOST_PAIRED_ROWS;
}

// Predicts all rows for individual i. Returns false if `round_individual` does.
template <class T>
WB_KERNEL bool predict_by_pairs(const PopulationJob<T>& job, std::int64_t i, Individual<T>& individual,
                                RoundedIndividual& rounded) {
  const std::int64_t n = job.rows.size();
  choose_features(job, i, individual);
  if (!round_individual(job, i, individual, rounded)) return false;
  if (rounded.scale.empty()) compare_rounded_rows<false>(rounded, n);
  else compare_rounded_rows<true>(rounded, n);
  const T* scales = job.scales ? job.scales[i] : nullptr;
  for (std::int64_t position = 0; position < n; ++position) {
    const std::int64_t id = nearest_of(job, individual, scales, rounded, position), row = rounded.row[position];
    if (job.targets) job.numbers[i][row] = id < 0 ? job.otherwise : job.targets[id];
    else job.predicted[i][row] = id < 0 ? NO_PREDICTION : job.codes[id];
  }
  return true;
}

#else  // No instruction multiplies pairs of integers.

struct RoundedIndividual {};
template <class T> bool pairs_serve(const PopulationJob<T>&, std::int64_t, std::int64_t) { return false; }
template <class T> bool predict_by_pairs(const PopulationJob<T>&, std::int64_t, Individual<T>&, RoundedIndividual&) {
  return false;
}

#endif

}  // namespace wb::WB_LEVEL

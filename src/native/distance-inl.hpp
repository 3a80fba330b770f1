// The distance of a query q and a reference x with feature weights a and instance scale v:
//   d^p = v^p * sum_j a_j * |q_j - x_j|^p,   p = 1 or 2.
// It exists twice: `accumulate_tile` computes the sums of 6 queries and one packed block, `exact_distance` that of one
// pair of rows. Both add the features in the same order with the same operations, so they agree to the bit.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

template <class T> WB_INLINE T absolute(T v) { return std::abs(v); }

// sum + a * b, rounded once wherever the level can: the fused operation is called by name, since whether a compiler
// fuses a sum and a product depends on its options and on what surrounds them. Where it has no name for the fused
// vector operation, -ffp-contract=fast fuses it.
template <class T> WB_INLINE Vec<T> add_product(Vec<T> sum, Vec<T> a, Vec<T> b) {
#if defined(WB_FUSED) && WB_VECTOR_EXTENSIONS && defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, sum);
#elif defined(WB_FUSED) && WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2) && !defined(__clang__)
  if constexpr (sizeof(T) == 4) return __builtin_ia32_vfmaddps256(a, b, sum);
  else return __builtin_ia32_vfmaddpd256(a, b, sum);
#else
  return sum + a * b;
#endif
}
template <class T> WB_INLINE T add_product(T sum, T a, T b) {
#ifdef WB_FUSED
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, sum);
  else return __builtin_fma(a, b, sum);
#else
  return sum + a * b;
#endif
}

// The number one, hidden from the optimiser. sum + 1 * x equals sum + x to the bit, but x86 cores add on two units and
// multiply-add on two others: the subtractions keep the first two busy, so the additions go to the others.
template <class T> WB_INLINE Vec<T> hidden_one() {
  static volatile T one = 1;
  return broadcast<T>(T(one));
}

// Adds one feature's term to a sum. W tells whether a weight multiplies it; V is T or Vec<T>.
template <class T, int P, bool W, class V> WB_INLINE V add_term(V sum, V weight, V diff) {
  if constexpr (P == 2 && W) return add_product<T>(sum, weight * diff, diff);
  if constexpr (P == 2 && !W) return add_product<T>(sum, diff, diff);
  if constexpr (P == 1 && W) return add_product<T>(sum, weight, diff);
  if constexpr (P == 1 && !W) return sum + diff;
}

template <class T> using TileSums = Vec<T>[TILE_QUERIES][TILE_VECTORS];

// Where the queries of a tile are: gathered, (features, TILE_QUERIES), or rows, or neighbouring lanes of a packed
// block.
template <class T> struct GatheredQueries {
  const T* packed;
  std::int64_t first;  // the first feature of `packed`
  WB_INLINE T at(std::int64_t j, int q) const { return packed[(j - first) * TILE_QUERIES + q]; }
};
template <class T, int QUERIES> struct RowQueries {
  const T* row[QUERIES];
  WB_INLINE T at(std::int64_t j, int q) const { return row[q][j]; }
};
template <class T> struct LaneQueries {
  const T* lane;
  WB_INLINE T at(std::int64_t j, int q) const { return lane[j * BLOCK_LANES<T> + q]; }
};

// Adds the features [first, last) to sums that are 0 or hold the features before `first`.
// block and weights: (m, BLOCK_LANES), of which the tile uses VECTORS vectors.
template <class T, int P, bool W, bool MISSING, class TileQueries, int QUERIES, int VECTORS>
WB_INLINE void accumulate_tile(const TileQueries& queries, const T* block, const T* weights,
                               const Features<T>& features, std::int64_t first, std::int64_t last,
                               Vec<T> (&sum)[QUERIES][VECTORS]) {
  constexpr int LANES = VECTOR_LANES<T>;
  Vec<T> acc[QUERIES][VECTORS];  // A local copy, since compilers keep it in registers; `sum` may be in memory.
  WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) acc[q][v] = sum[q][v];

  std::int64_t j = first;
  const std::int64_t numeric = std::min(features.numeric, last);
  const Vec<T> one = P == 1 && !W && !MISSING ? hidden_one<T>() : broadcast<T>(T(1));
  for (; j < numeric; ++j) {
    Vec<T> ref[VECTORS], weight[VECTORS];
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
      ref[v] = load<T>(block + (j * TILE_VECTORS + v) * LANES);
      weight[v] = W ? load<T>(weights + (j * TILE_VECTORS + v) * LANES) : one;
    }
    WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q) {
      const Vec<T> query = broadcast<T>(queries.at(j, q));
      WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
        Vec<T> diff = ref[v] - query;
        if constexpr (P == 1) diff = absolute<T>(diff);
        // A difference with a missing value is NaN, and NaN is the only value that does not equal itself.
        if constexpr (MISSING) diff = choose<T>(equal<T>(diff, diff), diff, broadcast<T>(features.missing_distance[j]));
        if constexpr (P == 1 && !W && !MISSING) acc[q][v] = add_product<T>(acc[q][v], weight[v], diff);
        else acc[q][v] = add_term<T, P, W>(acc[q][v], weight[v], diff);
      }
    }
  }
  for (; j < last; ++j) {
    const Vec<T> zero = broadcast<T>(T(0)), missing_distance = broadcast<T>(features.missing_distance[j]);
    Vec<T> ref[VECTORS], weight[VECTORS];
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
      ref[v] = load<T>(block + (j * TILE_VECTORS + v) * LANES);
      weight[v] = W ? load<T>(weights + (j * TILE_VECTORS + v) * LANES) : ref[v];
    }
    WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q) {
      const Vec<T> query = broadcast<T>(queries.at(j, q));
      WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
        // A missing category (NaN) equals nothing, not even another missing one.
        const Vec<T> diff = choose<T>(equal<T>(ref[v], query), zero, missing_distance);
        acc[q][v] = add_term<T, P, W>(acc[q][v], weight[v], diff);
      }
    }
  }
  WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) sum[q][v] = acc[q][v];
}

// Sets all sums of a tile to 0.
template <class T> WB_INLINE void clear(TileSums<T>& sum) {
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = broadcast<T>(T(0));
}

// The same for all features at once.
template <class T, int P, bool W, bool MISSING>
WB_INLINE void accumulate_tile(const T* queries, const T* block, const T* weights, const Features<T>& features,
                               TileSums<T>& sum) {
  clear<T>(sum);
  accumulate_tile<T, P, W, MISSING>(GatheredQueries<T>{queries, 0}, block, weights, features, 0, features.count, sum);
}

// Cache blocking: how many tiles and blocks are combined before the next ones, so that what is read again stays in the
// second-level cache. Rows too wide for that are split into panels of features. Then only some tiles of queries are
// processed at a time, and their sums are saved from panel to panel. The order of additions is the same either way.
template <class T> struct CacheBlocking {
  static constexpr std::int64_t CACHE_BYTES = 256 * 1024, PANEL = 4096, PANEL_TILES = 8;
  bool wide;
  std::int64_t panel, tiles, blocks;  // The number of features, tiles and blocks at a time.

  // `copies` is the number of arrays of the size of the references that are read together (2 with weights per
  // reference).
  CacheBlocking(std::int64_t m, std::int64_t n_tiles, std::int64_t copies)
      : wide(m * std::int64_t(sizeof(T)) > CACHE_BYTES),
        panel(wide ? PANEL : std::max<std::int64_t>(m, 1)),
        tiles(wide ? std::min(PANEL_TILES, n_tiles) : n_tiles),
        blocks(std::max<std::int64_t>(1, CACHE_BYTES / (panel * BLOCK_LANES<T> * std::int64_t(sizeof(T)) * copies))) {}
};

// Transposes the features [first, last) of a tile's queries: (last - first, TILE_QUERIES). A short tile repeats its
// last query, so that the kernel needs no special case; the caller ignores the sums of repetitions.
template <class T>
WB_INLINE void gather_tile(const T* rows, std::int64_t row, std::int64_t end, std::int64_t m, std::int64_t first,
                           std::int64_t last, T* packed) {
  constexpr std::int64_t NEAR = 64;  // Features whose destinations stay in the first-level cache.
  for (std::int64_t from = first; from < last; from += NEAR)
    for (int q = 0; q < TILE_QUERIES; ++q) {
      const T* query = rows + std::min(row + q, end - 1) * m;
      for (std::int64_t j = from; j < std::min(from + NEAR, last); ++j)
        packed[(j - first) * TILE_QUERIES + q] = query[j];
    }
}

// Save and restore the sums of a tile and a block between two panels of features.
template <class T> WB_INLINE void save(const TileSums<T>& sum, T* at) {
  for (int q = 0; q < TILE_QUERIES; ++q)
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(at + (q * TILE_VECTORS + v) * VECTOR_LANES<T>, sum[q][v]);
}

template <class T> WB_INLINE void restore(const T* at, TileSums<T>& sum) {
  for (int q = 0; q < TILE_QUERIES; ++q)
    for (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = load<T>(at + (q * TILE_VECTORS + v) * VECTOR_LANES<T>);
}

// The sums of one query and ROWS references, which are added up side by side, since each addition waits for the one
// before. query, references, weights: (m,); the weights of a reference may be null (all one).
template <class T, int P, bool W, int ROWS>
WB_INLINE void exact_sums(const T* query, const T* const (&references)[ROWS], const T* const (&weights)[ROWS],
                          const Features<T>& features, T (&sums)[ROWS]) {
  T sum[ROWS] = {};
  std::int64_t j = 0;
  for (; j < features.numeric; ++j)
    WB_UNROLLED_FOR (int r = 0; r < ROWS; ++r) {
      T diff = references[r][j] - query[j];
      if constexpr (P == 1) diff = absolute(diff);
      if (diff != diff) diff = features.missing_distance[j];
      sum[r] = add_term<T, P, W>(sum[r], W ? weights[r][j] : diff, diff);
    }
  for (; j < features.count; ++j)
    WB_UNROLLED_FOR (int r = 0; r < ROWS; ++r) {
      const T diff = references[r][j] == query[j] ? T(0) : features.missing_distance[j];
      sum[r] = add_term<T, P, W>(sum[r], W ? weights[r][j] : diff, diff);
    }
  WB_UNROLLED_FOR (int r = 0; r < ROWS; ++r) sums[r] = sum[r];
}

// The sum of one pair of rows.
template <class T, int P>
WB_INLINE T exact_distance(const T* query, const T* reference, const T* weights, const Features<T>& features) {
  T sum[1];
  const T *const references[1] = {reference}, *const all_weights[1] = {weights};
  if (weights) exact_sums<T, P, true, 1>(query, references, all_weights, features, sum);
  else exact_sums<T, P, false, 1>(query, references, all_weights, features, sum);
  return sum[0];
}

}  // namespace wb::WB_LEVEL

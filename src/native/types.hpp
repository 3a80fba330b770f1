// What all CPU levels share: the shape of a tile, the vector types, and the arguments of the kernels.
//
// A tile is what the distance kernel keeps in registers: 6 queries against 2 vectors of packed references. That makes
// 12 accumulators of 32 bytes, which fit the 16 registers of AVX2 together with the operands (docs/decisions.md has
// the measurements).
//
// Kernels take their arguments as structs of pointers and sizes, which the bindings fill by name. Comments give the
// shapes: n rows, m features, p the exponent of the distance, `a` feature weights, `v` scales of instances.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "pair_tiles.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define WB_ALWAYS_INLINE inline __attribute__((always_inline))
#define WB_NOINLINE __attribute__((noinline))
#define WB_RESTRICT __restrict__
#else
#define WB_ALWAYS_INLINE inline
#define WB_NOINLINE
#define WB_RESTRICT
#endif

#if (defined(__GNUC__) || defined(__clang__)) && !defined(WB_NO_VECTOR_EXTENSIONS)
#define WB_VECTOR_EXTENSIONS 1
#define WB_UNROLLED_FOR _Pragma("GCC unroll 8") for
#else
#define WB_VECTOR_EXTENSIONS 0
#define WB_UNROLLED_FOR for
#endif

namespace wb {

constexpr int VECTOR_BYTES = 32;
constexpr int TILE_QUERIES = 6;
constexpr int TILE_VECTORS = 2;  // pairs-inl.hpp and surf-inl.hpp rely on two.

template <class T> constexpr int VECTOR_LANES = VECTOR_BYTES / int(sizeof(T));
// The number of references in a packed block.
template <class T> constexpr int BLOCK_LANES = TILE_VECTORS * VECTOR_LANES<T>;

#if WB_VECTOR_EXTENSIONS
template <class T> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(VECTOR_BYTES)));
  typedef std::int32_t mask __attribute__((vector_size(VECTOR_BYTES)));
};
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(VECTOR_BYTES)));
  typedef std::int64_t mask __attribute__((vector_size(VECTOR_BYTES)));
};
template <class T> using Vec = typename VectorOf<T>::type;
template <class T> using Mask = typename VectorOf<T>::mask;
typedef std::int64_t Words __attribute__((vector_size(VECTOR_BYTES)));
#else
template <class T> struct Vec {
  T lane[VECTOR_LANES<T>] = {};
};
template <class T> struct Mask {
  bool lane[VECTOR_LANES<T>] = {};
};
#endif

// Features are ordered numeric first, nominal last. `missing_distance[j]` is the difference that a mismatch of
// categories counts, and that a missing numeric value counts (HEOM: the feature's full range).
template <class T> struct Features {
  const T* missing_distance = nullptr;  // (m,)
  std::int64_t numeric = 0;             // the first `numeric` features are numbers
  std::int64_t count = 0;               // m
};

// Packed references, group after group (a group is, for example, a class); every group begins with a new block.
template <class T> struct References {
  const T* packed = nullptr;                  // (n_blocks, m, BLOCK_LANES), folded or not
  const T* weights = nullptr;                 // the same shape: a per reference and feature; or null
  const T* scales = nullptr;                  // (n_blocks * BLOCK_LANES,): v^p; or null
  const std::int64_t* ids = nullptr;          // (n_blocks * BLOCK_LANES,): row number to report, -1 padding
  const std::int64_t* group_start = nullptr;  // (n_groups + 1,) first block of each group
  std::int64_t n_groups = 0;
};

// What is needed to compute a candidate's distance again without the rounding of folded data. Without folding `source`
// is null.
template <class T> struct Recheck {
  const T* source = nullptr;            // (n, m) unfolded rows
  const std::int64_t* order = nullptr;  // lane -> row of source
  const T* queries = nullptr;           // (n_queries, m) unfolded
  const T* weights = nullptr;           // (m,)
  const T* slack = nullptr;             // (n_queries,) bound on the error of a folded distance (not squared)
  Features<T> features = {};            // Of the unfolded data.
};

// What a search needs whose sums in float propose among rows of double (mixed-inl.hpp).
struct MixedJob {
  Recheck<double> exact = {};      // queries, source and weights as they are; the other members are not used
  const double* shift = nullptr;   // (n_queries,) bound on what folding changes in a scaled distance (not squared)
  double scale = 1;                // factor of folded distances (not squared)
  std::int64_t most_measured = 0;  // after so many distances in double the search ends without a result
};

// Rows in compressed form: row i has the entries start[i] to start[i + 1], with ascending features.
template <class T> struct SparseRows {
  const std::int64_t* start = nullptr;
  const std::int32_t* feature = nullptr;
  const T* value = nullptr;
};

// Calls `use(feature, x, z)` for every feature of either row, in ascending order.
template <class T, class F>
void visit_features(const SparseRows<T>& a, std::int64_t one, const SparseRows<T>& b, std::int64_t other, F use) {
  constexpr std::int32_t NONE = std::numeric_limits<std::int32_t>::max();
  std::int64_t i = a.start[one], j = b.start[other];
  const std::int64_t end_i = a.start[one + 1], end_j = b.start[other + 1];
  while (i < end_i || j < end_j) {
    const std::int32_t at_i = i < end_i ? a.feature[i] : NONE, at_j = j < end_j ? b.feature[j] : NONE;
    const std::int32_t at = std::min(at_i, at_j);
    use(at, at_i == at ? a.value[i] : T(0), at_j == at ? b.value[j] : T(0));
    i += at_i == at;
    j += at_j == at;
  }
}

// Rows and their listed neighbours, for sums of coefficient * |x - z|.
template <class T> struct ListedPairs {
  const T* rows;  // (n, m)
  std::int64_t n, m;
  std::int64_t numeric;            // the first `numeric` features are numbers, the others differ by 0 or 1
  const std::int64_t* query;       // (n_lists,) row of each list's owner
  const std::int64_t* neighbor;    // (n_lists, width) rows; -1: none
  const double* coefficient;       // (n_lists, width)
  const std::int64_t* output_row;  // (n_lists, width) which total
  std::int64_t width;
  std::int64_t first_feature, last_feature;  // the features that are added
};

// The rows whose neighbours are wanted.
template <class T> struct Queries {
  const T* rows = nullptr;            // (n_queries, m), folded like the references
  const std::int64_t* ids = nullptr;  // (n_queries,) the query's own row number, or null
};

// The lists of the k nearest that a search fills.
template <class T> struct Lists {
  T* distance = nullptr;       // (n_queries, n_groups, k); p = 2: squared
  std::int64_t* id = nullptr;  // the same shape; -1 where there are fewer than k
  std::int64_t k = 0;
};

// The distances of all pairs of stored rows, computed part by part of the packed blocks (symmetric-inl.hpp).
template <class T> struct SymmetricJob {
  const T* source = nullptr;            // (n, m)
  const std::int64_t* order = nullptr;  // (n_lanes,) row of source per lane, -1: padding
  std::int64_t n_lanes = 0;             // of all blocks
  const T* packed = nullptr;            // (layout.blocks, m, BLOCK_LANES)
  PairLayout layout = {};
  Features<T> features = {};
  T* distance = nullptr;  // (n_lanes, n_lanes); p = 2: squared; padding and the diagonal have no meaning
};

// What a search within limits finds: the lists of some queries, one after the other.
template <class T> struct Hits {
  std::vector<std::int64_t> count;  // the length of each list
  std::vector<T> distance;          // p = 2: squared
  std::vector<std::int64_t> id;
};

// Candidates that another search proposed, for `rerank`.
template <class T> struct Candidates {
  const T* queries = nullptr;                // (n_queries, m) unfolded
  const T* source = nullptr;                 // (n, m) unfolded
  const std::int64_t* candidates = nullptr;  // (n_queries, width) rows of source, -1 for none
  std::int64_t width = 0;
  const T* weights = nullptr;                // (n_weights, m), or null
  const std::int64_t* weight_row = nullptr;  // (n,) row of `weights` of each reference, or null: row 0 for all
  const T* scales = nullptr;                 // (n,) v^p, or null
  const std::int64_t* own_row = nullptr;     // (n_queries,) row to leave out, or null
};

// What `round_to_levels` reads and writes: level = round((x - center) * factor), at most `most` by absolute value.
template <class T> struct LevelsJob {
  const T* rows = nullptr;         // (n, m)
  std::int64_t m = 0, pairs = 0;   // pairs of features that are written: a level beyond the last feature is 0
  const double* center = nullptr;  // (m,)
  const double* factor = nullptr;  // (m,)
  const double* most = nullptr;    // (m,) integers below 2^15
  int times = 1;                   // levels are multiplied by it before they are written
  bool packed = false;             // whether they are written as (n_blocks, pairs, BLOCK_LANES<float>), or (n, pairs)
  std::int32_t* levels = nullptr;  // two features in 32 bits
  std::int32_t* norm = nullptr;    // (n,) squared norms
  double* residual = nullptr;      // (n,) Euclidean distances, in levels, by which rounding moved each row
};

// What `propose_rounded` reads and writes: rows rounded to 16 bits, two features in 32 bits.
struct RoundedJob {
  const std::int32_t* packed = nullptr;      // (n_blocks, pairs, BLOCK_LANES<float>)
  const std::int32_t* norm = nullptr;        // (n_blocks * BLOCK_LANES<float>,) squared norms
  std::int64_t n = 0, pairs = 0;             // references; pairs of features
  const std::int32_t* queries = nullptr;     // (n_queries, pairs) times -2
  const std::int32_t* query_norm = nullptr;  // (n_queries,)
  const std::int64_t* own = nullptr;         // (n_queries,) reference that a query must not find; or null
  std::int64_t k = 0;
  std::int32_t* distance = nullptr;  // (n_queries, k) squared distances in levels, ascending; the largest int: none
  std::int64_t* id = nullptr;        // the same shape; -1: none
};

// Pairs of features whose products are added in 32 bits before they become floats (`propose_rounded_pairs`).
constexpr std::int64_t ROUNDED_PANEL = 32;

// What `propose_rounded_pairs` reads and writes: all pairs of wide rows, which are rounded to 16 bits.
struct RoundedPairsJob {
  const std::int32_t* packed = nullptr;  // (n_blocks, pairs, BLOCK_LANES<float>), two features in 32 bits
  const double* norm = nullptr;          // (n_lanes,) squared norms
  std::int64_t n_blocks = 0, pairs = 0;  // pairs of features: whole panels
  PairLayout layout = {};
  float* square = nullptr;  // (n_lanes, n_lanes) squared distances in levels
};

// The number of references in a packed block of bytes: two vectors of four words of eight bytes.
constexpr int BYTE_LANES = 8;

// What `find_k_nearest_by_bytes` reads.
template <class T> struct ByteJob {
  const std::uint64_t* packed = nullptr;      // (n_blocks, words, BYTE_LANES): see accumulate_byte_tile
  std::int64_t words = 0;                     // of eight features each
  const std::int64_t* ids = nullptr;          // (n_blocks * BYTE_LANES,) row per lane, -1: padding, last in its group
  const std::int64_t* group_start = nullptr;  // (n_groups + 1,) first block of each group
  std::int64_t n_groups = 0;
  double delta = 0;             // what one level of a byte is worth
  double largest_residual = 0;  // of the references
  const T* source = nullptr;    // (n, m)
  std::int64_t m = 0;
  const std::uint64_t* query_words = nullptr;  // (n_queries, words)
  const double* query_residual = nullptr;      // (n_queries,)
  const T* queries = nullptr;                  // (n_queries, m)
  const std::int64_t* own_lane = nullptr;      // (n_queries,) the lane a query must not find, -1: none; or null
};

// How the SURF family turns the distances of a row into coefficients: rows nearer than a threshold count as neighbours,
// and far ones may count with the opposite sign.
struct Zones {
  std::int64_t n = 0;                         // rows, ordered by class, or by a numeric target
  const std::int64_t* class_start = nullptr;  // (n_classes + 1,) first row of each class
  std::int64_t n_classes = 0;                 // for a numeric target 2: the hits and the misses of a row
  // (n, 2) for a numeric target: the hits of a row are the rows from the first number up to the second one, where
  // targets are near its own, and all others are misses. nullptr: hits are the rows of the same class.
  const std::int64_t* hit_range = nullptr;
  const double* factor = nullptr;  // (n_classes, n_classes): own class, class of the neighbour; or (1, 2): hits, misses
  const double* weight = nullptr;  // (n,) of each row's contribution
  double threshold = 0;            // of all rows; negative: each row's mean, half its deviation on either side
  bool far = false;                // far rows count too, the other way round
  double tolerance = 0;            // distances within this share of a threshold are neither
};

// Sparse rows of numbers for `add_sparse_zone_differences`, ordered by class or by a numeric target.
struct SparseZoneJob {
  SparseRows<double> rows;
  SparseRows<double> columns;    // the same entries by feature: `feature` has row numbers
  const double* norm = nullptr;  // (n,) sum of |x| of each row
  std::int64_t n = 0;
};

// For every byte, the positions of its set bits in ascending order, one byte per position (little-endian).
constexpr std::array<std::uint64_t, 256> BIT_PLACES = [] {
  std::array<std::uint64_t, 256> places{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0, at = 0; bit < 8; ++bit)
      if (byte >> bit & 1) places[byte] |= std::uint64_t(bit) << (8 * at++);
  return places;
}();

// The rows for `add_zone_differences`: ordered by class, numeric features only, no missing values. Their distances are
// either known, or computed from the packed rows and the sums of the rows.
struct ZoneJob {
  const double* rows = nullptr;         // (n, stride), 0 beyond m
  const double* packed = nullptr;       // (n_blocks, m, BLOCK_LANES); or null
  const double* row_sums = nullptr;     // (n_blocks * BLOCK_LANES,); or null
  const double* distance = nullptr;     // (n, n) city-block distances of the rows in another order; or null
  const std::int64_t* order = nullptr;  // (n,) the place of each row in that order
  std::int64_t m = 0;
  std::int64_t stride = 0;  // whole vectors
};

// What SIMBA's steps read (paper 000, algorithm 1). A packed block holds centred rows of one class, with the features
// in `feature_order`; there may be no blocks yet (n_blocks = 0).
struct MarginJob {
  const double* rows = nullptr;         // (n, m)
  const std::int64_t* codes = nullptr;  // (n,) class of each row
  std::int64_t m = 0;
  const double* missing_distance = nullptr;    // (m,) what a mismatch or a missing value counts
  const bool* nominal = nullptr;               // (m,)
  const float* packed = nullptr;               // (n_blocks, m, BLOCK_LANES) where values are nominal or missing
  const std::int16_t* packed_short = nullptr;  // the same shape, for all other data
  const double* center = nullptr;              // (m,) packed = (x - center) * levels
  const double* levels = nullptr;              // (m,)
  const double* unit = nullptr;                // (m,) 1 / levels^2
  const double* rounding = nullptr;            // (m,) square of the largest rounding error of a packed value
  const std::int64_t* ids = nullptr;           // (n_blocks * BLOCK_LANES,) row per lane, -1: padding
  const std::int64_t* block_code = nullptr;    // (n_blocks,)
  std::int64_t n_blocks = 0;
  const std::int64_t* feature_order = nullptr;  // (m,)
  bool in_order = false;                        // feature_order counts up
  bool expanded = false;                        // weights are so even that partial sums would not end a scan early
  const std::int64_t* listed = nullptr;   // (n, 2, width) nearest hits, nearest misses under `reference`; -1: none
  const double* listed_square = nullptr;  // (n, 2, width) their squared distances, ascending
  std::int64_t width = 0;
  const double* unlisted_distance = nullptr;  // (n, 2) all others are at least this far under `reference`
  const double* reference = nullptr;          // (m,) positive
  const std::int64_t* order = nullptr;        // (n_steps,) row of each step
  const double* step = nullptr;               // (n_steps,)
  double beta = 0;                            // sigmoid utility; 0: linear
};

// Individuals of an evolutionary search (paper 004): what each of them selects and weights, and the rows to predict.
template <class T> struct PopulationJob {
  const T* rows = nullptr;      // (n, m) numeric first
  const T* centered = nullptr;  // (n, m) numbers less the middle of their feature's range
  std::int64_t n = 0;
  Features<T> features = {};
  const std::int32_t* codes = nullptr;  // (n,) classes; null for numeric targets
  const double* targets = nullptr;      // (n,) numeric targets; null for classes
  double otherwise = 0;                 // numeric prediction of a row if no other row is selected
  std::int64_t n_classes = 1, k = 1;
  const T* weights = nullptr;           // (n_individuals, n_sets, m): a, 0: not selected; or null: all 1
  std::int64_t n_sets = 1;              // 1, or one per class of the stored instance
  const T* scales = nullptr;            // (n_individuals, n): v^2; or null
  const bool* kept = nullptr;           // (n_individuals, n); or null
  const std::int64_t* query = nullptr;  // (n_queries,) rows
  std::int64_t n_queries = 0;
  bool all_rows = false;                  // query is 0 .. n - 1
  const std::int32_t* orders = nullptr;   // (m, n) rows by each feature; or null
  const std::int32_t* guesses = nullptr;  // (n, n_guesses) other rows that are near without weights
  std::int64_t n_guesses = 0;
  const float* columns = nullptr;      // (m, n) centered divided by half_range, or null: see population_pairs-inl.hpp
  const double* half_range = nullptr;  // (m,)
  std::int32_t* predicted = nullptr;   // (n_individuals, n_queries): class, -1: no other row is selected
  double* numbers = nullptr;           // (n_individuals, n_queries): predictions of numeric targets
};

constexpr int RANKS_AT_ONCE = 64;        // rows whose ranks are compared together
constexpr std::int16_t NO_RANK = 32767;  // rank of a row in its own list, and of padding

// Nearest selected instances from ranks (population_ranks-inl.hpp). V is what a row contributes, as in
// population_lists.hpp.
template <class V> struct RankJob {
  // (n_blocks, n, RANKS_AT_ONCE): for blocks of lists, the place of row x in each of them, or NO_RANK.
  const std::int16_t* ranks = nullptr;
  const std::int32_t* selected = nullptr;  // selected rows of all individuals, one after the other
  const std::int64_t* start = nullptr;     // (n_individuals + 1,) first selected row of each individual
  int code_bits = 0;                       // lowest bits of a rank that hold the class of row x; 0: see `values`
  const V* values = nullptr;               // (n,)
  V otherwise = 0;                         // prediction if no other row is selected
  std::int64_t n = 0, n_individuals = 0;
  V* predicted = nullptr;  // (n_individuals, n)
};

// Learned votes of the k nearest rows of each query (kernel_votes-inl.hpp).
template <class T> struct LocalVotesJob {
  const T* rows = nullptr;  // (n, m) all stored rows, with the feature weights folded into them
  Features<T> features;
  const std::int64_t* neighbor = nullptr;  // (n_queries, k) rows
  const T* distance = nullptr;             // (n_queries, k) their distances to the query
  const double* repetition = nullptr;      // (n,) repetition weights; or null
  std::int64_t k = 0;
  double width = 1, ridge = 1;
};

}  // namespace wb

// What all CPU levels share: the shape of a tile, the vector types, and the arguments of the kernels.
//
// A tile is what the distance kernel keeps in registers: 6 queries against 2 vectors of packed references. That makes
// 12 accumulators of 32 bytes, which fit the 16 registers of AVX2 together with the operands (docs/decisions.md has
// the measurements).
//
// Kernels take their arguments as structs of views, which the bindings fill by name. Comments give the shapes: n rows,
// m features, p the exponent of the distance, `a` feature weights, `v` scales of instances.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "pair_tiles.hpp"
#include "view.hpp"

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
  Blocks<T> packed;                  // (n_blocks, m, BLOCK_LANES), folded or not
  Blocks<T> weights;                 // the same shape: a per reference and feature; or none
  Values<T> scales;                  // (n_blocks * BLOCK_LANES,): v^p; or none
  Values<std::int64_t> ids;          // (n_blocks * BLOCK_LANES,): row number to report, -1 padding
  Values<std::int64_t> group_start;  // (n_groups + 1,) first block of each group
  Values<T> missing_distance;        // (m,)
  std::int64_t n_numeric = 0;
  int p = 2;
  // What is needed to compute a distance again without the rounding of folded data. Without folding `source` is none.
  Rows<T> source;                                   // (n, m) unfolded rows
  Values<std::int64_t> order;                       // lane -> row of source
  Values<T> exact_weights, exact_missing_distance;  // (m,) of the unfolded data

  std::int64_t n_groups() const { return group_start.size() - 1; }
  std::int64_t n_features() const { return packed.width(); }
  Features<T> features() const { return {missing_distance.data, n_numeric, n_features()}; }
  Features<T> exact_features() const { return {exact_missing_distance.data, n_numeric, n_features()}; }
};

// The rows whose neighbours are wanted.
template <class T> struct Queries {
  const References<T>* references = nullptr;
  Rows<T> rows;              // (n_queries, m), folded like the references
  Values<std::int64_t> own;  // (n_queries,) the query's own row number; or none
  bool missing = false;      // whether numbers of queries or references are missing
  Rows<T> exact;             // (n_queries, m) unfolded; or none
  Values<T> slack;           // (n_queries,) bound on the error of a folded distance (not squared); or none
};

// The lists of the k nearest that a search fills.
template <class T> struct Lists {
  View<T, 3> distance;       // (n_queries, n_groups, k); p = 2: squared
  View<std::int64_t, 3> id;  // the same shape; -1 where there are fewer than k

  std::int64_t k() const { return distance.shape[2]; }
  std::int64_t n_groups() const { return distance.shape[1]; }
};

// What a search needs whose sums in float propose among rows of double (mixed-inl.hpp).
struct MixedJob {
  Queries<float> queries;
  Rows<double> exact_queries, source;     // unfolded
  Values<double> exact_weights;           // (m,) or none
  Values<double> exact_missing_distance;  // (m,)
  Values<double> shift;            // (n_queries,) bound on what folding changes in a scaled distance (not squared)
  double scale = 1;                // factor of folded distances (not squared)
  std::int64_t most_measured = 0;  // after so many distances in double the search ends without a result

  Features<double> exact_features() const {
    return {exact_missing_distance.data, queries.references->n_numeric, source.width()};
  }
};

// Rows in compressed form: row i has the entries start[i] to start[i + 1], with ascending features below `width`.
template <class T> struct SparseRows {
  Values<std::int64_t> start;
  Values<std::int32_t> feature;
  Values<T> value;
  std::int64_t width = 0;

  std::int64_t size() const { return start.size() - 1; }
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

// Lists of neighbours, for sums of coefficient * |x - z|.
struct ListedPairs {
  Values<std::int64_t> query;     // (n_lists,) row of each list's owner
  Rows<std::int64_t> neighbor;    // (n_lists, width) rows; -1: none
  Rows<double> coefficient;       // (n_lists, width)
  Rows<std::int64_t> output_row;  // (n_lists, width) which row of total
  View<double, 2> total;          // (n_output_rows, m)

  bool counts(std::int64_t list, std::int64_t place) const {
    return neighbor[list][place] >= 0 && coefficient[list][place] != 0;  // A list may be shorter than `width`.
  }
};

template <class T> struct ListedRows : ListedPairs {
  Rows<T> rows;                                      // (n, m)
  std::int64_t n_numeric = 0;                        // the first features are numbers, the others differ by 0 or 1
  std::int64_t first_feature = 0, last_feature = 0;  // the features that are added
};

template <class T> struct ListedSparseRows : ListedPairs {
  const SparseRows<T>* rows = nullptr;
};

// Rows that are packed for computations on all pairs.
template <class T> struct PackedRows {
  Rows<T> rows;                // (n, m)
  Blocks<T> packed;            // (n_blocks, m, BLOCK_LANES)
  Values<T> missing_distance;  // (m,)
  std::int64_t n_numeric = 0;
  bool missing = false;

  std::int64_t n_lanes() const { return packed.size() * BLOCK_LANES<T>; }
  Features<T> features() const { return {missing_distance.data, n_numeric, rows.width()}; }
};

// The distances of all pairs of stored rows, computed part by part of the packed blocks (symmetric-inl.hpp).
template <class T> struct SymmetricJob {
  const References<T>* references = nullptr;  // a part of them
  Rows<T> source;                             // (n, m)
  Values<std::int64_t> order;                 // (n_lanes,) row of source per lane of all blocks, -1: padding
  std::int64_t first_block = 0;               // of the part
  bool missing = false;
  View<T, 2> distance;  // (n_lanes, n_lanes); p = 2: squared; padding and the diagonal have no meaning
};

// The k nearest from the distances of all pairs.
template <class T> struct SelectJob {
  Rows<T> pair_distance;  // (n_lanes, n_lanes)
  Values<std::int64_t> order, group_start;
  Lists<T> lists;
};

// Pairs of rows whose distances are wanted.
template <class T> struct PairsJob {
  Rows<T> rows;
  Rows<std::int64_t> pairs;  // (n_pairs, 2)
  View<T, 1> distance;       // (n_pairs,)
};

// What a search within limits finds: the lists of some queries, one after the other.
template <class T> struct Hits {
  std::vector<std::int64_t> count;  // the length of each list
  std::vector<T> distance;          // p = 2: squared
  std::vector<std::int64_t> id;
};

// Candidates that another search proposed, for `rerank`.
template <class T> struct Candidates {
  Rows<T> queries, source;          // (n_queries, m) and (n, m), unfolded
  Rows<std::int64_t> candidates;    // (n_queries, width) rows of source, -1 for none
  Rows<T> weights;                  // (n_weights, m), or none
  Values<std::int64_t> weight_row;  // (n,) row of `weights` of each reference, or none: row 0 for all
  Values<T> scales;                 // (n,) v^p, or none
  Values<std::int64_t> own_row;     // (n_queries,) row to leave out, or none
  Values<T> missing_distance;       // (m,)
  std::int64_t n_numeric = 0;
  int p = 2;
  Lists<T> lists = {};

  Features<T> features() const { return {missing_distance.data, n_numeric, source.width()}; }
};

// What `round_to_levels` reads and writes: level = round((x - center) * factor), at most `most` by absolute value.
template <class T> struct LevelsJob {
  Rows<T> rows;                         // (n, m)
  Values<double> center, factor, most;  // (m,); the last are integers below 2^15
  int times = 1;                        // levels are multiplied by it before they are written
  // (n_blocks, pairs, BLOCK_LANES<float>), or (n, pairs, 1): two features in 32 bits. A level beyond the last feature
  // is 0.
  View<std::int32_t, 3> levels;
  View<std::int32_t, 1> norm;  // (n,) squared norms
  View<double, 1> residual;    // (n,) Euclidean distances, in levels, by which rounding moved each row
};

// What `propose_rounded` reads and writes: rows rounded to 16 bits, two features in 32 bits.
struct RoundedJob {
  Blocks<std::int32_t> packed;      // (n_blocks, pairs, BLOCK_LANES<float>)
  Values<std::int32_t> norm;        // (n_blocks * BLOCK_LANES<float>,) squared norms
  std::int64_t n = 0;               // references
  Rows<std::int32_t> queries;       // (n_queries, pairs) times -2
  Values<std::int32_t> query_norm;  // (n_queries,)
  Values<std::int64_t> own;         // (n_queries,) reference that a query must not find; or none
  Lists<std::int32_t> lists = {};   // squared distances in levels, ascending; the largest int: none
};

// Pairs of features whose products are added in 32 bits before they become floats (`propose_rounded_pairs`).
constexpr std::int64_t ROUNDED_PANEL = 32;

// What `propose_rounded_pairs` reads and writes: all pairs of wide rows, which are rounded to 16 bits.
struct RoundedPairsJob {
  Blocks<std::int32_t> packed;  // (n_blocks, pairs, BLOCK_LANES<float>), two features in 32 bits; whole panels
  Values<double> norm;          // (n_lanes,) squared norms
  std::int64_t n = 0;           // rows
  View<float, 2> square;        // (n_lanes, n_lanes) squared distances in levels
};

// The number of references in a packed block of bytes: two vectors of four words of eight bytes.
constexpr int BYTE_LANES = 8;

// What `round_to_bytes` reads and writes: byte = round((x - low) / delta).
template <class T> struct BytesJob {
  Rows<T> rows;
  Values<double> low;
  double delta = 0;
  View<std::uint8_t, 2> bytes;  // (n, whole words)
  View<double, 1> residual;     // (n,)
};

// What `find_k_nearest_by_bytes` reads.
template <class T> struct ByteJob {
  Blocks<std::uint64_t> packed;      // (n_blocks, words, BYTE_LANES), words of eight features: see accumulate_byte_tile
  Values<std::int64_t> ids;          // (n_blocks * BYTE_LANES,) row per lane, -1: padding, last in its group
  Values<std::int64_t> group_start;  // (n_groups + 1,) first block of each group
  double delta = 0;                  // what one level of a byte is worth
  double largest_residual = 0;       // of the references
  Rows<T> source;                    // (n, m)
  Rows<std::uint64_t> query_words;   // (n_queries, words)
  Values<double> query_residual;     // (n_queries,)
  Rows<T> queries;                   // (n_queries, m)
  Values<std::int64_t> own_lane;     // (n_queries,) the lane a query must not find, -1: none; or no view
  Lists<T> lists = {};
};

// How the SURF family turns the distances of a row into coefficients: rows nearer than a threshold count as neighbours,
// and far ones may count with the opposite sign. Rows are ordered by class, or by a numeric target.
struct Zones {
  Values<std::int64_t> class_start;  // (n_classes + 1,) first row of each class
  // (n, 2) for a numeric target: the hits of a row are the rows from the first number up to the second one, where
  // targets are near its own, and all others are misses. Without rows: hits are the rows of the same class.
  Rows<std::int64_t> hit_range;
  Rows<double> factor;    // (n_classes, n_classes): own class, class of the neighbour; or (1, 2): hits, misses
  Values<double> weight;  // (n,) of each row's contribution
  double threshold = 0;   // of all rows; negative: each row's mean, half its deviation on either side
  bool far = false;       // far rows count too, the other way round
  double tolerance = 0;   // distances within this share of a threshold are neither

  std::int64_t size() const { return weight.size(); }
  std::int64_t n_groups() const { return factor.width(); }  // classes, or the hits and the misses of a row
  bool numeric() const { return hit_range.size() > 0; }
  // How much a row of a group counts for row `row`.
  double factor_of(std::int64_t row, std::int64_t group) const {
    if (numeric()) return factor[0][group];
    const std::int64_t* begin = class_start.data;
    return factor[std::upper_bound(begin, begin + class_start.size(), row) - begin - 1][group];
  }
};

// The rows of numbers for `add_zone_differences`, none missing, in the order of the zones. Their distances are either
// known, or computed from the packed rows and the sums of the rows.
struct ZoneRows {
  Rows<double> rows;           // (n, stride), whole vectors, 0 beyond m
  Blocks<double> packed;       // (n_blocks, m, BLOCK_LANES); or none
  Values<double> row_sums;     // (n_blocks * BLOCK_LANES,); or none
  Rows<double> distance;       // (n, n) city-block distances of the rows in another order; or none
  Values<std::int64_t> order;  // (n,) the place of each row in that order; or none
};

// Sparse rows of numbers for `add_sparse_zone_differences`, in the order of the zones.
struct SparseZoneJob {
  const SparseRows<double>* rows = nullptr;
  const SparseRows<double>* columns = nullptr;  // the same entries by feature: `feature` has row numbers
  Values<double> norm;                          // (n,) sum of |x| of each row
  const Zones* zones = nullptr;
  View<double, 1> total, coefficient_sums;  // (m,) and (n,)
};

// The rows of SIMBA (paper 000, algorithm 1), packed for scans as (x - center) * levels, in blocks of one class each.
struct Margins {
  Rows<double> rows;                   // (n, m)
  Values<std::int64_t> codes;          // (n,) class of each row
  Values<double> missing_distance;     // (m,) what a mismatch or a missing value counts
  Values<bool> nominal;                // (m,)
  bool mixed;                          // whether features are nominal or values are missing
  Values<double> center, levels;       // (m,)
  Values<double> unit;                 // (m,) 1 / levels^2
  Values<double> rounding;             // (m,) square of the largest rounding error of a packed value
  View<float, 3> packed;               // (n_blocks, m, BLOCK_LANES), with the features in `feature_order`
  Values<std::int64_t> ids;            // (n_blocks * BLOCK_LANES,) row per lane, -1: padding
  Values<std::int64_t> block_code;     // (n_blocks,)
  Values<std::int64_t> feature_order;  // (m,)
};

// Steps of SIMBA, and the weights that they change.
struct MarginSteps : Margins {
  Values<std::int64_t> order;  // (n_steps,) row of each step
  Values<double> step;         // (n_steps,)
  View<double, 1> w;           // (m,)
};

constexpr std::int32_t NO_PREDICTION = -1;  // No instance is selected, except perhaps the row itself.
constexpr std::int32_t UNLISTED = -2;       // The neighbour list of the row is too short to tell.

// The rows of an evolutionary search (paper 004), and what they contribute to predictions.
template <class T> struct PopulationTable {
  Rows<T> rows;                // (n, m) numeric first
  Rows<T> centered;            // (n, m) numbers less the middle of their feature's range
  Values<T> missing_distance;  // (m,)
  std::int64_t n_numeric = 0;
  bool missing = false;
  Values<std::int32_t> codes;  // (n,) classes
  Values<double> targets;      // (n,) numeric targets, which are predicted in place of classes; or none
  double otherwise = 0;        // numeric prediction of a row if no other row is selected
  std::int64_t n_classes = 1, k = 1;
  Rows<float> columns;        // (m, n) centered divided by half_range, or none: see population_pairs-inl.hpp
  Values<double> half_range;  // (m,)

  Features<T> features() const { return {missing_distance.data, n_numeric, rows.width()}; }
};

// Individuals: what each of them selects and weights, and their predictions.
template <class T> struct PopulationJob : PopulationTable<T> {
  Blocks<T> weights;                 // (n_individuals, n_sets, m): a, 0: not selected; or none: all 1
  Rows<T> scales;                    // (n_individuals, n): v^2; or none
  Rows<bool> kept;                   // (n_individuals, n); or none
  Values<std::int64_t> query;        // (n_queries,) rows to predict; or none: all
  std::int64_t first = 0, last = 0;  // the individuals to predict by
  View<std::int32_t, 2> predicted;   // (n_individuals, n_queries): class, -1: no other row is selected; or none
  View<double, 2> numbers;           // the same shape: predictions of numeric targets; or none

  std::int64_t n_sets() const { return weights ? weights.width() : 1; }  // or one per class of the stored instance
  std::int64_t n_queries() const { return query ? query.size() : this->rows.size(); }
  std::int64_t row_of(std::int64_t i) const { return query ? query[i] : i; }
};

// Learned votes of the k nearest rows of each query (kernel_votes-inl.hpp).
template <class T> struct LocalVotesJob {
  Rows<T> rows;                // (n, m) all stored rows, with the feature weights folded into them
  Values<T> missing_distance;  // (m,)
  std::int64_t n_numeric = 0;
  bool missing = false;
  int p = 2;
  Rows<std::int64_t> neighbor;  // (n_queries, k) rows
  Rows<T> distance;             // (n_queries, k) their distances to the query
  Values<double> repetition;    // (n,) repetition weights; or none
  double width = 1, ridge = 1;
  View<double, 2> votes;  // (n_queries, k)

  Features<T> features() const { return {missing_distance.data, n_numeric, rows.width()}; }
};

}  // namespace wb

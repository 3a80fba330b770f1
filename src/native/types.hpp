// What all CPU levels share: the shape of a tile, the vector types, the arguments of the kernels.
//
// A tile is what the distance kernel keeps in registers: 6 queries against 2 vectors of packed
// references. That makes 12 accumulators of 32 bytes, which fit the 16 registers of AVX2
// together with the operands (docs/decisions.md has the measurements).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#if defined(__GNUC__) || defined(__clang__)
#define WB_ALWAYS_INLINE inline __attribute__((always_inline))
#define WB_APART __attribute__((noinline))
#else
#define WB_ALWAYS_INLINE inline
#define WB_APART
#endif

#if (defined(__GNUC__) || defined(__clang__)) && !defined(WB_NO_VECTOR_EXTENSIONS)
#define WB_VECTOR_EXTENSIONS 1
#define WB_UNROLL _Pragma("GCC unroll 8")
#else
#define WB_VECTOR_EXTENSIONS 0
#define WB_UNROLL
#endif

namespace wb {

constexpr int VECTOR_BYTES = 32;
constexpr int TILE_QUERIES = 6;
constexpr int TILE_VECTORS = 2;  // pairs.hpp writes the two out

template <class T> constexpr int VECTOR_LANES = VECTOR_BYTES / int(sizeof(T));
// References per packed block.
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

// Features are ordered numeric first, nominal last. `gap[j]` is what a nominal mismatch counts,
// and what a missing numeric value counts (HEOM: the feature's full range).
template <class T> struct Features {
  const T* gap;          // (m,)
  std::int64_t numeric;  // the first `numeric` features are numbers
  std::int64_t count;    // m
};

template <class T> struct References {
  const T* packed;                  // (n_blocks, m, BLOCK_LANES), folded or not
  const T* weights;                 // the same shape: a per reference and feature; or null
  const T* scales;                  // (n_blocks * BLOCK_LANES,): v^p; or null
  const std::int64_t* ids;          // (n_blocks * BLOCK_LANES,): row number to report, -1 padding
  const std::int64_t* group_start;  // (n_groups + 1,) first block of each group
  std::int64_t n_groups;
};

// How to measure a candidate again without the rounding of folded data. Absent: source == null.
template <class T> struct Recheck {
  const T* source;            // (n, m) unfolded rows
  const std::int64_t* order;  // lane -> row of source
  const T* queries;           // (n_queries, m) unfolded
  const T* weights;           // (m,)
  const T* slack;             // (n_queries,) bound on the error of a folded distance (not squared)
  Features<T> features;       // unfolded gaps
};

template <class T> struct Queries {
  const T* rows;             // (n_queries, m), folded like the references
  const std::int64_t* ids;   // (n_queries,) the query's own row number, or null
};

template <class T> struct Lists {
  T* distance;       // (n_queries, n_groups, k); p = 2: squared
  std::int64_t* id;  // the same shape; -1 where there are fewer than k
  std::int64_t k;
};

template <class T> struct Candidates {
  const T* queries;                // (n_queries, m) unfolded
  const T* source;                 // (n, m) unfolded
  const std::int64_t* candidates;  // (n_queries, width) rows of source, -1 for none
  std::int64_t width;
  const T* weights;                // (n_weights, m), or null
  const std::int64_t* weight_row;  // (n,) row of `weights` of each reference, or null: row 0 for all
  const T* scales;                 // (n,) v^p, or null
  const std::int64_t* self;        // (n_queries,) row to leave out, or null
};

// References per packed block of bytes: two vectors of four words.
constexpr int BYTE_LANES = 8;

template <class T> struct ByteJob {
  const std::uint64_t* packed;       // (n_blocks, words, BYTE_LANES): see byte_tile
  std::int64_t words;                // of eight features each
  const std::int64_t* ids;           // (n_blocks * BYTE_LANES,) row per lane, -1: padding, last in its group
  const std::int64_t* group_start;   // (n_groups + 1,) first block of each group
  std::int64_t n_groups;
  double delta;                      // what one level of a byte is worth
  double largest_residual;           // of the references
  const T* source;                   // (n, m)
  std::int64_t m;
  const std::uint64_t* query_words;  // (n_queries, words)
  const double* query_residual;      // (n_queries,)
  const T* queries;                  // (n_queries, m)
  const std::int64_t* own_lane;      // (n_queries,) the lane a query must not find, -1: none; or null
};

// What the SURF family makes of a row's distances.
struct Zones {
  std::int64_t n;                   // rows, ordered by class
  const std::int64_t* class_start;  // (n_classes + 1,) first row of each class
  std::int64_t n_classes;
  const double* factor;             // (n_classes, n_classes): own class, class of the neighbour
  const double* weight;             // (n,) of each row's contribution
  double threshold;                 // of all rows; negative: each row's mean, half its deviation on either side
  bool far;                         // far rows count too, the other way round
  double tolerance;                 // distances within this share of a threshold are neither
};

// The places of the bits set in a byte, ascending, one byte each (little-endian).
constexpr std::array<std::uint64_t, 256> BIT_PLACES = [] {
  std::array<std::uint64_t, 256> places{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0, at = 0; bit < 8; ++bit)
      if (byte >> bit & 1) places[byte] |= std::uint64_t(bit) << (8 * at++);
  return places;
}();

// Rows for `zone_sums`: ordered by class, numbers only, none missing.
struct ZoneJob {
  const double* rows;      // (n, stride), 0 beyond m
  const double* packed;    // (n_blocks, m, BLOCK_LANES)
  const double* row_sums;  // (n_blocks * BLOCK_LANES,)
  std::int64_t m;
  std::int64_t stride;     // whole vectors
};

// What SIMBA's steps read. Packed blocks hold centred rows of one class each, features in
// `feature_order`; there may be none yet (n_blocks = 0).
struct MarginJob {
  const double* rows;                 // (n, m)
  const std::int64_t* codes;          // (n,) class of each row
  std::int64_t m;
  const double* gap;                  // (m,) what a mismatch or a missing value counts
  const bool* nominal;                // (m,)
  const float* packed;                // (n_blocks, m, BLOCK_LANES) where values are nominal or missing
  const std::int16_t* packed_short;   // the same shape, elsewhere
  const double* center;               // (m,) packed = (x - center) * levels
  const double* levels;               // (m,)
  const double* unit;                 // (m,) 1 / levels^2
  const double* rounding;             // (m,) square of what packing moved a value by at most
  const std::int64_t* ids;            // (n_blocks * BLOCK_LANES,) row per lane, -1: padding
  const std::int64_t* block_code;     // (n_blocks,)
  std::int64_t n_blocks;
  const std::int64_t* feature_order;  // (m,)
  bool in_order;                      // feature_order counts up
  bool expanded;                      // weights are so even that partial sums would not tell early
  const std::int64_t* listed;         // (n, 2, width) nearest hits, nearest misses under `reference`; -1: none
  const double* listed_square;        // (n, 2, width) their squared distances, ascending
  std::int64_t width;
  const double* reach;                // (n, 2) all others are at least this far under `reference`
  const double* reference;            // (m,) positive
  const std::int64_t* order;          // (n_steps,) row of each step
  const double* step;                 // (n_steps,)
  double beta;                        // sigmoid utility; 0: linear
};

// Individuals of an evolutionary search: what each selects and weighs, and the rows to answer for.
template <class T> struct PopulationJob {
  const T* rows;                // (n, m) numeric first
  const T* centered;            // (n, m) numbers less the middle of their feature's range
  std::int64_t n;
  Features<T> features;
  const std::int32_t* codes;    // (n,) classes
  std::int64_t n_classes, k;
  const T* weights;             // (n_individuals, n_sets, m): a, 0: not selected; or null: all 1
  std::int64_t n_sets;          // 1, or one per class of the stored instance
  const T* scales;              // (n_individuals, n): v^2; or null
  const bool* kept;             // (n_individuals, n); or null
  const std::int64_t* query;    // (n_queries,) rows
  std::int64_t n_queries;
  bool all_rows;                // query is 0 .. n - 1
  const std::int32_t* orders;   // (m, n) rows by each feature; or null
  const std::int32_t* guesses;  // (n, n_guesses) other rows that are near without weights
  std::int64_t n_guesses;
  std::int32_t* predicted;      // (n_individuals, n_queries): class, -1: nobody selected
};

}  // namespace wb

// All kernels of one CPU level and the table of them. level_NAME.cpp includes this file after it has defined
//   WB_LEVEL     the name of the level, which is also the name of its namespace;
//   WB_TARGET    the attribute with which functions that use vectors are compiled; it may be empty;
//   WB_HAS_AVX2  if vectors of 32 bytes are registers and the AVX2 instructions exist;
//   WB_HAS_AVX512  if there are 32 registers for such vectors;
//   WB_FUSED     if a * b + c is one operation, rounded once;
//   WB_HAS_VNNI  if one instruction multiplies 16-bit integers and adds their products to sums;
//   WB_ROUNDED_ONLY  if only the kernels of rounded-inl.hpp are wanted, and no table of all.
// level_NAME_float.cpp includes level_NAME.cpp after it has defined WB_FLOAT_HALF: the kernels for float are half of
// the compiler's work, and so two cores can share it.
//
// Headers that end in -inl.hpp are compiled once per level, inside its namespace, and only by way of this file.
// `target_clones` would be shorter, but GCC splits 32-byte vectors for the default level before it makes the clones:
// in a measurement that halved the speed.
#ifndef WB_LEVEL
#error "compile level_NAME.cpp, not this file"
#endif

#define WB_INLINE WB_ALWAYS_INLINE WB_TARGET
#define WB_KERNEL WB_TARGET

#include "heap.hpp"
#include "kernels.hpp"

// clang-format off: each of these needs those before it.
#include "simd-inl.hpp"
#ifdef WB_ROUNDED_ONLY
#include "rounded-inl.hpp"
#else
#include "distance-inl.hpp"
#include "scan-inl.hpp"
#include "k_nearest-inl.hpp"
#include "mixed-inl.hpp"
#include "within-inl.hpp"
#include "symmetric-inl.hpp"
#include "rerank-inl.hpp"
#include "pairs-inl.hpp"
#include "bytes-inl.hpp"
#include "rounded-inl.hpp"
#include "listed-inl.hpp"
#include "surf-inl.hpp"
#include "sparse_zones-inl.hpp"
#include "simba-inl.hpp"
#include "individual-inl.hpp"
#include "population_pairs-inl.hpp"
#include "population_scan-inl.hpp"
#include "kernel_votes-inl.hpp"
#endif
// clang-format on

#ifdef WB_ROUNDED_ONLY

namespace wb::WB_LEVEL {
constinit const RoundedKernels ROUNDED = {MULTIPLIES_PAIRS, propose_rounded, propose_rounded_pairs};
}

#else

#define WB_NAME_OF(level) #level
#define WB_NAME(level) WB_NAME_OF(level)

namespace wb::WB_LEVEL {

// A kernel for both answers to its last questions, in the order of the indices in kernels.hpp: first p = 1 or false,
// then p = 2 or true.
#define WB_BOTH(kernel, ...) {kernel<__VA_ARGS__, false>, kernel<__VA_ARGS__, true>}
#define WB_BY_EXPONENT(kernel, T) {WB_BOTH(kernel, T, 1), WB_BOTH(kernel, T, 2)}
#define WB_BY_WEIGHTS(kernel, T)                                   \
  {                                                                \
    {WB_BOTH(kernel, T, 1, false), WB_BOTH(kernel, T, 1, true)}, { \
      WB_BOTH(kernel, T, 2, false), WB_BOTH(kernel, T, 2, true)    \
    }                                                              \
  }

template <class T>
constexpr Kernels<T> KERNELS = {
    .find_k_nearest = WB_BY_WEIGHTS(find_k_nearest, T),
    .find_within = WB_BY_WEIGHTS(find_within, T),
    .compute_symmetric_distances = WB_BY_EXPONENT(compute_symmetric_distances, T),
    .select_nearest = select_nearest<T>,
    .rerank = {rerank<T, 1>, rerank<T, 2>},
    .measure_pairs = measure_pairs<T>,
    .compute_distances = WB_BY_EXPONENT(compute_distances, T),
    .compute_zone_coefficients = WB_BOTH(compute_zone_coefficients, T),
    .add_differences = WB_BOTH(add_differences, T),
    .add_listed_differences = add_listed_differences<T>,
    .sum_distances = sum_distances<T>,
    .round_to_bytes = round_to_bytes<T>,
    .round_to_levels = round_to_levels<T>,
    .find_k_nearest_by_bytes = find_k_nearest_by_bytes<T>,
    .predict_by_scan = WB_BOTH(predict_by_scan, T),
    .predict_from_matrix = predict_from_matrix<T>,
    .solve_local_votes = WB_BY_EXPONENT(solve_local_votes, T),
};

extern const Kernels<float> FLOAT_KERNELS;

#ifdef WB_FLOAT_HALF

constinit const Kernels<float> FLOAT_KERNELS = KERNELS<float>;

#else

constinit const Level LEVEL = {
    .name = WB_NAME(WB_LEVEL),
#ifdef WB_FUSED
    .fused = true,
#else
    .fused = false,
#endif
    .pair_queries = PAIR_QUERIES,
    .in_float = &FLOAT_KERNELS,
    .in_double = &KERNELS<double>,
    .compute_zone_distances = compute_zone_distances,
    .add_zone_differences = add_zone_differences,
    .add_sparse_zone_differences = add_sparse_zone_differences,
    .take_simba_steps = {take_simba_steps<false>, take_simba_steps<true>},
    .sum_signs = sum_signs,
    .rounded = {MULTIPLIES_PAIRS, propose_rounded, propose_rounded_pairs},
    .find_k_nearest_mixed = {WB_BOTH(find_k_nearest_mixed, 1), WB_BOTH(find_k_nearest_mixed, 2)},
};

#endif

}  // namespace wb::WB_LEVEL

#endif

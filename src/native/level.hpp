// All kernels of one CPU level and the table of them. Included by level_NAME.cpp, which says
//   WB_LEVEL     the name, and namespace, of the level
//   WB_TARGET    the attribute with which functions that touch a vector are compiled; may be empty
//   WB_MOVEMASK  defined: a mask of lanes becomes bits in one instruction
//   WB_FUSED     defined: a * b + c is one operation
// `target_clones` would be shorter, but GCC splits 32-byte vectors for the default level before it
// makes the clones: measured here, that halves the speed.
#ifndef WB_LEVEL
#error "compile level_NAME.cpp, not this file"
#endif

#define WB_INLINE WB_ALWAYS_INLINE WB_TARGET
#define WB_KERNEL WB_TARGET

#include "heap.hpp"
#include "kernels.hpp"

#include "simd.hpp"
#include "distance.hpp"
#include "k_nearest.hpp"
#include "rerank.hpp"
#include "pairs.hpp"
#include "bytes.hpp"
#include "surf.hpp"
#include "simba.hpp"
#include "individual.hpp"
#include "population.hpp"
#include "population_matrix.hpp"

#define WB_NAME_OF(level) #level
#define WB_NAME(level) WB_NAME_OF(level)

namespace wb::WB_LEVEL {

template <class T>
constexpr Kernels<T> KERNELS = {
    .k_nearest = {{{k_nearest<T, 1, false, false>, k_nearest<T, 1, false, true>},
                   {k_nearest<T, 1, true, false>, k_nearest<T, 1, true, true>}},
                  {{k_nearest<T, 2, false, false>, k_nearest<T, 2, false, true>},
                   {k_nearest<T, 2, true, false>, k_nearest<T, 2, true, true>}}},
    .rerank = {rerank<T, 1>, rerank<T, 2>},
    .distances = {distances<T, false>, distances<T, true>},
    .zone_rows = {zone_rows<T, false>, zone_rows<T, true>},
    .add_differences = add_differences<T>,
    .distance_sums = distance_sums<T>,
    .to_bytes = to_bytes<T>,
    .byte_nearest = byte_nearest<T>,
    .population_scan = {population_scan<T, false>, population_scan<T, true>},
    .squared_distances = {squared_distances<T, false>, squared_distances<T, true>},
    .population_matrix = population_matrix<T>,
};

constinit const Level LEVEL = {
    .name = WB_NAME(WB_LEVEL),
    .in_float = KERNELS<float>,
    .in_double = KERNELS<double>,
    .zone_sums = zone_sums,
    .simba = {simba<false>, simba<true>},
};

}  // namespace wb::WB_LEVEL

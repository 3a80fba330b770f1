// The kernels, compiled once per CPU level, and the choice among them when the module loads.
//
// Each level gets its own namespace and the `target` attribute on every function that touches a
// vector. `target_clones` would be shorter, but GCC splits 32-byte vectors for the default level
// before it makes the clones: measured here, that halves the speed.
#pragma once

#include "crew.hpp"
#include "heap.hpp"

#ifdef __AVX2__  // the compiler was told so for the whole build
#define WB_MOVEMASK
#endif
#if defined(__FMA__) || (defined(__aarch64__) && defined(__GNUC__))
#define WB_FUSED
#endif
#define WB_LEVEL baseline
#define WB_INLINE WB_ALWAYS_INLINE
#define WB_KERNEL
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
#undef WB_LEVEL
#undef WB_INLINE
#undef WB_KERNEL
#undef WB_MOVEMASK
#undef WB_FUSED

#ifdef WB_DISPATCH  // set by CMake for x86 compilers that can

#define WB_MOVEMASK
#define WB_FUSED
#define WB_TARGET __attribute__((target("avx2,fma")))
#define WB_LEVEL avx2
#define WB_INLINE WB_ALWAYS_INLINE WB_TARGET
#define WB_KERNEL WB_TARGET
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
#undef WB_TARGET
#undef WB_LEVEL

#define WB_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")))
#define WB_LEVEL avx512
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
#undef WB_TARGET
#undef WB_LEVEL
#undef WB_INLINE
#undef WB_KERNEL
#undef WB_MOVEMASK
#undef WB_FUSED

#endif

namespace wb {

enum class Level { baseline, avx2, avx512 };

inline Level best_level() {
#ifdef WB_DISPATCH
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      return Level::avx512;
    return Level::avx2;
  }
#endif
  return Level::baseline;
}

// A call of the kernel compiled for the level in use.
#ifdef WB_DISPATCH
#define WB_AT_LEVEL(level, ...)                         \
  ((level) == ::wb::Level::avx512 ? ::wb::avx512::__VA_ARGS__   \
   : (level) == ::wb::Level::avx2 ? ::wb::avx2::__VA_ARGS__     \
                                  : ::wb::baseline::__VA_ARGS__)
#else
#define WB_AT_LEVEL(level, ...) ((void)(level), ::wb::baseline::__VA_ARGS__)
#endif

}  // namespace wb

// The kernels for the CPU that the compiler was told to compile for: any x86-64 or ARM CPU, or, with -march=native, the
// CPU of the build.
#define WB_LEVEL baseline
#define WB_TARGET
#ifdef __AVX2__
#define WB_HAS_AVX2
#endif
#if defined(__AVX512VL__)
#define WB_HAS_AVX512
#endif
#if defined(__FMA__) || (defined(__aarch64__) && defined(__GNUC__))
#define WB_FUSED
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define WB_HAS_VNNI
#endif
#include "level-inl.hpp"

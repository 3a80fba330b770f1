// The kernels for whatever CPU the compiler was told to compile for.
#define WB_LEVEL baseline
#define WB_TARGET
#ifdef __AVX2__
#define WB_MOVEMASK
#endif
#if defined(__FMA__) || (defined(__aarch64__) && defined(__GNUC__))
#define WB_FUSED
#endif
#include "level.hpp"

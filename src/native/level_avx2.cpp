// The kernels for x86 CPUs with AVX2 and FMA (2013 and later).
#define WB_LEVEL avx2
#define WB_TARGET __attribute__((target("avx2,fma")))
#define WB_HAS_AVX2
#define WB_FUSED
#include "level-inl.hpp"

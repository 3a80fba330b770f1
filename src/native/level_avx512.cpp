// The kernels for x86 CPUs with AVX-512. They use its masks and its 32 registers, but vectors of 32 bytes, since those
// fix the shape of packed blocks and of tiles for all levels.
#define WB_LEVEL avx512
#define WB_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")))
#define WB_HAS_AVX2
#define WB_HAS_AVX512
#define WB_FUSED
#include "level-inl.hpp"

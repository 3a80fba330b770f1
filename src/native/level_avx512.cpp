// The kernels for x86 CPUs with AVX-512: its masks and its 32 registers, in vectors of 32 bytes.
#define WB_LEVEL avx512
#define WB_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")))
#define WB_MOVEMASK
#define WB_FUSED
#include "level.hpp"

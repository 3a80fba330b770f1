// The kernels for rounded rows for x86 CPUs with AVX-512 and its instructions for sums of products of integers.
#define WB_LEVEL avx512_vnni
#define WB_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512vnni")))
#define WB_HAS_AVX2
#define WB_HAS_AVX512
#define WB_FUSED
#define WB_HAS_VNNI
#define WB_ROUNDED_ONLY
#include "level-inl.hpp"

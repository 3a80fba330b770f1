// The kernels of level_avx512.cpp for float.
#define WB_FLOAT_HALF
#include "level_avx512.cpp"

// The kernels of level_avx2.cpp for float.
#define WB_FLOAT_HALF
#include "level_avx2.cpp"

// The kernels of level_baseline.cpp for float.
#define WB_FLOAT_HALF
#include "level_baseline.cpp"

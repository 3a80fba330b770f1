// The kernels as tables of functions, one table per CPU level, and the choice among them.
//
// level_NAME.cpp and level_NAME_float.cpp compile every kernel for one level and fill its table (level-inl.hpp). The
// bindings call through the table in use, so they need none of the kernels' headers. Kernels that differ by a
// compile-time choice, such as whether values may be missing, are arrays indexed by that choice; the comment at the end
// of a line gives the index.
#pragma once

#include <span>

#include "types.hpp"

namespace wb {

template <class T> struct Kernels {
  using Index = std::int64_t;  // A range of rows is [begin, end).

  void (*find_k_nearest[2][2][2])(const Queries<T>&, const Lists<T>&, Index begin,
                                  Index end);  // [p - 1][weights][missing]
  void (*find_within[2][2][2])(const Queries<T>&, const Values<T>& limits, Hits<T>&, Index begin,
                               Index end);  // [p - 1][weights][missing]
  void (*compute_symmetric_distances[2][2])(const SymmetricJob<T>&, const PairLayout&,
                                            std::span<const PairTile>);  // [p - 1][missing]
  void (*select_nearest)(const SelectJob<T>&, Index begin, Index end);
  void (*rerank[2])(const Candidates<T>&, Index begin, Index end);  // [p - 1]
  void (*measure_pairs)(const PairsJob<T>&, Index begin, Index end);
  void (*compute_distances[2][2])(const PackedRows<T>&, const Rows<T>& queries, T* distance, Index begin,
                                  Index end);  // [p - 1][missing]
  void (*compute_zone_coefficients[2])(const PackedRows<T>&, const Zones&, T* coefficient, Index begin,
                                       Index end);  // [missing]
  void (*add_differences[2])(const PackedRows<T>&, const T* coefficient, double* total, Index begin,
                             Index end);  // [missing]
  void (*add_listed_differences)(const ListedRows<T>&, Index begin, Index end);
  void (*sum_distances)(const PackedRows<T>&, double* sums, Index begin, Index end);
  void (*round_to_bytes)(const BytesJob<T>&, Index begin, Index end);
  void (*round_to_levels)(const LevelsJob<T>&, Index begin, Index end);
  std::int64_t (*find_k_nearest_by_bytes)(const ByteJob<T>&, Index begin, Index end);
  void (*predict_by_scan[2])(const PopulationJob<T>&, Index begin, Index end);  // [missing]
  void (*predict_from_matrix)(const PopulationJob<T>&, const Rows<T>& square, Index begin, Index end);
  void (*solve_local_votes[2][2])(const LocalVotesJob<T>&, Index begin, Index end);  // [p - 1][missing]
};

// The kernels of rounded-inl.hpp for 16-bit integers.
struct RoundedKernels {
  bool multiplies_pairs;  // whether the level has an instruction for them; if not, they do nothing
  void (*propose)(const RoundedJob&, std::int64_t begin, std::int64_t end);
  void (*propose_pairs)(const RoundedPairsJob&, const PairLayout&, std::span<const PairTile>);
};

struct Level {
  const char* name;
  bool fused;                      // whether a * b + c is rounded once
  std::int64_t pair_queries;       // queries of a tile of pair_tiles.hpp
  const Kernels<float>* in_float;  // compiled in a file of its own, beside the rest of the level
  const Kernels<double>* in_double;
  void (*compute_zone_distances)(const ZoneRows&, const View<double, 2>& distance, std::int64_t begin,
                                 std::int64_t end);
  void (*add_zone_differences)(const ZoneRows&, const Zones&, double* total, std::int64_t begin, std::int64_t end);
  void (*add_sparse_zone_differences)(const SparseZoneJob&, std::int64_t begin, std::int64_t end);
  void (*take_simba_steps[2])(const MarginSteps&, std::int64_t begin, std::int64_t end);  // [mixed]
  void (*sum_signs)(const PackedRows<double>&, const double* coefficient, double* out, std::int64_t begin,
                    std::int64_t end);
  RoundedKernels rounded;
  std::int64_t (*find_k_nearest_mixed[2][2])(const MixedJob&, const Lists<double>&, std::int64_t begin,
                                             std::int64_t end);  // [p - 1][missing]

  template <class T> const Kernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) return *in_float;
    else return *in_double;
  }
};

namespace baseline {
extern const Level LEVEL;
}
#ifdef WB_DISPATCH  // CMake defines it for x86 if compiler and linker can compile one function for several CPUs.
namespace avx2 {
extern const Level LEVEL;
}
namespace avx512 {
extern const Level LEVEL;
}
namespace avx512_vnni {  // only these differ from those of the level avx512
extern const RoundedKernels ROUNDED;
}
#endif

// The levels that both this build and this CPU have, the best one last.
inline std::span<const Level* const> levels() {
#ifdef WB_DISPATCH
  static const Level VNNI = [] {
    Level made = avx512::LEVEL;
    made.name = "avx512_vnni";
    made.rounded = avx512_vnni::ROUNDED;
    return made;
  }();
  static const Level* const ALL[] = {&baseline::LEVEL, &avx2::LEVEL, &avx512::LEVEL, &VNNI};
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return {ALL, 1};
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw"))
    return {ALL, 2};
  if (!__builtin_cpu_supports("avx512vnni")) return {ALL, 3};
#else
  static constexpr const Level* ALL[] = {&baseline::LEVEL};
#endif
  return ALL;
}

}  // namespace wb

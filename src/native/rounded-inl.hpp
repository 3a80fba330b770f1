// Candidates for the k nearest references by squared Euclidean distance: rows rounded to integers of 16 bits propose,
// exact distances decide (engine/backends/rounded.py). |b_q - b_x|^2 = |b_q|^2 + |b_x|^2 - 2 <b_q, b_x> is exact in
// integers, so that only the rounding of the rows has to be bounded; one instruction multiplies and adds two features
// of eight pairs, which takes half the time of differences in float.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)

constexpr bool MULTIPLIES_PAIRS = true;
using Ints = Mask<float>;

WB_INLINE Ints load_ints(const std::int32_t* from) {
  Ints v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

WB_INLINE void store_ints(std::int32_t* to, Ints v) { std::memcpy(to, &v, sizeof v); }

// Sums of two products of 16-bit integers for each of eight pairs.
WB_INLINE Ints multiply_pairs(Ints a, Ints b) {
  typedef short Shorts __attribute__((vector_size(VECTOR_BYTES)));
  return (Ints)__builtin_ia32_pmaddwd256((Shorts)a, (Shorts)b);
}

// The same, added to eight sums.
WB_INLINE Ints add_pairs(Ints sum, Ints a, Ints b) {
#if defined(WB_HAS_VNNI) && defined(__clang__)
  return (Ints)__builtin_ia32_vpdpwssd256(sum, a, b);
#elif defined(WB_HAS_VNNI)
  return (Ints)__builtin_ia32_vpdpwssd_v8si(sum, a, b);
#else
  return sum + multiply_pairs(a, b);
#endif
}

// The squared distances of a block to the first QUERIES queries of a tile, from the norms of both and the products of
// all their pairs of features. queries: (pairs, TILE_QUERIES) times -2; block: (pairs, BLOCK_LANES<float>)
template <int QUERIES>
WB_INLINE void measure_rounded_tile(const std::int32_t* queries, const std::int32_t* query_norm,
                                    const std::int32_t* block, const std::int32_t* norm, std::int64_t pairs,
                                    Ints (&sum)[QUERIES][TILE_VECTORS]) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>;
  WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = load_ints(norm + v * WIDE) + query_norm[q];
  for (std::int64_t c = 0; c < pairs; ++c) {
    Ints ref[TILE_VECTORS];
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) ref[v] = load_ints(block + c * LANES + v * WIDE);
    WB_UNROLLED_FOR (int q = 0; q < QUERIES; ++q) {
      const Ints query = queries[c * TILE_QUERIES + q] - Ints{};
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = add_pairs(sum[q][v], ref[v], query);
    }
  }
}

// Inserts the lanes of one query that are below `limit`; returns the new limit. Not inlined, because it is rare.
WB_NOINLINE WB_KERNEL inline std::int32_t insert_rounded(const RoundedJob& job, std::int64_t row, std::int64_t block,
                                                         unsigned lanes, const std::int32_t* sums, std::int32_t limit) {
  const List<std::int32_t> list(job.lists, row, 0);
  for (; lanes; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::int64_t id = block * BLOCK_LANES<float> + lane;
    if (!(sums[lane] < limit) || id >= job.n || (job.own && job.own[row] == id)) continue;
    list.replace(sums[lane], id);
    limit = list.worst();
  }
  return limit;
}

#else

constexpr bool MULTIPLIES_PAIRS = false;

#endif

// Fills the lists of the queries [begin, end), ascending. Does nothing where the instruction is missing.
WB_KERNEL inline void propose_rounded([[maybe_unused]] const RoundedJob& job, [[maybe_unused]] std::int64_t begin,
                                      [[maybe_unused]] std::int64_t end) {
#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>, CACHE_BYTES = 256 * 1024;
  const std::int64_t pairs = job.packed.width(), blocks = job.packed.size();
  const std::int64_t part = std::max<std::int64_t>(1, CACHE_BYTES / (pairs * LANES * 4));
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES;
  std::vector<std::int32_t> tiles(std::size_t(n_tiles * pairs * TILE_QUERIES));
  std::vector<std::int32_t> norms(std::size_t(n_tiles * TILE_QUERIES)), limits(norms.size());
  for (std::int64_t slot = 0; slot < n_tiles * TILE_QUERIES; ++slot) {
    const std::int64_t row = std::min(begin + slot, end - 1);  // A short tile repeats its last query.
    const std::int32_t* query = job.queries[row];
    std::int32_t* to = tiles.data() + slot / TILE_QUERIES * pairs * TILE_QUERIES + slot % TILE_QUERIES;
    for (std::int64_t c = 0; c < pairs; ++c) to[c * TILE_QUERIES] = query[c];
    norms[slot] = job.query_norm[row];
    limits[slot] = begin + slot < end ? std::numeric_limits<std::int32_t>::max() : -1;
  }
  each_list(job.lists, begin, end, [](const List<std::int32_t>& list) { list.clear(); });
  for (std::int64_t from = 0; from < blocks; from += part)
    for (std::int64_t t = 0; t < n_tiles; ++t) {
      const std::int32_t* queries = tiles.data() + t * pairs * TILE_QUERIES;
      std::int32_t* limit = limits.data() + t * TILE_QUERIES;
      for (std::int64_t block = from; block < std::min(from + part, blocks); ++block) {
        Ints sum[TILE_QUERIES][TILE_VECTORS];
        measure_rounded_tile(queries, norms.data() + t * TILE_QUERIES, job.packed[block], &job.norm[block * LANES],
                             pairs, sum);
        Ints hit = {};
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) hit |= sum[q][v] < (limit[q] - Ints{});
        if (!any<float>(hit)) continue;
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
          unsigned lanes = 0;
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
            lanes |= lane_bits<float>(sum[q][v] < (limit[q] - Ints{})) << (v * WIDE);
          if (!lanes) continue;
          std::int32_t sums[LANES];
          for (int v = 0; v < TILE_VECTORS; ++v) store_ints(sums + v * WIDE, sum[q][v]);
          limit[q] = insert_rounded(job, begin + t * TILE_QUERIES + q, block, lanes, sums, limit[q]);
        }
      }
    }
  each_list(job.lists, begin, end, [](const List<std::int32_t>& list) { list.sort(); });
#endif
}

#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)

// Adds the products of the pairs of features [first, last), which are whole panels, to those of a tile. The products of
// a panel are added as integers, which the caller has made small enough for that, and the sums of panels as floats.
// query: the first of the neighbouring lanes of a block; products: (PAIR_QUERIES, BLOCK_LANES)
WB_NOINLINE WB_KERNEL inline void add_rounded_panels(const std::int32_t* query, const std::int32_t* block,
                                                     std::int64_t first, std::int64_t last, float* products) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>, WIDE = VECTOR_LANES<float>;
  for (std::int64_t panel = first; panel < last; panel += ROUNDED_PANEL) {
    Ints sum[PAIR_QUERIES][TILE_VECTORS] = {};
    for (std::int64_t c = panel; c < panel + ROUNDED_PANEL; ++c) {
      const Ints first_half = load_ints(block + c * LANES), second_half = load_ints(block + c * LANES + WIDE);
      WB_UNROLLED_FOR (int q = 0; q < PAIR_QUERIES; ++q) {
        const Ints pair = query[c * LANES + q] - Ints{};
        sum[q][0] = add_pairs(sum[q][0], first_half, pair);
        sum[q][1] = add_pairs(sum[q][1], second_half, pair);
      }
    }
    WB_UNROLLED_FOR (int q = 0; q < PAIR_QUERIES; ++q)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
        float* at = products + q * LANES + v * WIDE;
        store<float>(at, load<float>(at) + __builtin_convertvector(sum[q][v], Vec<float>));
      }
    // Or else the compiler keeps these floats in registers from panel to panel, and has none left for the rows.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

#endif

// Squared distances of the listed tiles, as `compute_symmetric_distances` writes them, but of rows rounded to 16 bits:
// |b_q|^2 + |b_x|^2 - 2 <b_q, b_x>. Does nothing where the instruction is missing.
WB_KERNEL inline void propose_rounded_pairs([[maybe_unused]] const RoundedPairsJob& job,
                                            [[maybe_unused]] const PairLayout& layout,
                                            [[maybe_unused]] std::span<const PairTile> tiles) {
#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)
  constexpr std::int64_t LANES = BLOCK_LANES<float>, TILE_SUMS = PAIR_QUERIES * LANES;
  constexpr std::int64_t NEAR = 4 * ROUNDED_PANEL;  // as the panels of `compute_symmetric_distances`
  const std::int64_t pairs = job.packed.width();
  std::vector<float> products(tiles.size() * TILE_SUMS, 0.0f);
  for (std::int64_t first = 0; first < pairs; first += NEAR) {
    const std::int64_t last = std::min(first + NEAR, pairs), next = std::min(NEAR, pairs - last);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const PairTile& tile = tiles[i];
      const std::int32_t* block = job.packed[tile.block];
      const std::int32_t* query = job.packed[tile.lane / LANES] + tile.lane % LANES;
      fetch_share(tile, block, last, next, LANES);
      float* sums = products.data() + i * TILE_SUMS;
      add_rounded_panels(query, block, first, last, sums);
      if (last < pairs) continue;
      for (std::int64_t s = 0; s < TILE_SUMS; ++s)
        sums[s] =
            float(job.norm[tile.lane + s / LANES] + job.norm[tile.block * LANES + s % LANES] - 2.0 * double(sums[s]));
      write_pair_tile(layout, tile, sums, job.square);
    }
  }
#endif
}

// Rounds the rows [begin, end) to levels, and computes their norms and residuals.
template <class T> WB_KERNEL void round_to_levels(const LevelsJob<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t RUN = 128, LANES = BLOCK_LANES<float>;
  // Adding this number and subtracting it again leaves no digits behind the point: doubles of its size have none. It
  // rounds halves to even, and needs no instruction that old CPUs lack.
  constexpr double TO_INTEGER = 6755399441055744.0;
  const std::int64_t m = job.rows.width(), pairs_of_row = job.levels.width();
  const bool packed = job.levels.shape[2] == LANES;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = job.rows[row];
    double norm = 0, moved = 0;
    for (std::int64_t from = 0; from < 2 * pairs_of_row; from += RUN) {
      const std::int64_t count = std::clamp<std::int64_t>(m - from, 0, RUN);
      const std::int64_t run = std::min(2 * pairs_of_row - from, RUN);
      std::int16_t part[RUN] = {};
      double square[RUN], off[RUN];
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t j = from + i;
        const double at = (double(x[j]) - job.center[j]) * job.factor[j], most = job.most[j];
        const double level = ((at < -most ? -most : at > most ? most : at) + TO_INTEGER) - TO_INTEGER;
        part[i] = std::int16_t(job.times * int(level));
        square[i] = level * level;
        off[i] = (at - level) * (at - level);
      }
      for (std::int64_t i = 0; i < count; ++i) norm += square[i], moved += off[i];
      std::int32_t pairs[RUN / 2];
      std::memcpy(pairs, part, sizeof pairs);
      const std::int64_t first = from / 2;
      if (packed) {
        std::int32_t* out = job.levels[row / LANES] + first * LANES + row % LANES;
        for (std::int64_t i = 0; i < run / 2; ++i) out[i * LANES] = pairs[i];
      } else {
        std::copy(pairs, pairs + run / 2, job.levels[row] + first);
      }
    }
    job.norm[row] = std::int32_t(norm);
    job.residual[row] = std::sqrt(moved);
  }
}

}  // namespace wb::WB_LEVEL

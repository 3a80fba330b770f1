// Sums of differences over the zones of the SURF family (pairs-inl.hpp defines them), for numeric features without
// missing values in double precision: total[j] += sum over pairs in a zone of coefficient * |x_j - z_j|.
//
// Distances use |x - z| = 2 max(x, z) - x - z: one maximum and one addition per value, on different units of the core,
// at nearly twice the speed of differences. The error is about 1e-13 of the largest distances, far below the tolerance
// around a threshold. The differences that are summed are computed directly, and only for pairs in a zone.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// City-block distances of the rows [begin, end) to all rows: sum_j |x_j - z_j| = 2 sum_j max(x_j, z_j) - sum x - sum z.
// `width` is the stride of the output.
WB_INLINE void distances_by_maxima(const ZoneRows& job, double* distance, std::int64_t width, std::int64_t begin,
                                   std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<double>;
  constexpr int WIDE = VECTOR_LANES<double>;
  const std::int64_t m = job.packed.width(), n_blocks = (job.rows.size() + LANES - 1) / LANES;
  const Vec<double> one = hidden_one<double>(), two = broadcast<double>(2.0);
  std::vector<double> tile_rows(std::size_t(m * TILE_QUERIES));
  for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
    gather_tile(job.rows.data, first, end, job.rows.width(), 0, m, tile_rows.data());
    for (std::int64_t block = 0; block < n_blocks; ++block) {
      const double* values = job.packed[block];
      Vec<double> sum[TILE_QUERIES][TILE_VECTORS];
      WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) sum[q][0] = sum[q][1] = broadcast<double>(0.0);
      for (std::int64_t j = 0; j < m; ++j) {
        const Vec<double> ref[TILE_VECTORS] = {load<double>(values + j * LANES),
                                               load<double>(values + j * LANES + WIDE)};
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
          const Vec<double> query = broadcast<double>(tile_rows[std::size_t(j * TILE_QUERIES + q)]);
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
            sum[q][v] = add_product<double>(sum[q][v], one, larger<double>(query, ref[v]));
        }
      }
      const double* sums = job.row_sums.data + block * LANES;  // There is one for every lane of the block.
      for (int q = 0; q < TILE_QUERIES && first + q < end; ++q)
        for (int v = 0; v < TILE_VECTORS; ++v) {
          const Vec<double> both = load<double>(sums + v * WIDE) + broadcast<double>(job.row_sums[first + q]);
          const Vec<double> d = two * sum[q][v] - both;
          store<double>(distance + (first - begin + q) * width + block * LANES + v * WIDE,
                        larger<double>(d, broadcast<double>(0.0)));  // Rounding may make it negative.
        }
    }
  }
}

// Writes the distances of the rows [begin, end) to all rows; distance: (n, width), of whole blocks.
WB_KERNEL inline void compute_zone_distances(const ZoneRows& job, const View<double, 2>& distance, std::int64_t begin,
                                             std::int64_t end) {
  distances_by_maxima(job, distance[begin], distance.width(), begin, end);
}

// Sets of rows as bits: word w of a row's set tells which of the rows 64 w to 64 w + 63 belong to it.
using Bits = std::vector<std::uint64_t>;

// Writes as bits which distances are below (or above) `limit`. Distances come in whole words; those that must be in no
// set are NaN, which is neither below nor above anything.
template <bool BELOW>
WB_INLINE void compare_to_limit(const double* distance, std::int64_t words, double limit, std::uint64_t* out) {
  constexpr int WIDE = VECTOR_LANES<double>;
  const Vec<double> bound = broadcast<double>(limit);
  for (std::int64_t w = 0; w < words; ++w) {
    std::uint64_t word = 0;
    for (int v = 0; v < 64 / WIDE; ++v) {
      const Vec<double> d = load<double>(distance + w * 64 + v * WIDE);
      word |= std::uint64_t(lane_bits<double>(BELOW ? less<double>(d, bound) : less<double>(bound, d))) << (v * WIDE);
    }
    out[w] = word;
  }
}

// A mask of those of the 64 bits of word w that are in [from, to).
WB_INLINE std::uint64_t bits_in_range(std::int64_t w, std::int64_t from, std::int64_t to) {
  if (w * 64 + 64 <= from || to <= w * 64) return 0;  // A shift by 64 or more would not be defined.
  std::uint64_t word = ~std::uint64_t(0);
  if (w * 64 < from) word &= ~std::uint64_t(0) << (from - w * 64);
  if (to < w * 64 + 64) word &= (std::uint64_t(1) << (to - w * 64)) - 1;
  return word;
}

// A mask of those of the 64 bits of word w that are in group c of a row: the rows of a class, or with a numeric target
// the hits (c = 0) or the misses of the row.
WB_INLINE std::uint64_t bits_in_group(const Zones& zones, std::int64_t row, std::int64_t c, std::int64_t w) {
  if (!zones.numeric()) return bits_in_range(w, zones.class_start[c], zones.class_start[c + 1]);
  const std::uint64_t hits = bits_in_range(w, zones.hit_range[row][0], zones.hit_range[row][1]);
  return c == 0 ? hits : ~hits;
}

// Writes the positions of the set bits, ascending, and returns their number.
WB_INLINE std::int64_t list_bits(std::uint64_t set, std::uint8_t* out) {
  std::int64_t count = 0;
  for (; set; set &= set - 1) out[count++] = std::uint8_t(std::countr_zero(set));
  return count;
}

// total += scale * sum over the listed rows of |row - x|, for VECTORS vectors of features: the sums stay in registers.
template <int VECTORS>
WB_INLINE void add_panel(const double* rows, std::int64_t stride, const double* x, const std::uint8_t* listed,
                         std::int64_t count, double scale, double* total) {
  constexpr int WIDE = VECTOR_LANES<double>;
  const Vec<double> each = broadcast<double>(scale);
  Vec<double> sum[VECTORS], own[VECTORS];
  WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v) {
    sum[v] = broadcast<double>(0.0);
    own[v] = load<double>(x + v * WIDE);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double* z = rows + listed[i] * stride;
    WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v)
      sum[v] = add_product<double>(sum[v], each, absolute<double>(own[v] - load<double>(z + v * WIDE)));
  }
  WB_UNROLLED_FOR (int v = 0; v < VECTORS; ++v)
    store<double>(total + v * WIDE, load<double>(total + v * WIDE) + sum[v]);
}

// The same for the features [from, to), in panels of eight, two or one vectors.
WB_INLINE void add_rows(const double* rows, std::int64_t stride, const double* x, const std::uint8_t* listed,
                        std::int64_t count, double scale, std::int64_t from, std::int64_t to, double* total) {
  constexpr std::int64_t WIDE = VECTOR_LANES<double>;
  std::int64_t j = from;
  for (; j + 8 * WIDE <= to; j += 8 * WIDE) add_panel<8>(rows + j, stride, x + j, listed, count, scale, total + j);
  for (; j + 2 * WIDE <= to; j += 2 * WIDE) add_panel<2>(rows + j, stride, x + j, listed, count, scale, total + j);
  for (; j < to; j += WIDE) add_panel<1>(rows + j, stride, x + j, listed, count, scale, total + j);
}

// total += sum over the rows x of [begin, end) and the rows z of their sets of scale * |x - z|, where scale is
// sign * factor * weight divided by the number of rows of z's group in the set. A word of 64 rows z and a panel of
// features stay in the first-level cache while all rows x use them.
WB_INLINE void add_sets(const ZoneRows& job, const Zones& zones, const Bits& sets, std::int64_t words, double sign,
                        double* total, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t PANEL = 32, ROWS = 64;
  const std::int64_t count = end - begin, stride = job.rows.width();
  std::vector<std::uint8_t> listed(std::size_t(count * ROWS));
  std::vector<std::int64_t> size(static_cast<std::size_t>(count));
  std::vector<double> scale(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < zones.n_groups(); ++c) {
    const std::int64_t from = zones.numeric() ? 0 : zones.class_start[c];
    const std::int64_t to = zones.numeric() ? zones.size() : zones.class_start[c + 1];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t members = 0;
      for (std::int64_t word = from / ROWS; word * ROWS < to; ++word)
        members += std::popcount(sets[std::size_t(i * words + word)] & bits_in_group(zones, begin + i, c, word));
      scale[std::size_t(i)] =
          sign * zones.factor_of(begin + i, c) * zones.weight[begin + i] / std::max(double(members), 1.0);
    }
    for (std::int64_t word = from / ROWS; word * ROWS < to; ++word) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t members = sets[std::size_t(i * words + word)] & bits_in_group(zones, begin + i, c, word);
        size[std::size_t(i)] = list_bits(members, listed.data() + i * ROWS);
      }
      for (std::int64_t first = 0; first < stride; first += PANEL)
        for (std::int64_t i = 0; i < count; ++i)
          if (size[std::size_t(i)] > 0)
            add_rows(job.rows[word * ROWS], stride, job.rows[begin + i], listed.data() + i * ROWS, size[std::size_t(i)],
                     scale[std::size_t(i)], first, std::min(first + PANEL, stride), total);
    }
  }
}

// Adds the differences of the rows [begin, end) to `total`: (stride,).
WB_KERNEL inline void add_zone_differences(const ZoneRows& job, const Zones& zones, double* total, std::int64_t begin,
                                           std::int64_t end) {
  constexpr std::int64_t ROWS = 4 * TILE_QUERIES;                    // Rows whose distances are in memory at once.
  constexpr double NONE = std::numeric_limits<double>::quiet_NaN();  // NaN is in neither zone.
  const std::int64_t n = zones.size(), words = (n + 63) / 64;
  Bits near(std::size_t((end - begin) * words)), far(std::size_t(zones.far ? (end - begin) * words : 0));
  std::vector<double> distance(std::size_t(ROWS * words * 64));
  for (std::int64_t from = begin; from < end; from += ROWS) {
    const std::int64_t to = std::min(from + ROWS, end);
    if (!job.distance) distances_by_maxima(job, distance.data(), words * 64, from, to);
    for (std::int64_t row = from; row < to; ++row) {
      double* d = distance.data() + (row - from) * words * 64;
      for (std::int64_t i = 0; job.distance && i < n; ++i) d[i] = job.distance[job.order[row]][job.order[i]];
      const Thresholds at = zone_thresholds(zones, row, d);
      d[row] = NONE;
      std::fill(d + n, d + words * 64, NONE);
      compare_to_limit<true>(d, words, at.low * (1 - zones.tolerance), near.data() + (row - begin) * words);
      if (zones.far)
        compare_to_limit<false>(d, words, at.high * (1 + zones.tolerance), far.data() + (row - begin) * words);
    }
  }
  add_sets(job, zones, near, words, 1.0, total, begin, end);
  if (zones.far) add_sets(job, zones, far, words, -1.0, total, begin, end);
}

}  // namespace wb::WB_LEVEL

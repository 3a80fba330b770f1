// The steps of SIMBA (paper 000, algorithm 1): for a row x, find its near hit h and its near miss m under the current
// weights w, ||z||_w^2 = sum_j w_j^2 z_j^2, then change the weights along the gradient of the margin:
//   w_j += step * 1/2 * ((x_j - m_j)^2 / ||x - m||_w - (x_j - h_j)^2 / ||x - h||_w) * w_j.
// Every step depends on the one before, so one thread takes them in order.
//
// All rows, rounded to float, are scanned. The caller chooses the order
// of the features, and a block is abandoned as soon as its partial sums exceed the best distance so far. Every row that
// may be the nearest is then computed in double precision and the natural order of the features, so the result depends
// on neither the rounding nor the order. Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

constexpr std::int64_t SCAN_RUN = 32;  // Features between two looks at partial sums.

// The nearest row so far; of equal distances the lower row wins.
struct Nearest {
  double squared = std::numeric_limits<double>::infinity();
  std::int64_t row = -1;
  WB_INLINE void offer(double d, std::int64_t r) {
    if (d < squared || (d == squared && r < row)) {
      squared = d;
      row = r;
    }
  }
};

// The difference of two rows in feature j. MIXED: features are nominal or values are missing. Without, compilers turn
// loops over features into vector instructions, which makes a fit a fifth faster.
template <bool MIXED>
WB_INLINE double difference(const Margins& job, const double* x, const double* z, std::int64_t j) {
  const double diff = z[j] - x[j];
  if constexpr (!MIXED) return diff;
  if (job.nominal[j]) return x[j] == z[j] ? 0.0 : job.missing_distance[j];
  return diff == diff ? diff : job.missing_distance[j];
}

// The exact squared distance under the weights a = w^2. Features are summed in lanes and the lanes at the end, always
// in this order, so that every way to find a neighbour gives the same bits.
template <bool MIXED>
WB_INLINE double weighted_square(const Margins& job, const double* x, const double* z, const double* a) {
  constexpr int WIDE = VECTOR_LANES<double>, LANES = 4 * WIDE;
  const std::int64_t m = job.rows.width();
  Vec<double> sum[4];
  for (auto& s : sum) s = broadcast<double>(0.0);
  std::int64_t j = 0;
  for (; j + LANES <= m; j += LANES) {
    WB_UNROLLED_FOR (int v = 0; v < 4; ++v) {
      const std::int64_t at = j + v * WIDE;
      double diff[WIDE];
      for (int i = 0; i < WIDE; ++i) diff[i] = difference<MIXED>(job, x, z, at + i);
      sum[v] = add_term<double, 2, true>(sum[v], load<double>(a + at), load<double>(diff));
    }
  }
  double lane[WIDE];
  store<double>(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
  double total = 0;
  for (; j < m; ++j) total = add_term<double, 2, true>(total, a[j], difference<MIXED>(job, x, z, j));
  for (int i = 0; i < WIDE; ++i) total += lane[i];
  return total;
}

// A row that may be the nearest hit or miss, and its sum in single precision.
struct Candidate {
  float squared;
  std::int64_t row;
};

// How sums in single precision bound squared distances. Rounded coordinates change a distance by `slack` at most, and
// the additions change a sum by a `share` of it. Squared distance = unit * sum.
struct Rounding {
  double slack = 0, share = 0, unit = 1;

  // An upper bound on the sum of a row whose squared distance is at most `squared`. The last factors cover the
  // conversion to float.
  WB_INLINE float limit(double squared) const {
    const double d = std::sqrt(squared) + slack;
    return float(d * d * (1 + share) / unit * (1 + 3e-6));
  }
  // An upper bound on a row's squared distance, given its sum.
  WB_INLINE double ceiling(float sum) const {
    const double d = std::sqrt(double(sum) * unit / (1 - share)) + slack;
    return d * d * (1 + 1e-12);
  }
};

// Weights and a query in the scale and the `feature_order` of the packed rows; weights in units of `rounding.unit`.
struct ScaledQuery {
  std::vector<float> weight, query;
  Rounding rounding = {};
  double next_unit = 1;  // The largest weight.
};

// Computes the scaled query of one step, and how its rounding bounds distances. `scaled.rounding.unit` is the largest
// weight of an earlier step; while that is close enough, values stay in the range of single precision.
WB_INLINE void scale_query(const Margins& job, const double* row, const double* a, ScaledQuery& scaled) {
  const std::int64_t m = job.rows.width();
  const double eps = double(std::numeric_limits<float>::epsilon()), share = 1 / scaled.rounding.unit;
  double own = 0, moved = 0, top = std::numeric_limits<double>::min();
  for (std::int64_t j = 0; j < m; ++j) {
    const std::int64_t feature = job.feature_order[j];
    const double centred = row[feature] - job.center[feature], square = a[feature] * centred * centred;
    const double weight = a[feature] * job.unit[feature];
    own += square == square ? square : 0.0;  // NaN: a missing value.
    moved += a[feature] * job.rounding[feature];
    top = std::max(top, weight);
    scaled.weight[std::size_t(j)] = float(weight * share);
    scaled.query[std::size_t(j)] = float(centred * job.levels[feature]);
  }
  scaled.rounding.slack = 2 * eps * std::sqrt(own) + std::sqrt(moved);
  scaled.rounding.share = eps * double(SCAN_RUN + m / SCAN_RUN + 16);
  scaled.next_unit = top;
}

// What a scan has found so far: rows that may be the nearest, and an upper bound on the squared distance of the
// nearest. Index 0 is for misses, index 1 for hits.
struct Proposals {
  std::vector<Candidate> rows[2];
  double ceiling[2];
};

// Scans BLOCKS blocks from `first` on, of which `used` exist, side by side: their sums are independent, which hides the
// latency of additions.
template <bool MIXED, int BLOCKS>
WB_INLINE void scan_blocks(const Margins& job, std::int64_t x, const ScaledQuery& scaled, std::int64_t first,
                           std::int64_t used, Proposals& found) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>;
  const std::int64_t m = job.rows.width();
  Vec<float> sum[BLOCKS][TILE_VECTORS];
  const float* block[BLOCKS];
  float limit[BLOCKS];
  for (int b = 0; b < BLOCKS; ++b) {
    const std::int64_t at = first + std::min<std::int64_t>(b, used - 1);
    block[b] = job.packed[at];
    limit[b] = b < used ? scaled.rounding.limit(found.ceiling[job.block_code[at] == job.codes[x]])
                        : -std::numeric_limits<float>::infinity();
    for (int v = 0; v < TILE_VECTORS; ++v) sum[b][v] = broadcast<float>(0.0f);
  }
  bool alive = true;
  for (std::int64_t from = 0; from < m && alive; from += SCAN_RUN) {
    const std::int64_t to = std::min(from + SCAN_RUN, m);
    Vec<float> part[BLOCKS][TILE_VECTORS];  // In registers; sums of sums lose less by rounding.
    WB_UNROLLED_FOR (int b = 0; b < BLOCKS; ++b)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) part[b][v] = broadcast<float>(0.0f);
    for (std::int64_t j = from; j < to; ++j) {
      const Vec<float> query = broadcast<float>(scaled.query[std::size_t(j)]);
      const Vec<float> weight = broadcast<float>(scaled.weight[std::size_t(j)]);
      WB_UNROLLED_FOR (int b = 0; b < BLOCKS; ++b)
        WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
          const Vec<float> ref = load<float>(block[b] + j * LANES + v * VECTOR_LANES<float>);
          Vec<float> diff = ref - query;
          if constexpr (MIXED) {
            const std::int64_t feature = job.feature_order[j];
            const Vec<float> missing_distance = broadcast<float>(float(job.missing_distance[feature]));
            if (job.nominal[feature])
              diff = choose<float>(equal<float>(ref, query), broadcast<float>(0.0f), missing_distance);
            else diff = choose<float>(equal<float>(diff, diff), diff, missing_distance);
          }
          part[b][v] = part[b][v] + (weight * diff) * diff;
        }
    }
    Mask<float> below = no_lane<float>();
    WB_UNROLLED_FOR (int b = 0; b < BLOCKS; ++b)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
        sum[b][v] = sum[b][v] + part[b][v];
        below = below | less<float>(sum[b][v], broadcast<float>(limit[b]));
      }
    alive = any<float>(below);
  }
  if (!alive) return;
  for (std::int64_t b = 0; b < used; ++b) {
    const bool side = job.block_code[first + b] == job.codes[x];
    for (int v = 0; v < TILE_VECTORS; ++v) {
      float sums[VECTOR_LANES<float>];
      store<float>(sums, sum[b][v]);
      unsigned lanes = lane_bits<float>(less<float>(sum[b][v], broadcast<float>(limit[b])));
      for (; lanes; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        const std::int64_t row = job.ids[(first + b) * LANES + v * VECTOR_LANES<float> + lane];
        if (row < 0 || row == x) continue;
        found.rows[side].push_back({sums[lane], row});
        found.ceiling[side] = std::min(found.ceiling[side], scaled.rounding.ceiling(sums[lane]));
      }
    }
  }
}

// Finds the nearest hit and miss among all rows, starting from those that are known. Single precision proposes, double
// precision decides; of equal distances the lower row wins, so the order of proposals does not matter.
template <bool MIXED>
WB_INLINE void scan_margins(const Margins& job, std::int64_t x, const double* a, const ScaledQuery& scaled,
                            Proposals& found, Nearest& hit, Nearest& miss) {
  constexpr std::int64_t GROUP = 4;  // Blocks whose sums are added up side by side.
  found.rows[0].clear();
  found.rows[1].clear();
  found.ceiling[0] = miss.squared;
  found.ceiling[1] = hit.squared;
  for (std::int64_t first = 0; first < job.packed.size(); first += GROUP) {
    const std::int64_t left = job.packed.size() - first;
    if (left > 2) scan_blocks<MIXED, 4>(job, x, scaled, first, std::min(GROUP, left), found);
    else scan_blocks<MIXED, 2>(job, x, scaled, first, left, found);
  }
  for (int side = 0; side < 2; ++side) {
    const float limit = scaled.rounding.limit(found.ceiling[side]);
    Nearest& best = side ? hit : miss;
    for (const Candidate& c : found.rows[side])
      if (c.squared < limit) best.offer(weighted_square<MIXED>(job, job.rows[x], job.rows[c.row], a), c.row);
  }
}

// Takes the steps [begin, end) and changes the weights.
template <bool MIXED> WB_KERNEL void take_simba_steps(const MarginSteps& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t m = job.rows.width();
  double* w = job.w.data;
  const auto size = static_cast<std::size_t>(m);
  std::vector<double> a(size);
  ScaledQuery scaled{.weight = std::vector<float>(size), .query = std::vector<float>(size)};
  Proposals found;
  for (std::int64_t s = begin; s < end; ++s) {
    const std::int64_t x = job.order[s];
    const double* row = job.rows[x];
    for (std::int64_t j = 0; j < m; ++j) a[static_cast<std::size_t>(j)] = w[j] * w[j];
    scale_query(job, row, a.data(), scaled);
    // The unit of an earlier step serves unless the weights have grown or shrunk by a factor of a million.
    const double grown = scaled.next_unit / scaled.rounding.unit;
    const bool outgrown = !(1e-6 < grown && grown < 1e6);
    scaled.rounding.unit = outgrown ? scaled.next_unit : scaled.rounding.unit;
    if (outgrown) scale_query(job, row, a.data(), scaled);
    Nearest hit, miss;
    scan_margins<MIXED>(job, x, a.data(), scaled, found, hit, miss);
    const double to_hit = hit.row < 0 ? 0 : std::sqrt(hit.squared);
    const double to_miss = miss.row < 0 ? 0 : std::sqrt(miss.squared);
    const double gain = job.step[s];
    // Paper 000, algorithm 1, line 13. A term whose norm is 0 counts as 0.
    const double by_miss = to_miss > 0 ? gain * 0.5 / to_miss : 0, by_hit = to_hit > 0 ? gain * 0.5 / to_hit : 0;
    const double* near_miss = job.rows[std::max<std::int64_t>(miss.row, 0)];
    const double* near_hit = job.rows[std::max<std::int64_t>(hit.row, 0)];
    for (std::int64_t j = 0; j < m; ++j) {
      const double far = difference<MIXED>(job, row, near_miss, j), close = difference<MIXED>(job, row, near_hit, j);
      w[j] += (far * far * by_miss - close * close * by_hit) * w[j];
    }
  }
}

}  // namespace wb::WB_LEVEL

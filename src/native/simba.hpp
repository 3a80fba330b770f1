// Steps of SIMBA (paper 000, algorithm 1): near hit and near miss under the current weights, then
// an update of the weights. Steps depend on each other, so one thread does them in order.
//
// Exact pruning, twice: (1) per row a list of its nearest hits and misses under reference weights
// r is given, with a bound `reach` on the distance of all others. Since |z|_w >= min(w/r) |z|_r, the
// lists hold the true neighbours while the best listed one is nearer than min(w/r) * reach.
// (2) otherwise all rows are scanned, features in an order the caller chose, and a block is left as
// soon as its partial sums exceed the best distance so far. Whatever may win is measured again in
// the natural order of features, so the outcome depends on neither.
// Included once per CPU level: see levels.hpp.
#ifndef WB_LEVEL
#error "include levels.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

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

// MIXED: nominal features or missing values occur.
template <bool MIXED> WB_INLINE double difference(const MarginJob& job, const double* x, const double* z, std::int64_t j) {
  const double diff = z[j] - x[j];
  if constexpr (!MIXED) return diff;
  if (job.nominal[j]) return x[j] == z[j] ? 0.0 : job.gap[j];
  return diff == diff ? diff : job.gap[j];
}

template <bool MIXED>
WB_INLINE double weighted_square(const MarginJob& job, const double* x, std::int64_t row, const double* a) {
  double sum = 0;
  for (std::int64_t j = 0; j < job.m; ++j)
    sum = add_term<double, 2, true>(sum, a[j], difference<MIXED>(job, x, job.rows + row * job.m, j));
  return sum;
}

// Nearest hit and miss among all rows, starting from what is known.
template <bool MIXED>
WB_INLINE void scan_margins(const MarginJob& job, std::int64_t x, const double* a, const double* a_ordered,
                            const double* q_ordered, Nearest& hit, Nearest& miss) {
  constexpr std::int64_t LANES = BLOCK_LANES<double>, BLOCKS = 4, CHUNK = 16;
  const std::int64_t m = job.m;
  const double margin = 1 + double(2 * m + 16) * std::numeric_limits<double>::epsilon();
  for (std::int64_t first = 0; first < job.n_blocks; first += BLOCKS) {
    const std::int64_t used = std::min(BLOCKS, job.n_blocks - first);
    Vec<double> sum[BLOCKS][TILE_VECTORS];
    for (std::int64_t b = 0; b < BLOCKS; ++b)
      for (int v = 0; v < TILE_VECTORS; ++v) sum[b][v] = broadcast<double>(0.0);
    const double* block[BLOCKS];
    double limit[BLOCKS];
    for (std::int64_t b = 0; b < BLOCKS; ++b) {
      const std::int64_t at = first + std::min(b, used - 1);
      block[b] = job.packed + at * m * LANES;
      limit[b] = b < used ? (job.block_code[at] == job.codes[x] ? hit : miss).squared * margin : -1.0;
    }
    bool alive = true;
    for (std::int64_t from = 0; from < m && alive; from += CHUNK) {
      const std::int64_t to = std::min(from + CHUNK, m);
      for (std::int64_t j = from; j < to; ++j) {
        const Vec<double> query = broadcast<double>(q_ordered[j]), weight = broadcast<double>(a_ordered[j]);
        WB_UNROLL
        for (std::int64_t b = 0; b < BLOCKS; ++b)
          WB_UNROLL
          for (int v = 0; v < TILE_VECTORS; ++v) {
            const Vec<double> ref = load<double>(block[b] + j * LANES + v * VECTOR_LANES<double>);
            Vec<double> diff = ref - query;
            if constexpr (MIXED) {
              const std::int64_t feature = job.feature_order[j];
              const Vec<double> gap = broadcast<double>(job.gap[feature]);
              if (job.nominal[feature]) diff = choose<double>(equal<double>(ref, query), broadcast<double>(0.0), gap);
              else diff = choose<double>(equal<double>(diff, diff), diff, gap);
            }
            sum[b][v] = sum[b][v] + (weight * diff) * diff;
          }
      }
      Mask<double> below = no_lane<double>();
      WB_UNROLL
      for (std::int64_t b = 0; b < BLOCKS; ++b)
        WB_UNROLL
        for (int v = 0; v < TILE_VECTORS; ++v)
          below = below | less<double>(sum[b][v], broadcast<double>(limit[b]));
      alive = any<double>(below);
    }
    if (!alive) continue;
    for (std::int64_t b = 0; b < used; ++b) {
      Nearest& best = job.block_code[first + b] == job.codes[x] ? hit : miss;
      for (int v = 0; v < TILE_VECTORS; ++v) {
        double lane[VECTOR_LANES<double>];
        store<double>(lane, sum[b][v]);
        for (int i = 0; i < VECTOR_LANES<double>; ++i) {
          const std::int64_t row = job.ids[(first + b) * LANES + v * VECTOR_LANES<double> + i];
          if (row < 0 || row == x || !(lane[i] <= best.squared * margin)) continue;
          best.offer(weighted_square<MIXED>(job, job.rows + x * m, row, a), row);
        }
      }
    }
  }
}

// Runs steps [begin, end) and changes `w`; returns how many of them had to scan all rows.
template <bool MIXED>
WB_KERNEL std::int64_t simba(const MarginJob& job, double* w, std::int64_t begin, std::int64_t end) {
  const std::int64_t m = job.m;
  const auto size = static_cast<std::size_t>(m);
  std::vector<double> a(size), a_ordered(size), q_ordered(size);
  std::int64_t scans = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    const std::int64_t x = job.order[s];
    const double* row = job.rows + x * m;
    double ratio = std::numeric_limits<double>::infinity();  // min (w / r)^2
    for (std::int64_t j = 0; j < m; ++j) {
      a[static_cast<std::size_t>(j)] = w[j] * w[j];
      ratio = std::min(ratio, a[static_cast<std::size_t>(j)] / (job.reference[j] * job.reference[j]));
    }
    Nearest hit, miss;
    const std::int64_t* listed = job.listed + x * 2 * job.width;
    for (std::int64_t i = 0; i < 2 * job.width; ++i)
      if (listed[i] >= 0)
        (i < job.width ? hit : miss).offer(weighted_square<MIXED>(job, row, listed[i], a.data()), listed[i]);
    const double slack = 1 - double(2 * m + 16) * std::numeric_limits<double>::epsilon();
    const double reach_hit = job.reach[2 * x], reach_miss = job.reach[2 * x + 1];
    if (!(hit.squared < ratio * reach_hit * reach_hit * slack) ||
        !(miss.squared < ratio * reach_miss * reach_miss * slack)) {
      ++scans;
      for (std::int64_t j = 0; j < m; ++j) {
        a_ordered[static_cast<std::size_t>(j)] = a[static_cast<std::size_t>(job.feature_order[j])];
        q_ordered[static_cast<std::size_t>(j)] = row[job.feature_order[j]];
      }
      scan_margins<MIXED>(job, x, a.data(), a_ordered.data(), q_ordered.data(), hit, miss);
    }
    const double to_hit = hit.row < 0 ? 0 : std::sqrt(hit.squared);
    const double to_miss = miss.row < 0 ? 0 : std::sqrt(miss.squared);
    double gain = job.step[s];
    if (job.beta > 0) {  // sigmoid utility: u'(theta) = beta * u * (1 - u)
      const double u = 1 / (1 + std::exp(-job.beta * (to_miss - to_hit) / 2));
      gain *= job.beta * u * (1 - u);
    }
    for (std::int64_t j = 0; j < m; ++j) {
      double delta = 0;  // paper 000, algorithm 1, line 13; a term whose norm is 0 counts as 0
      if (to_miss > 0) {
        const double diff = difference<MIXED>(job, row, job.rows + miss.row * m, j);
        delta += diff * diff / to_miss;
      }
      if (to_hit > 0) {
        const double diff = difference<MIXED>(job, row, job.rows + hit.row * m, j);
        delta -= diff * diff / to_hit;
      }
      w[j] += gain * 0.5 * delta * w[j];
    }
  }
  return scans;
}

}  // namespace wb::WB_LEVEL

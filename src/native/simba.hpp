// Steps of SIMBA (paper 000, algorithm 1): near hit and near miss under the current weights, then
// an update of the weights. Steps depend on each other, so one thread does them in order; a crew may
// share its scans.
//
// Exact pruning, twice: (1) per row a list of its nearest hits and misses under reference weights
// r is given, with a bound `reach` on the distance of all others. Since |z|_w >= min(w/r) |z|_r, the
// lists hold the true neighbours while the best listed one is nearer than min(w/r) * reach.
// (2) otherwise all rows, rounded to 16 bits (to floats where values are nominal or missing), are
// scanned, features in an order the caller chose, and a block is left as soon as its partial sums
// exceed the best distance so far. Whatever may win is measured again in double precision and the
// natural order, so the outcome depends on neither.
// Included once per CPU level: see level.hpp.
#ifndef WB_LEVEL
#error "include level.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

constexpr std::int64_t SCAN_RUN = 32;  // features between two looks at partial sums

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

// The exact squared distance: features in lanes, lanes added up at the end, always in this order.
template <bool MIXED>
WB_INLINE double weighted_square(const MarginJob& job, const double* x, const double* z, const double* a) {
  constexpr int WIDE = VECTOR_LANES<double>, LANES = 4 * WIDE;
  Vec<double> sum[4];
  for (auto& s : sum) s = broadcast<double>(0.0);
  std::int64_t j = 0;
  for (; j + LANES <= job.m; j += LANES) {
    WB_UNROLL
    for (int v = 0; v < 4; ++v) {
      const std::int64_t at = j + v * WIDE;
      Vec<double> diff = load<double>(z + at) - load<double>(x + at);
      if constexpr (MIXED) {
        double mixed[WIDE];
        for (int i = 0; i < WIDE; ++i) mixed[i] = difference<true>(job, x, z, at + i);
        diff = load<double>(mixed);
      }
      sum[v] = add_term<double, 2, true>(sum[v], load<double>(a + at), diff);
    }
  }
  double lane[WIDE];
  store<double>(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
  double total = 0;
  for (; j < job.m; ++j) total = add_term<double, 2, true>(total, a[j], difference<MIXED>(job, x, z, j));
  for (int i = 0; i < WIDE; ++i) total += lane[i];
  return total;
}

// The nearest of a list that ascends under the reference weights; `ratio` bounds what w makes of it.
// Gives up, with a bound, where the list is not going to hold the nearest for sure.
template <bool MIXED>
WB_INLINE void nearest_listed(const MarginJob& job, std::int64_t x, int side, const double* a, double ratio,
                              Nearest& best) {
  constexpr std::int64_t TRIES = 4;
  const std::int64_t* rows = job.listed + (2 * x + side) * job.width;
  const double* square = job.listed_square + (2 * x + side) * job.width;
  const double reach = job.reach[2 * x + side];
  for (std::int64_t i = 0; i < job.width && rows[i] >= 0; ++i) {
    if (best.squared < ratio * square[i]) return;  // this one and all after it are farther
    if (i >= TRIES && !(best.squared < ratio * reach * reach)) return;
    best.offer(weighted_square<MIXED>(job, job.rows + x * job.m, job.rows + rows[i] * job.m, a), rows[i]);
  }
}

// A row that may be the nearest hit or miss, and its distance in single precision.
struct Candidate {
  float squared;
  std::int64_t row;
};

// How sums in single precision bound squared distances: rounded coordinates move a distance by
// `slack` at most, and a sum of terms that together reach (reach + d)^2 is off by a `share` of that.
struct Rounding {
  double slack, share, reach;
  double unit, rest;  // squared distance = unit * sum + rest

  // what a row's sum stays below if the row is as near as `squared`
  WB_INLINE float limit(double squared) const {
    const double d = std::sqrt(squared) + slack;
    const double most = d * d + share * (reach + d) * (reach + d);
    return float((most - rest) / unit * (1 + 1e-6)) + float(std::abs(most - rest) / unit * 2e-6);
  }
  // what a row's squared distance stays below, given its sum: d^2 <= sum + share * (reach + d)^2
  WB_INLINE double ceiling(float sum) const {
    const double measured = std::max(0.0, double(sum) * unit + rest);
    const double b = share * reach, c = measured + share * reach * reach;
    const double d = (b + std::sqrt(b * b + (1 - share) * c)) / (1 - share) + slack;
    return d * d * (1 + 1e-12);
  }
};

#if WB_VECTOR_EXTENSIONS
WB_INLINE Vec<float> load_packed(const std::int16_t* from) {
  typedef std::int16_t Shorts __attribute__((vector_size(16)));
  Shorts v;
  std::memcpy(&v, from, sizeof v);
#if defined(WB_MOVEMASK) && !defined(__clang__)  // GCC halves the conversion before it knows the CPU level
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  return __builtin_convertvector((Ints)__builtin_ia32_pmovsxwd256(v), Vec<float>);
#else
  return __builtin_convertvector(v, Vec<float>);
#endif
}
#else
WB_INLINE Vec<float> load_packed(const std::int16_t* from) { return map<float>([=](int i) { return float(from[i]); }); }
#endif
WB_INLINE Vec<float> load_packed(const float* from) { return load<float>(from); }

// Weights and a query as the packed rows see them, in `feature_order`; weights in units of `unit`.
struct Seen {
  std::vector<float> weight, query;  // expanded: query holds -2 * weight * query
  Rounding rounding{0, 0, 0, 1, 0};
  double next_unit = 1;  // the largest weight
};

// One pass over the features, in parts. `seen.rounding.unit` is the largest weight of some earlier
// step; as long as that is near enough, single precision stays in its range.
struct Seeing {
  static constexpr std::int64_t PARTS = 4, LANES = 8;
  const MarginJob& job;
  const double* row;
  const double* a;
  Seen& seen;
  double own[PARTS][LANES] = {}, moved[PARTS][LANES] = {}, top[PARTS][LANES] = {};

  template <bool IN_ORDER> WB_INLINE void feature(std::int64_t j, double share, int part, int lane) {
    const std::int64_t feature = IN_ORDER ? j : job.feature_order[j];
    const double centred = row[feature] - job.center[feature], value = centred * job.levels[feature];
    const double weight = a[feature] * job.unit[feature], square = a[feature] * centred * centred;
    own[part][lane] += square == square ? square : 0.0;  // missing
    moved[part][lane] += a[feature] * job.rounding[feature];
    top[part][lane] = weight > top[part][lane] ? weight : top[part][lane];
    seen.weight[std::size_t(j)] = float(weight * share);
    seen.query[std::size_t(j)] = float(job.expanded ? -2 * weight * share * value : value);
  }

  template <bool IN_ORDER> WB_INLINE void features(std::int64_t from, std::int64_t to, int part) {
    const double share = 1 / seen.rounding.unit;
    for (; from + LANES <= to; from += LANES)
      for (int i = 0; i < LANES; ++i) feature<IN_ORDER>(from + i, share, part, i);
    for (int i = 0; from + i < to; ++i) feature<IN_ORDER>(from + i, share, part, i);
  }

  WB_KERNEL static void part(void* task, std::int64_t part, int) {
    auto& self = *static_cast<Seeing*>(task);
    const std::int64_t each = (self.job.m / PARTS + LANES) / LANES * LANES;
    const std::int64_t from = std::min(part * each, self.job.m), to = std::min(from + each, self.job.m);
    if (self.job.in_order) self.features<true>(from, to, int(part));
    else self.features<false>(from, to, int(part));
  }
};

WB_INLINE void see(const MarginJob& job, const double* row, const double* a, Crew& crew, Seen& seen) {
  Seeing task{job, row, a, seen};
  crew.run(&Seeing::part, &task, Seeing::PARTS);
  constexpr auto ALL = Seeing::PARTS * Seeing::LANES;
  const double square = std::accumulate(task.own[0], task.own[0] + ALL, 0.0);
  const double eps = double(std::numeric_limits<float>::epsilon());
  seen.rounding.slack = 2 * eps * std::sqrt(square) + std::sqrt(std::accumulate(task.moved[0], task.moved[0] + ALL, 0.0));
  seen.rounding.share = eps * double(SCAN_RUN + job.m / SCAN_RUN + 16);
  seen.rounding.reach = job.expanded ? 2 * std::sqrt(square) : 0.0;
  seen.rounding.rest = job.expanded ? square : 0.0;
  seen.next_unit = std::max(*std::max_element(task.top[0], task.top[0] + ALL), std::numeric_limits<double>::min());
}

// What a scan has found so far: who may be nearest, and how far the nearest is at most; misses, hits.
struct Proposals {
  std::vector<Candidate> rows[2];
  double ceiling[2];
};

// Scans BLOCKS blocks from `first` on, of which `used` exist.
// EXPANDED: sums of (w z - 2 w x) z, one operation less than w (z - x)^2; but partial sums bound nothing.
template <bool MIXED, bool EXPANDED, int BLOCKS, class Packed>
WB_INLINE void scan_blocks(const MarginJob& job, const Packed* packed, std::int64_t x, const Seen& seen, std::int64_t first,
                           std::int64_t used, Proposals& found) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>;
  const std::int64_t m = job.m;
  Vec<float> sum[BLOCKS][TILE_VECTORS];
  const Packed* block[BLOCKS];
  float limit[BLOCKS];
  for (int b = 0; b < BLOCKS; ++b) {
    const std::int64_t at = first + std::min<std::int64_t>(b, used - 1);
    block[b] = packed + at * m * LANES;
    limit[b] = b < used ? seen.rounding.limit(found.ceiling[job.block_code[at] == job.codes[x]])
                        : -std::numeric_limits<float>::infinity();
    for (int v = 0; v < TILE_VECTORS; ++v) sum[b][v] = broadcast<float>(0.0f);
  }
  bool alive = true;
  for (std::int64_t from = 0; from < m && alive; from += SCAN_RUN) {
    const std::int64_t to = std::min(from + SCAN_RUN, m);
    Vec<float> part[BLOCKS][TILE_VECTORS];  // stays in registers; sums of sums lose less by rounding
    WB_UNROLL
    for (int b = 0; b < BLOCKS; ++b)
      WB_UNROLL
      for (int v = 0; v < TILE_VECTORS; ++v) part[b][v] = broadcast<float>(0.0f);
    for (std::int64_t j = from; j < to; ++j) {
      const Vec<float> query = broadcast<float>(seen.query[std::size_t(j)]);
      const Vec<float> weight = broadcast<float>(seen.weight[std::size_t(j)]);
      WB_UNROLL
      for (int b = 0; b < BLOCKS; ++b)
        WB_UNROLL
        for (int v = 0; v < TILE_VECTORS; ++v) {
          const Vec<float> ref = load_packed(block[b] + j * LANES + v * VECTOR_LANES<float>);
          if constexpr (EXPANDED) {
            part[b][v] = add_product<float>(part[b][v], add_product<float>(query, weight, ref), ref);
            continue;
          }
          Vec<float> diff = ref - query;
          if constexpr (MIXED) {
            const std::int64_t feature = job.feature_order[j];
            const Vec<float> gap = broadcast<float>(float(job.gap[feature]));
            if (job.nominal[feature]) diff = choose<float>(equal<float>(ref, query), broadcast<float>(0.0f), gap);
            else diff = choose<float>(equal<float>(diff, diff), diff, gap);
          }
          part[b][v] = part[b][v] + (weight * diff) * diff;
        }
    }
    Mask<float> below = no_lane<float>();
    WB_UNROLL
    for (int b = 0; b < BLOCKS; ++b)
      WB_UNROLL
      for (int v = 0; v < TILE_VECTORS; ++v) {
        sum[b][v] = sum[b][v] + part[b][v];
        if constexpr (!EXPANDED) below = below | less<float>(sum[b][v], broadcast<float>(limit[b]));
      }
    if constexpr (!EXPANDED) alive = any<float>(below);
  }
  if (!alive) return;
  for (std::int64_t b = 0; b < used; ++b) {
    const bool side = job.block_code[first + b] == job.codes[x];
    for (int v = 0; v < TILE_VECTORS; ++v) {
      float sums[VECTOR_LANES<float>];
      store<float>(sums, sum[b][v]);
      unsigned lanes = bits<float>(less<float>(sum[b][v], broadcast<float>(limit[b])));
      for (; lanes; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        const std::int64_t row = job.ids[(first + b) * LANES + v * VECTOR_LANES<float> + lane];
        if (row < 0 || row == x) continue;
        found.rows[side].push_back({sums[lane], row});
        found.ceiling[side] = std::min(found.ceiling[side], seen.rounding.ceiling(sums[lane]));
      }
    }
  }
}

// A scan of all rows for one query, in groups of blocks; each thread notes its own findings.
template <bool MIXED, bool EXPANDED, class Packed> struct MarginScan {
  static constexpr std::int64_t GROUP = 4;
  const MarginJob& job;
  const Packed* packed;
  std::int64_t x;
  const Seen& seen;
  Proposals* found;  // (Crew::MOST,)

  WB_KERNEL static void part(void* task, std::int64_t group, int who) {
    const auto& scan = *static_cast<const MarginScan*>(task);
    const std::int64_t first = group * GROUP, left = scan.job.n_blocks - first;
    if (left > 2)
      scan_blocks<MIXED, EXPANDED, 4>(scan.job, scan.packed, scan.x, scan.seen, first, std::min(GROUP, left), scan.found[who]);
    else scan_blocks<MIXED, EXPANDED, 2>(scan.job, scan.packed, scan.x, scan.seen, first, left, scan.found[who]);
  }
};

// Nearest hit and miss among all rows, starting from what is known. Single precision proposes.
template <bool MIXED, bool EXPANDED, class Packed>
WB_INLINE void scan_margins(const MarginJob& job, const Packed* packed, std::int64_t x, const double* a, const Seen& seen,
                            Crew& crew, Proposals* found, Nearest& hit, Nearest& miss) {
  using Scan = MarginScan<MIXED, EXPANDED, Packed>;
  for (int who = 0; who < Crew::MOST; ++who) {
    found[who].rows[0].clear();
    found[who].rows[1].clear();
    found[who].ceiling[0] = miss.squared;
    found[who].ceiling[1] = hit.squared;
  }
  Scan scan{job, packed, x, seen, found};
  crew.run(&Scan::part, &scan, (job.n_blocks + Scan::GROUP - 1) / Scan::GROUP);
  for (int side = 0; side < 2; ++side) {
    double ceiling = found[0].ceiling[side];
    for (int who = 1; who < Crew::MOST; ++who) ceiling = std::min(ceiling, found[who].ceiling[side]);
    const float limit = seen.rounding.limit(ceiling);
    Nearest& best = side ? hit : miss;
    for (int who = 0; who < Crew::MOST; ++who)
      for (const Candidate& c : found[who].rows[side])
        if (c.squared < limit)
          best.offer(weighted_square<MIXED>(job, job.rows + x * job.m, job.rows + c.row * job.m, a), c.row);
  }
}

// Takes steps from `begin` on and changes `w`. Stops before a step that needs the packed rows when
// there are none. Returns the step it stopped at, and how many steps scanned all rows.
template <bool MIXED>
WB_KERNEL std::pair<std::int64_t, std::int64_t> simba(const MarginJob& job, Crew& crew, double* w, std::int64_t begin,
                                                      std::int64_t end) {
  const std::int64_t m = job.m;
  const auto size = static_cast<std::size_t>(m);
  std::vector<double> a(size);
  Seen seen{std::vector<float>(size), std::vector<float>(size)};
  Proposals found[Crew::MOST];
  std::int64_t scans = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    const std::int64_t x = job.order[s];
    const double* row = job.rows + x * m;
    for (std::int64_t j = 0; j < m; ++j) a[static_cast<std::size_t>(j)] = w[j] * w[j];
    double ratio = std::numeric_limits<double>::infinity();  // min (w / r)^2
    for (std::int64_t j = 0; j < m && job.width > 0; ++j) {
      const double r = a[static_cast<std::size_t>(j)] / (job.reference[j] * job.reference[j]);
      ratio = r < ratio ? r : ratio;
    }
    ratio *= 1 - double(2 * m + 16) * std::numeric_limits<double>::epsilon();
    Nearest hit, miss;
    nearest_listed<MIXED>(job, x, 0, a.data(), ratio, hit);
    nearest_listed<MIXED>(job, x, 1, a.data(), ratio, miss);
    const double reach_hit = job.reach[2 * x], reach_miss = job.reach[2 * x + 1];
    if (job.width == 0 || !(hit.squared < ratio * reach_hit * reach_hit) || !(miss.squared < ratio * reach_miss * reach_miss)) {
      if (job.n_blocks == 0) return {s, scans};
      ++scans;
      see(job, row, a.data(), crew, seen);
      const double grown = seen.next_unit / seen.rounding.unit;
      const bool outgrown = !(1e-6 < grown && grown < 1e6);
      seen.rounding.unit = outgrown ? seen.next_unit : seen.rounding.unit;
      if (outgrown) see(job, row, a.data(), crew, seen);
      if constexpr (MIXED) scan_margins<true, false>(job, job.packed, x, a.data(), seen, crew, found, hit, miss);
      else if (job.expanded) scan_margins<false, true>(job, job.packed_short, x, a.data(), seen, crew, found, hit, miss);
      else scan_margins<false, false>(job, job.packed_short, x, a.data(), seen, crew, found, hit, miss);
    }
    const double to_hit = hit.row < 0 ? 0 : std::sqrt(hit.squared);
    const double to_miss = miss.row < 0 ? 0 : std::sqrt(miss.squared);
    double gain = job.step[s];
    if (job.beta > 0) {  // sigmoid utility: u'(theta) = beta * u * (1 - u)
      const double u = 1 / (1 + std::exp(-job.beta * (to_miss - to_hit) / 2));
      gain *= job.beta * u * (1 - u);
    }
    // paper 000, algorithm 1, line 13; a term whose norm is 0 counts as 0
    const double by_miss = to_miss > 0 ? gain * 0.5 / to_miss : 0, by_hit = to_hit > 0 ? gain * 0.5 / to_hit : 0;
    const double* near_miss = job.rows + std::max<std::int64_t>(miss.row, 0) * m;
    const double* near_hit = job.rows + std::max<std::int64_t>(hit.row, 0) * m;
    for (std::int64_t j = 0; j < m; ++j) {
      const double far = difference<MIXED>(job, row, near_miss, j), close = difference<MIXED>(job, row, near_hit, j);
      w[j] += (far * far * by_miss - close * close * by_hit) * w[j];
    }
  }
  return {end, scans};
}

}  // namespace wb::WB_LEVEL

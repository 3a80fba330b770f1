// The steps of SIMBA (paper 000, algorithm 1): for a row x, find its near hit h and its near miss m under the current
// weights w, ||z||_w^2 = sum_j w_j^2 z_j^2, then change the weights along the gradient of the margin:
//   w_j += step * 1/2 * ((x_j - m_j)^2 / ||x - m||_w - (x_j - h_j)^2 / ||x - h||_w) * w_j.
// Every step depends on the one before, so one thread takes them in order; helper threads may share its scans.
//
// Two exact ways to avoid the full search in double precision:
// (1) Per row, the caller gives a list of its nearest hits and misses under reference weights r, and a lower bound
// `unlisted_distance` on the distance of all others. Since ||z||_w >= min(w / r) ||z||_r, the list holds the true
// neighbour if the best listed row is nearer than min(w / r) * unlisted_distance.
// (2) Otherwise all rows, rounded to 16 bits (to float if values are nominal or missing), are scanned. The caller
// chooses the order of the features, and a block is abandoned as soon as its partial sums exceed the best distance so
// far. Every row that may be the nearest is then computed in double precision and the natural order of the features,
// so the result depends on neither the rounding nor the order.
// Included once per CPU level: see level-inl.hpp.
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

// The difference of two rows in feature j. MIXED: nominal features or missing values occur.
template <bool MIXED>
WB_INLINE double difference(const MarginJob& job, const double* x, const double* z, std::int64_t j) {
  const double diff = z[j] - x[j];
  if constexpr (!MIXED) return diff;
  if (job.nominal[j]) return x[j] == z[j] ? 0.0 : job.missing_distance[j];
  return diff == diff ? diff : job.missing_distance[j];
}

// The exact squared distance under the weights a = w^2. Features are summed in lanes and the lanes at the end, always
// in this order, so that every way to find a neighbour gives the same bits.
template <bool MIXED>
WB_INLINE double weighted_square(const MarginJob& job, const double* x, const double* z, const double* a) {
  constexpr int WIDE = VECTOR_LANES<double>, LANES = 4 * WIDE;
  Vec<double> sum[4];
  for (auto& s : sum) s = broadcast<double>(0.0);
  std::int64_t j = 0;
  for (; j + LANES <= job.m; j += LANES) {
    WB_UNROLLED_FOR (int v = 0; v < 4; ++v) {
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

// Finds the nearest row of a list that ascends under the reference weights. `ratio` bounds how much smaller a squared
// distance can be under w, so the search ends at the first row that is certainly farther than the best. It also ends
// after TRIES rows if the best one is not near enough to prove that no unlisted row is nearer.
template <bool MIXED>
WB_INLINE void search_list(const MarginJob& job, std::int64_t x, int side, const double* a, double ratio,
                           Nearest& best) {
  constexpr std::int64_t TRIES = 4;
  const std::int64_t* rows = job.listed + (2 * x + side) * job.width;
  const double* square = job.listed_square + (2 * x + side) * job.width;
  const double beyond = job.unlisted_distance[2 * x + side];
  for (std::int64_t i = 0; i < job.width && rows[i] >= 0; ++i) {
    if (best.squared < ratio * square[i]) return;  // This row and all later ones are farther.
    if (i >= TRIES && !(best.squared < ratio * beyond * beyond)) return;
    best.offer(weighted_square<MIXED>(job, job.rows + x * job.m, job.rows + rows[i] * job.m, a), rows[i]);
  }
}

// A row that may be the nearest hit or miss, and its sum in single precision.
struct Candidate {
  float squared;
  std::int64_t row;
};

// How sums in single precision bound squared distances. Rounded coordinates change a distance d by `slack` at most. The
// terms of a sum are at most (doubled_norm + d)^2 in all, and rounding changes the sum by a `share` of that;
// doubled_norm is twice the norm of the query in the expanded form, where terms have both signs, and 0 otherwise.
struct Rounding {
  double slack = 0, share = 0, doubled_norm = 0;
  double unit = 1, rest = 0;  // Squared distance = unit * sum + rest.

  // An upper bound on the sum of a row whose squared distance is at most `squared`. The last factors cover the
  // conversion to float.
  WB_INLINE float limit(double squared) const {
    const double d = std::sqrt(squared) + slack;
    const double most = d * d + share * (doubled_norm + d) * (doubled_norm + d);
    return float((most - rest) / unit * (1 + 1e-6)) + float(std::abs(most - rest) / unit * 2e-6);
  }
  // An upper bound on a row's squared distance, given its sum: the larger root of
  // d^2 = sum + share * (doubled_norm + d)^2.
  WB_INLINE double ceiling(float sum) const {
    const double measured = std::max(0.0, double(sum) * unit + rest);
    const double b = share * doubled_norm, c = measured + share * doubled_norm * doubled_norm;
    const double d = (b + std::sqrt(b * b + (1 - share) * c)) / (1 - share) + slack;
    return d * d * (1 + 1e-12);
  }
};

#if WB_VECTOR_EXTENSIONS
WB_INLINE Vec<float> load_packed(const std::int16_t* from) {
  typedef std::int16_t Shorts __attribute__((vector_size(16)));
  Shorts v;
  std::memcpy(&v, from, sizeof v);
#if defined(WB_HAS_AVX2) && !defined(__clang__)  // GCC would split the conversion before it knows the CPU level.
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  return __builtin_convertvector((Ints)__builtin_ia32_pmovsxwd256(v), Vec<float>);
#else
  return __builtin_convertvector(v, Vec<float>);
#endif
}
#else
WB_INLINE Vec<float> load_packed(const std::int16_t* from) {
  return map<float>([=](int i) { return float(from[i]); });
}
#endif
WB_INLINE Vec<float> load_packed(const float* from) { return load<float>(from); }

// Weights and a query in the scale and the `feature_order` of the packed rows; weights in units of `rounding.unit`.
struct ScaledQuery {
  std::vector<float> weight, query;  // In the expanded form `query` holds -2 * weight * query.
  Rounding rounding = {};
  double next_unit = 1;  // The largest weight.
};

// The task that computes a ScaledQuery: one pass over the features, in a fixed number of parts, whose sums are added in
// order, so that the result does not depend on the number of threads. `scaled.rounding.unit` is the largest weight of
// an earlier step; while that is close enough, values stay in the range of single precision.
struct QueryScaling {
  static constexpr std::int64_t PARTS = 4, LANES = 8;
  const MarginJob& job;
  const double* row;
  const double* a;
  ScaledQuery& scaled;
  double own[PARTS][LANES] = {}, moved[PARTS][LANES] = {}, top[PARTS][LANES] = {};

  template <bool IN_ORDER> WB_INLINE void scale_feature(std::int64_t j, double share, int part, int lane) {
    const std::int64_t feature = IN_ORDER ? j : job.feature_order[j];
    const double centred = row[feature] - job.center[feature], value = centred * job.levels[feature];
    const double weight = a[feature] * job.unit[feature], square = a[feature] * centred * centred;
    own[part][lane] += square == square ? square : 0.0;  // NaN: a missing value.
    moved[part][lane] += a[feature] * job.rounding[feature];
    top[part][lane] = weight > top[part][lane] ? weight : top[part][lane];
    scaled.weight[std::size_t(j)] = float(weight * share);
    scaled.query[std::size_t(j)] = float(job.expanded ? -2 * weight * share * value : value);
  }

  template <bool IN_ORDER> WB_INLINE void scale_features(std::int64_t from, std::int64_t to, int part) {
    const double share = 1 / scaled.rounding.unit;
    for (; from + LANES <= to; from += LANES)
      for (int i = 0; i < LANES; ++i) scale_feature<IN_ORDER>(from + i, share, part, i);
    for (int i = 0; from + i < to; ++i) scale_feature<IN_ORDER>(from + i, share, part, i);
  }

  WB_KERNEL static void run_part(void* task, std::int64_t part, int) {
    auto& self = *static_cast<QueryScaling*>(task);
    const std::int64_t each = (self.job.m / PARTS + LANES) / LANES * LANES;
    const std::int64_t from = std::min(part * each, self.job.m), to = std::min(from + each, self.job.m);
    if (self.job.in_order) self.scale_features<true>(from, to, int(part));
    else self.scale_features<false>(from, to, int(part));
  }
};

// Computes the scaled query of one step, and how its rounding bounds distances.
WB_INLINE void scale_query(const MarginJob& job, const double* row, const double* a, HelperThreads& helpers,
                           ScaledQuery& scaled) {
  QueryScaling task{.job = job, .row = row, .a = a, .scaled = scaled};
  helpers.run(&QueryScaling::run_part, &task, QueryScaling::PARTS);
  constexpr auto ALL = QueryScaling::PARTS * QueryScaling::LANES;
  const double square = std::accumulate(task.own[0], task.own[0] + ALL, 0.0);
  const double eps = double(std::numeric_limits<float>::epsilon());
  scaled.rounding.slack =
      2 * eps * std::sqrt(square) + std::sqrt(std::accumulate(task.moved[0], task.moved[0] + ALL, 0.0));
  scaled.rounding.share = eps * double(SCAN_RUN + job.m / SCAN_RUN + 16);
  scaled.rounding.doubled_norm = job.expanded ? 2 * std::sqrt(square) : 0.0;
  scaled.rounding.rest = job.expanded ? square : 0.0;
  scaled.next_unit = std::max(*std::max_element(task.top[0], task.top[0] + ALL), std::numeric_limits<double>::min());
}

// What a scan has found so far: rows that may be the nearest, and an upper bound on the squared distance of the
// nearest. Index 0 is for misses, index 1 for hits.
struct Proposals {
  std::vector<Candidate> rows[2];
  double ceiling[2];
};

// Scans BLOCKS blocks from `first` on, of which `used` exist, side by side: their sums are independent, which hides the
// latency of additions. EXPANDED sums (w z - 2 w x) z, one operation less than w (z - x)^2, but such partial sums bound
// nothing, so there is no early exit.
template <bool MIXED, bool EXPANDED, int BLOCKS, class Packed>
WB_INLINE void scan_blocks(const MarginJob& job, const Packed* packed, std::int64_t x, const ScaledQuery& scaled,
                           std::int64_t first, std::int64_t used, Proposals& found) {
  constexpr std::int64_t LANES = BLOCK_LANES<float>;
  const std::int64_t m = job.m;
  Vec<float> sum[BLOCKS][TILE_VECTORS];
  const Packed* block[BLOCKS];
  float limit[BLOCKS];
  for (int b = 0; b < BLOCKS; ++b) {
    const std::int64_t at = first + std::min<std::int64_t>(b, used - 1);
    block[b] = packed + at * m * LANES;
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
          const Vec<float> ref = load_packed(block[b] + j * LANES + v * VECTOR_LANES<float>);
          if constexpr (EXPANDED) {
            part[b][v] = add_product<float>(part[b][v], add_product<float>(query, weight, ref), ref);
            continue;
          }
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

// The task that scans all rows for one query, in groups of blocks. Each thread collects its own proposals, so that none
// waits for another.
template <bool MIXED, bool EXPANDED, class Packed> struct MarginScan {
  static constexpr std::int64_t GROUP = 4;
  const MarginJob& job;
  const Packed* packed;
  std::int64_t x;
  const ScaledQuery& scaled;
  Proposals* found;  // (HelperThreads::MAX_THREADS,)

  WB_KERNEL static void run_part(void* task, std::int64_t group, int thread) {
    const auto& scan = *static_cast<const MarginScan*>(task);
    const std::int64_t first = group * GROUP, left = scan.job.n_blocks - first;
    if (left > 2)
      scan_blocks<MIXED, EXPANDED, 4>(scan.job, scan.packed, scan.x, scan.scaled, first, std::min(GROUP, left),
                                      scan.found[thread]);
    else scan_blocks<MIXED, EXPANDED, 2>(scan.job, scan.packed, scan.x, scan.scaled, first, left, scan.found[thread]);
  }
};

// Finds the nearest hit and miss among all rows, starting from those that are known. Single precision proposes, double
// precision decides; of equal distances the lower row wins, so the order of proposals does not matter.
template <bool MIXED, bool EXPANDED, class Packed>
WB_INLINE void scan_margins(const MarginJob& job, const Packed* packed, std::int64_t x, const double* a,
                            const ScaledQuery& scaled, HelperThreads& helpers, Proposals* found, Nearest& hit,
                            Nearest& miss) {
  using Scan = MarginScan<MIXED, EXPANDED, Packed>;
  for (int thread = 0; thread < HelperThreads::MAX_THREADS; ++thread) {
    found[thread].rows[0].clear();
    found[thread].rows[1].clear();
    found[thread].ceiling[0] = miss.squared;
    found[thread].ceiling[1] = hit.squared;
  }
  Scan scan{.job = job, .packed = packed, .x = x, .scaled = scaled, .found = found};
  helpers.run(&Scan::run_part, &scan, (job.n_blocks + Scan::GROUP - 1) / Scan::GROUP);
  for (int side = 0; side < 2; ++side) {
    double ceiling = found[0].ceiling[side];
    for (int thread = 1; thread < HelperThreads::MAX_THREADS; ++thread)
      ceiling = std::min(ceiling, found[thread].ceiling[side]);
    const float limit = scaled.rounding.limit(ceiling);
    Nearest& best = side ? hit : miss;
    for (int thread = 0; thread < HelperThreads::MAX_THREADS; ++thread)
      for (const Candidate& c : found[thread].rows[side])
        if (c.squared < limit)
          best.offer(weighted_square<MIXED>(job, job.rows + x * job.m, job.rows + c.row * job.m, a), c.row);
  }
}

// Takes the steps [begin, end) and changes `w`. If there are no packed rows, it stops before the first step that needs
// them. Returns the step at which it stopped, and the number of steps that scanned all rows.
template <bool MIXED>
WB_KERNEL std::pair<std::int64_t, std::int64_t> take_simba_steps(const MarginJob& job, HelperThreads& helpers,
                                                                 double* w, std::int64_t begin, std::int64_t end) {
  const std::int64_t m = job.m;
  const auto size = static_cast<std::size_t>(m);
  std::vector<double> a(size);
  ScaledQuery scaled{.weight = std::vector<float>(size), .query = std::vector<float>(size)};
  Proposals found[HelperThreads::MAX_THREADS];
  std::int64_t scans = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    const std::int64_t x = job.order[s];
    const double* row = job.rows + x * m;
    for (std::int64_t j = 0; j < m; ++j) a[static_cast<std::size_t>(j)] = w[j] * w[j];
    double ratio = std::numeric_limits<double>::infinity();  // min (w / r)^2 over the features.
    for (std::int64_t j = 0; j < m && job.width > 0; ++j) {
      const double r = a[static_cast<std::size_t>(j)] / (job.reference[j] * job.reference[j]);
      ratio = r < ratio ? r : ratio;
    }
    // The factor covers the rounding of the sums that are compared.
    ratio *= 1 - double(2 * m + 16) * std::numeric_limits<double>::epsilon();
    Nearest hit, miss;
    search_list<MIXED>(job, x, 0, a.data(), ratio, hit);
    search_list<MIXED>(job, x, 1, a.data(), ratio, miss);
    const double beyond_hits = job.unlisted_distance[2 * x], beyond_misses = job.unlisted_distance[2 * x + 1];
    if (job.width == 0 || !(hit.squared < ratio * beyond_hits * beyond_hits) ||
        !(miss.squared < ratio * beyond_misses * beyond_misses)) {
      if (job.n_blocks == 0) return {s, scans};
      ++scans;
      scale_query(job, row, a.data(), helpers, scaled);
      // The unit of an earlier step serves unless the weights have grown or shrunk by a factor of a million.
      const double grown = scaled.next_unit / scaled.rounding.unit;
      const bool outgrown = !(1e-6 < grown && grown < 1e6);
      scaled.rounding.unit = outgrown ? scaled.next_unit : scaled.rounding.unit;
      if (outgrown) scale_query(job, row, a.data(), helpers, scaled);
      if constexpr (MIXED) scan_margins<true, false>(job, job.packed, x, a.data(), scaled, helpers, found, hit, miss);
      else if (job.expanded)
        scan_margins<false, true>(job, job.packed_short, x, a.data(), scaled, helpers, found, hit, miss);
      else scan_margins<false, false>(job, job.packed_short, x, a.data(), scaled, helpers, found, hit, miss);
    }
    const double to_hit = hit.row < 0 ? 0 : std::sqrt(hit.squared);
    const double to_miss = miss.row < 0 ? 0 : std::sqrt(miss.squared);
    double gain = job.step[s];
    if (job.beta > 0) {  // Sigmoid utility u of the margin theta: u'(theta) = beta * u * (1 - u).
      const double u = 1 / (1 + std::exp(-job.beta * (to_miss - to_hit) / 2));
      gain *= job.beta * u * (1 - u);
    }
    // Paper 000, algorithm 1, line 13. A term whose norm is 0 counts as 0.
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

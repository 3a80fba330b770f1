// Leave-one-out answers of many individuals of an evolutionary search. An individual is a selection
// of instances and features with weights on both; the answer of a row is the class that most of its
// k nearest selected instances have, itself left out.
//
// `population_scan` serves every individual: it packs the selected instances and features once and
// compares a tile of rows with them. `population_matrix` reads distances that are known already, and
// `population_walk` neighbour lists that are sorted already. All three give the same answers.
// Included once per CPU level: see levels.hpp.
#ifndef WB_LEVEL
#error "include levels.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

constexpr int NOBODY = -1;  // no selected instance but the row itself

// The class most of the k entries have, of equal ones the first; `counts` is all zero before and after.
template <class T>
WB_INLINE int vote(const T* distance, const std::int64_t* id, std::int64_t k, const std::int32_t* codes, int* counts) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) return distance[0] < infinity ? codes[id[0]] : NOBODY;
  int best = NOBODY;
  for (std::int64_t s = 0; s < k; ++s)
    if (distance[s] < infinity) {
      const int code = codes[id[s]], count = ++counts[code];
      if (best == NOBODY || count > counts[best] || (count == counts[best] && code < best)) best = code;
    }
  for (std::int64_t s = 0; s < k; ++s)
    if (distance[s] < infinity) counts[codes[id[s]]] = 0;
  return best;
}

// The k-th smallest of n distances (n: whole blocks of lanes); infinite where there are fewer.
template <class T> WB_INLINE T kth_smallest(const T* distance, std::int64_t n, std::int64_t k, T* heap) {
  constexpr int LANES = VECTOR_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) {
    Vec<T> low[4];
    for (int i = 0; i < 4; ++i) low[i] = broadcast<T>(infinity);
    std::int64_t at = 0;
    for (; at + 4 * LANES <= n; at += 4 * LANES)
      WB_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Vec<T> d = load<T>(distance + at + i * LANES);
        low[i] = choose<T>(less<T>(d, low[i]), d, low[i]);
      }
    for (; at < n; at += LANES) {
      const Vec<T> d = load<T>(distance + at);
      low[0] = choose<T>(less<T>(d, low[0]), d, low[0]);
    }
    T lanes[LANES], best = infinity;
    for (int i = 0; i < 4; ++i) {
      store<T>(lanes, low[i]);
      for (int lane = 0; lane < LANES; ++lane) best = lanes[lane] < best ? lanes[lane] : best;
    }
    return best;
  }
  std::fill(heap, heap + k, infinity);
  for (std::int64_t at = 0; at < n; at += LANES) {
    unsigned found = bits<T>(less<T>(load<T>(distance + at), broadcast<T>(heap[0])));
    for (; found; found &= found - 1) {
      const T d = distance[at + std::countr_zero(found)];
      if (!(d < heap[0])) continue;
      std::pop_heap(heap, heap + k);
      heap[k - 1] = d;
      std::push_heap(heap, heap + k);
    }
  }
  return heap[0];
}

// One individual, ready to be compared: selected instances packed by set of weights, selected
// features only. Where weights differ from 1 rows are folded, (x - center) * sqrt(a), heaviest
// features first, to propose candidates, which are then measured with exact differences. Where
// instances are scaled the least scaled ones come first, since they are near to everything, in runs
// that are sorted by the first feature: most blocks of a run are then too far in that feature alone.
template <class T> struct Individual {
  std::vector<std::int64_t> columns;   // selected features, numeric first
  std::vector<T> weights;              // (n_sets, columns) a
  std::vector<std::int64_t> seen;      // the same features in the order of the tile
  std::vector<T> factor, gap;          // (n_sets, seen) root of a (1 for nominal), folded gap
  std::vector<T> packed, scales;       // (n_blocks, seen, lanes); v^2 per lane
  std::vector<T> least, inverse;       // (n_blocks,) smallest scale, and a little more than 1 over it
  std::vector<T> low, high;            // (n_blocks,) of the first feature
  std::vector<std::int64_t> ids;       // row per lane, -1: padding
  std::vector<std::int64_t> set_start; // (n_sets + 1,) first block
  std::vector<T> norm;                 // (n_sets,) largest folded norm among the selected
  std::int64_t numeric = 0;
  bool folded = false, scaled = false;
  T reach = 1;                         // largest sqrt(scale), at least 1

  std::int64_t width() const { return std::int64_t(columns.size()); }
};

template <class T> WB_KERNEL void choose_features(const PopulationJob<T>& job, std::int64_t i, Individual<T>& out) {
  const std::int64_t m = job.features.count, sets = job.n_sets;
  const T* a = job.weights ? job.weights + i * sets * m : nullptr;
  out.columns.clear();
  out.folded = false;
  out.numeric = 0;
  for (std::int64_t j = 0; j < m; ++j) {
    bool counts = !a;
    for (std::int64_t s = 0; a && s < sets; ++s) {
      counts |= a[s * m + j] > 0;
      out.folded |= (a[s * m + j] != 0 && a[s * m + j] != 1) || a[s * m + j] != a[j];
    }
    if (!counts) continue;
    out.columns.push_back(j);
    out.numeric += j < job.features.numeric;
  }
  const std::int64_t width = out.width();
  out.weights.assign(std::size_t(sets * width), T(1));
  for (std::int64_t s = 0; a && s < sets; ++s)
    for (std::int64_t c = 0; c < width; ++c) out.weights[s * width + c] = a[s * m + out.columns[c]];
  std::vector<std::int64_t> order(static_cast<std::size_t>(width));
  std::iota(order.begin(), order.end(), std::int64_t(0));
  if (out.folded) {
    const auto weight = [&](std::int64_t c) {
      const T gap = job.features.gap[out.columns[c]];
      return out.weights[c] * gap * gap;
    };
    std::stable_sort(order.begin(), order.begin() + out.numeric,
                     [&](std::int64_t c, std::int64_t d) { return weight(c) > weight(d); });
  }
  out.seen.resize(std::size_t(width));
  out.factor.assign(std::size_t(sets * width), T(1));
  out.gap.resize(std::size_t(sets * width));
  for (std::int64_t c = 0; c < width; ++c) out.seen[c] = out.columns[order[c]];
  for (std::int64_t s = 0; s < sets; ++s)
    for (std::int64_t c = 0; c < width; ++c) {
      const T root = std::sqrt(out.weights[s * width + order[c]]);
      if (c < out.numeric) out.factor[s * width + c] = root;
      out.gap[s * width + c] = job.features.gap[out.seen[c]] * (out.folded ? root : T(1));
    }
}

// A row as the tile sees it, into every `stride`-th place.
template <class T>
WB_INLINE void see(const PopulationJob<T>& job, const Individual<T>& self, std::int64_t row, std::int64_t set, T* to,
                   std::int64_t stride) {
  const std::int64_t width = self.width(), base = row * job.features.count;
  const std::int64_t* seen = self.seen.data();
  const T* factor = self.factor.data() + set * width;
  std::int64_t c = 0;
  if (self.folded)
    for (; c < self.numeric; ++c) to[c * stride] = job.centered[base + seen[c]] * factor[c];
  for (; c < width; ++c) to[c * stride] = job.rows[base + seen[c]];
}

// Length of the numbers of a row that `see` wrote; missing ones count 0.
template <class T> WB_INLINE T length(const Individual<T>& self, const T* from, std::int64_t stride) {
  T square = 0;
  for (std::int64_t c = 0; c < self.numeric; ++c) {
    const T x = from[c * stride];
    if (x == x) square += x * x;
  }
  return std::sqrt(square);
}

// Rows in the order of the first feature of the tile; null where nothing says so.
template <class T> WB_INLINE const std::int32_t* first_order(const PopulationJob<T>& job, const Individual<T>& self) {
  return job.orders && self.numeric > 0 ? job.orders + self.seen[0] * job.n : nullptr;
}

// Rows from place `first` on, least scaled ones first, roughly: runs of about RUN rows between equal
// steps of v, each by its first feature.
template <class T>
WB_KERNEL void sort_by_scale(const PopulationJob<T>& job, Individual<T>& out, const T* scales, std::size_t first) {
  constexpr std::size_t RUN = 192;
  std::vector<std::int64_t> rows(out.ids.begin() + std::ptrdiff_t(first), out.ids.end());
  const std::size_t runs = 1 + rows.size() / RUN;
  T most = 0;
  for (const std::int64_t row : rows) most = std::max(most, scales[row]);
  const T step = most > 0 ? T(runs) / std::sqrt(most) : T(0);
  std::vector<std::int32_t> run_of(std::size_t(job.n), -1);
  std::vector<std::size_t> start(runs + 1, 0);
  for (const std::int64_t row : rows) {
    run_of[row] = std::int32_t(std::min(runs - 1, std::size_t(std::sqrt(scales[row]) * step)));
    ++start[std::size_t(run_of[row]) + 1];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  const std::int32_t* order = first_order(job, out);
  for (std::int64_t at = 0; at < job.n; ++at) {
    const std::int64_t row = order ? order[at] : at;
    if (run_of[row] >= 0) out.ids[first + start[std::size_t(run_of[row])]++] = row;
  }
}

template <class T> WB_KERNEL void measure_blocks(Individual<T>& out, const T* scales);

template <class T> WB_KERNEL void pack_individual(const PopulationJob<T>& job, std::int64_t i, Individual<T>& out) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const std::int64_t n = job.n, sets = job.n_sets;
  choose_features(job, i, out);
  const std::int64_t width = out.width();
  const bool* kept = job.kept ? job.kept + i * n : nullptr;
  const T* scales = job.scales ? job.scales + i * n : nullptr;
  out.ids.clear();
  out.set_start.assign(1, 0);
  for (std::int64_t s = 0; s < sets; ++s) {
    const std::size_t first = out.ids.size();
    for (std::int64_t row = 0; row < n; ++row)
      if ((!kept || kept[row]) && (sets == 1 || job.codes[row] == s)) out.ids.push_back(row);
    if (scales) sort_by_scale(job, out, scales, first);
    while (out.ids.size() % LANES) out.ids.push_back(-1);
    out.set_start.push_back(std::int64_t(out.ids.size()) / LANES);
  }
  out.packed.resize(out.ids.size() * std::size_t(width));
  out.norm.assign(std::size_t(sets), T(0));
  for (std::int64_t s = 0; s < sets; ++s)
    for (std::int64_t at = out.set_start[s] * LANES; at < out.set_start[s + 1] * LANES; ++at) {
      T* to = out.packed.data() + at / LANES * width * LANES + at % LANES;
      if (out.ids[at] < 0) {
        for (std::int64_t c = 0; c < width; ++c) to[c * LANES] = std::numeric_limits<T>::infinity();
        continue;
      }
      see(job, out, out.ids[at], s, to, LANES);
      if (out.folded) out.norm[s] = std::max(out.norm[s], length(out, to, LANES));
    }
  out.scaled = scales != nullptr;
  out.reach = 1;
  if (!out.scaled) return;
  measure_blocks(out, scales);
}

// Scales of the lanes, the smallest of each block, and the range of its first feature.
template <class T> WB_KERNEL void measure_blocks(Individual<T>& out, const T* scales) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::size_t blocks = out.ids.size() / LANES;
  out.scales.assign(out.ids.size(), T(1));
  out.least.assign(blocks, infinity);
  out.inverse.resize(blocks);
  out.low.assign(blocks, infinity);
  out.high.assign(blocks, -infinity);
  for (std::size_t at = 0; at < out.ids.size(); ++at) {
    const std::size_t block = at / LANES;
    if (out.ids[at] < 0) continue;
    out.scales[at] = scales[out.ids[at]];
    out.reach = std::max(out.reach, std::sqrt(out.scales[at]));
    out.least[block] = std::min(out.least[block], out.scales[at]);
    const T x = out.numeric ? out.packed[block * std::size_t(out.width()) * LANES + at % LANES] : T(0);
    out.low[block] = x == x ? std::min(out.low[block], x) : -infinity;  // a missing value is at no place
    out.high[block] = x == x ? std::max(out.high[block], x) : infinity;
  }
  for (std::size_t block = 0; block < blocks; ++block)
    out.inverse[block] = (1 + 16 * std::numeric_limits<T>::epsilon()) / out.least[block];
}

// Distance of two rows with exact differences, over the selected features, in the order of `exact`.
template <class T>
WB_INLINE T measure(const PopulationJob<T>& job, const Individual<T>& self, std::int64_t query, std::int64_t row) {
  const std::int64_t m = job.features.count, width = self.width();
  const T* q = job.rows + query * m;
  const T* x = job.rows + row * m;
  const T* a = self.weights.data() + (job.n_sets == 1 ? 0 : job.codes[row]) * width;
  T sum = 0;
  for (std::int64_t c = 0; c < self.numeric; ++c) {
    const std::int64_t j = self.columns[c];
    T diff = x[j] - q[j];
    if (diff != diff) diff = job.features.gap[j];
    sum = add_term<T, 2, true>(sum, a[c], diff);
  }
  for (std::int64_t c = self.numeric; c < width; ++c) {
    const std::int64_t j = self.columns[c];
    sum = add_term<T, 2, true>(sum, a[c], x[j] == q[j] ? T(0) : job.features.gap[j]);
  }
  return sum;
}

template <class T> using TileSums = Vec<T>[TILE_QUERIES][TILE_VECTORS];

// Is any pair below its query's bound, or below its reference's? `column` may be null.
template <class T> WB_INLINE bool any_below(const TileSums<T>& sum, const T* bound, const T* column) {
  Mask<T> hit = no_lane<T>();
  WB_UNROLL
  for (int v = 0; v < TILE_VECTORS; ++v) {
    const Vec<T> least = column ? load<T>(column + v * VECTOR_LANES<T>) : broadcast<T>(-std::numeric_limits<T>::infinity());
    WB_UNROLL
    for (int q = 0; q < TILE_QUERIES; ++q) {
      Vec<T> most = broadcast<T>(bound[q]);
      if (column) most = choose<T>(less<T>(least, most), most, least);
      hit = hit | less<T>(sum[q][v], most);
    }
  }
  return any<T>(hit);
}

// `tile` in steps: after `look`, twice `look`, ... features it gives up, and says false, once no pair
// can stay below its bound.
template <class T, bool MISSING>
WB_INLINE bool tile_below(const T* queries, const T* block, const Features<T>& features, std::int64_t look, const T* bound,
                          const T* column, TileSums<T>& sum) {
  constexpr int LANES = VECTOR_LANES<T>;
  Vec<T> acc[TILE_QUERIES][TILE_VECTORS];
  WB_UNROLL
  for (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLL
    for (int v = 0; v < TILE_VECTORS; ++v) acc[q][v] = broadcast<T>(T(0));
  for (std::int64_t j = 0; j < features.count;) {
    const std::int64_t end = j < features.numeric ? features.numeric : features.count;
    const std::int64_t stop = std::min<std::int64_t>(end, j ? 2 * j : look);
    if (j < features.numeric) {
      for (; j < stop; ++j) {
        Vec<T> ref[TILE_VECTORS];
        WB_UNROLL
        for (int v = 0; v < TILE_VECTORS; ++v) ref[v] = load<T>(block + (j * TILE_VECTORS + v) * LANES);
        WB_UNROLL
        for (int q = 0; q < TILE_QUERIES; ++q) {
          const Vec<T> query = broadcast<T>(queries[j * TILE_QUERIES + q]);
          WB_UNROLL
          for (int v = 0; v < TILE_VECTORS; ++v) {
            Vec<T> diff = ref[v] - query;
            if constexpr (MISSING) diff = choose<T>(equal<T>(diff, diff), diff, broadcast<T>(features.gap[j]));
            acc[q][v] = add_term<T, 2, false>(acc[q][v], diff, diff);
          }
        }
      }
    } else {
      for (; j < stop; ++j) {
        const Vec<T> zero = broadcast<T>(T(0)), gap = broadcast<T>(features.gap[j]);
        for (int v = 0; v < TILE_VECTORS; ++v) {
          const Vec<T> ref = load<T>(block + (j * TILE_VECTORS + v) * LANES);
          WB_UNROLL
          for (int q = 0; q < TILE_QUERIES; ++q) {
            const Vec<T> diff = choose<T>(equal<T>(ref, broadcast<T>(queries[j * TILE_QUERIES + q])), zero, gap);
            acc[q][v] = add_term<T, 2, false>(acc[q][v], diff, diff);
          }
        }
      }
    }
    if (!any_below<T>(acc, bound, column)) return false;
  }
  WB_UNROLL
  for (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLL
    for (int v = 0; v < TILE_VECTORS; ++v) sum[q][v] = acc[q][v];
  return true;
}

// The nearest selected instances of the rows of one call, and how near others must be to enter.
//
// With k = 1 and folded rows the list holds folded distances, and a row is in doubt once another
// instance is so near to the best that rounding may have swapped them; rows in doubt are searched
// again. Otherwise distances in the list are exact.
template <class T> struct Closest {
  std::vector<T> distance, slack, limit;  // (rows, k) as heaps; (rows,); (rows, padded)
  std::vector<std::int64_t> id;           // (rows, k)
  std::vector<char> doubt;                // (rows,)
  std::vector<std::int64_t> query, place; // (rows,) row number, and place among the queries of the call
  bool propose = false;                   // the list holds folded distances
  std::vector<T> queries;                 // one tile
  std::vector<int> counts;                // (n_classes,) for votes

  void start(const PopulationJob<T>& job, const Individual<T>& self, std::int64_t rows, bool only_propose) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    propose = only_propose;
    doubt.assign(std::size_t(rows), 0);
    distance.assign(std::size_t(rows * job.k), infinity);
    id.assign(std::size_t(rows * job.k), std::numeric_limits<std::int64_t>::max());
    slack.assign(std::size_t(rows), T(0));
    limit.assign(std::size_t(rows + BLOCK_LANES<T>), infinity);
    std::fill(limit.begin() + rows, limit.end(), -infinity);
    queries.resize(std::size_t(self.width() * TILE_QUERIES));
    counts.assign(std::size_t(job.n_classes), 0);
  }
};

// Something larger than d, by a few roundings at most.
template <class T> WB_INLINE T just_above(T d) {
  return d + (d * (2 * std::numeric_limits<T>::epsilon()) + std::numeric_limits<T>::min());
}

// What a distance of the tile must be below to matter to the list of `row`.
template <class T> WB_INLINE void set_limit(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t row) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T worst = near.distance[row * job.k];
  if (!(worst < infinity)) return;
  if (near.propose) worst = folded_limit<T, 2>(worst, near.slack[row], self.width());  // what it may be exactly
  if (self.folded) worst = folded_limit<T, 2>(worst, near.slack[row], self.width());
  near.limit[row] = just_above(worst);
}

template <class T>
WB_INLINE void offer(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t row, T d, std::int64_t id) {
  T* list = near.distance.data() + row * job.k;
  std::int64_t* list_id = near.id.data() + row * job.k;
  if (near.propose) {
    if (!(d < near.limit[row])) return;
    const T before = list[0];
    if (!(d < before)) {
      near.doubt[row] = 1;
      return;
    }
    list[0] = d;
    list_id[0] = id;
    set_limit(job, self, near, row);
    near.doubt[row] = before < near.limit[row];  // what came before is at least as far as its best
    return;
  }
  if (!worse(list[0], list_id[0], d, id)) return;
  replace_worst(list, list_id, job.k, d, id);
  set_limit(job, self, near, row);
}

// A first limit from an instance that is near without weights; k = 1, not scaled.
template <class T>
WB_INLINE void guess(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t i, std::int64_t at,
                     std::int64_t row) {
  const bool* kept = job.kept ? job.kept + i * job.n : nullptr;
  for (std::int64_t g = 0; g < job.n_guesses; ++g) {
    const std::int64_t id = job.guesses[row * job.n_guesses + g];
    if (kept && !kept[id]) continue;
    const T d = measure(job, self, row, id);
    const T most = self.folded ? folded_limit<T, 2>(d, near.slack[at], self.width()) : d;
    near.limit[at] = just_above(most);
    return;
  }
}

// Queries [first, first + used) of the call as the instances of one set see them, and their slack:
// 8 eps of the lengths bound what folding can change of a distance (not squared).
template <class T>
WB_INLINE void gather_queries(const PopulationJob<T>& job, const Individual<T>& self, std::int64_t set, std::int64_t first,
                              int used, Closest<T>& near) {
  for (int q = 0; q < TILE_QUERIES; ++q) {
    T* to = near.queries.data() + q;
    see(job, self, near.query[first + std::min(q, used - 1)], set, to, TILE_QUERIES);
    if (!self.folded || q >= used) continue;
    near.slack[first + q] = 8 * std::numeric_limits<T>::epsilon() * (length(self, to, TILE_QUERIES) + self.norm[set]) * self.reach;
    set_limit(job, self, near, first + q);
  }
}

// Offer the pairs of a tile that are below a limit. With SYMMETRIC rows are also references: lane,
// row number and place in the call are the same, and a pair serves both its rows, once.
template <class T, bool SYMMETRIC>
WB_INLINE void offer_pairs(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t first,
                           int used, std::int64_t block, const TileSums<T>& sum) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  for (int q = 0; q < used; ++q) {
    const std::int64_t at = first + q, row = near.query[at];
    unsigned lanes = 0;
    for (int v = 0; v < TILE_VECTORS; ++v) {
      unsigned found = bits<T>(less<T>(sum[q][v], broadcast<T>(near.limit[at])));
      if constexpr (SYMMETRIC)
        found |= bits<T>(less<T>(sum[q][v], load<T>(near.limit.data() + block * LANES + v * VECTOR_LANES<T>)));
      lanes |= found << (v * VECTOR_LANES<T>);
    }
    if (!lanes) continue;
    T distance[LANES];
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(distance + v * VECTOR_LANES<T>, sum[q][v]);
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const std::int64_t id = self.ids[block * LANES + lane];
      if (id < 0 || id == row || (SYMMETRIC && id < row)) continue;
      T d = distance[lane];
      if (!(d < near.limit[at]) && !(SYMMETRIC && d < near.limit[id])) continue;  // it may have fallen since
      if (self.folded && !near.propose) {
        d = measure(job, self, row, id);
        if (self.scaled) d *= self.scales[block * LANES + lane];
      }
      offer(job, self, near, at, d, id);
      if constexpr (SYMMETRIC) offer(job, self, near, id, d, row);
    }
  }
}

// One tile of queries against blocks [block, stop) of one set.
template <class T, bool MISSING, bool SYMMETRIC>
WB_INLINE void compare(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t set,
                       std::int64_t first, int used, std::int64_t block, std::int64_t stop) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Features<T> features{self.gap.data() + set * self.width(), self.numeric, self.width()};
  // a look costs as much as one or two features; scaled instances are soon too far
  const std::int64_t look = self.scaled ? 4 : self.width() < 16 ? self.width() : (self.width() + 1) / 2;
  const T* limit = near.limit.data() + first;  // -inf beyond the last row
  T scaled_limit[TILE_QUERIES];
  T behind = infinity, ahead = -infinity;  // range of the first feature in the tile
  for (int q = 0; self.scaled && q < used; ++q) {
    const T x = self.numeric ? near.queries[q] : T(0);
    behind = x == x ? std::min(behind, x) : -infinity;
    ahead = x == x ? std::max(ahead, x) : infinity;
  }
  for (; block < stop; ++block) {
    const T* bound = limit;
    if (self.scaled) {
      const T apart = std::max(self.low[block] - ahead, behind - self.high[block]);
      if (apart > 0 && apart * apart * self.least[block] * (1 - 16 * std::numeric_limits<T>::epsilon()) >
                           *std::max_element(limit, limit + used))
        continue;
      for (int q = 0; q < TILE_QUERIES; ++q)
        scaled_limit[q] = self.inverse[block] < infinity ? limit[q] * self.inverse[block] : q < used ? infinity : -infinity;
      bound = scaled_limit;
    }
    TileSums<T> sum;
    if (!tile_below<T, MISSING>(near.queries.data(), self.packed.data() + block * self.width() * LANES, features, look, bound,
                                SYMMETRIC ? near.limit.data() + block * LANES : nullptr, sum))
      continue;
    if (self.scaled)
      for (int v = 0; v < TILE_VECTORS; ++v) {
        const Vec<T> scale = load<T>(self.scales.data() + block * LANES + v * VECTOR_LANES<T>);
        for (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
      }
    offer_pairs<T, SYMMETRIC>(job, self, near, first, used, block, sum);
  }
}

// Fill the lists of the queries [begin, end) of `job`.
template <class T, bool MISSING>
WB_KERNEL void search(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t i,
                      std::int64_t begin, std::int64_t end, bool propose) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, CACHE_BYTES = 256 * 1024;
  const std::int64_t rows = end - begin;
  const std::int64_t part_blocks = std::max<std::int64_t>(
      1, CACHE_BYTES / std::max<std::int64_t>(1, self.width() * LANES * std::int64_t(sizeof(T))));
  const bool symmetric = job.all_rows && rows == job.n && job.n_sets == 1 && !job.kept && !self.scaled;
  near.start(job, self, rows, propose);
  near.place.resize(std::size_t(rows));
  near.query.resize(std::size_t(rows));
  std::iota(near.place.begin(), near.place.end(), begin);
  const std::int32_t* order = first_order(job, self);
  if (self.scaled && order && job.all_rows && rows == job.n)  // tiles of rows that are alike in the first feature
    std::copy_n(order, rows, near.place.begin());
  for (std::int64_t at = 0; at < rows; ++at) near.query[at] = job.query[near.place[at]];
  const bool guessing = job.k == 1 && job.n_sets == 1 && job.n_guesses > 0 && !self.scaled;
  if (guessing || symmetric)  // both sides of a pair need slack and limit from the start
    for (std::int64_t first = 0; first < rows; first += TILE_QUERIES) {
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, rows - first));
      if (self.folded) gather_queries(job, self, 0, first, used, near);
      for (int q = 0; guessing && q < used; ++q) guess(job, self, near, i, first + q, near.query[first + q]);
    }
  for (std::int64_t s = 0; s < job.n_sets; ++s)
    for (std::int64_t part = self.set_start[s]; part < self.set_start[s + 1]; part += part_blocks) {
      const std::int64_t stop = std::min(part + part_blocks, self.set_start[s + 1]);
      for (std::int64_t first = 0; first < rows; first += TILE_QUERIES) {
        const int used = int(std::min<std::int64_t>(TILE_QUERIES, rows - first));
        if (symmetric && stop * LANES <= first) break;
        gather_queries(job, self, s, first, used, near);
        if (symmetric) compare<T, MISSING, true>(job, self, near, s, first, used, std::max(part, first / LANES), stop);
        else compare<T, MISSING, false>(job, self, near, s, first, used, part, stop);
      }
    }
}

// Answers of individual i for queries [begin, end).
template <class T, bool MISSING>
WB_KERNEL void scan_individual(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near, std::int64_t i,
                               std::int64_t begin, std::int64_t end) {
  const std::int64_t k = job.k;
  std::int32_t* to = job.predicted + i * job.n_queries;
  search<T, MISSING>(job, self, near, i, begin, end, k == 1 && self.folded && job.n_sets == 1);
  std::vector<std::int64_t> doubtful, row;
  for (std::int64_t at = 0; at < end - begin; ++at) {
    to[near.place[at]] = vote(near.distance.data() + at * k, near.id.data() + at * k, k, job.codes, near.counts.data());
    if (!near.doubt[at]) continue;
    doubtful.push_back(near.place[at]);
    row.push_back(near.query[at]);
  }
  if (doubtful.empty()) return;
  PopulationJob<T> again = job;
  again.query = row.data();
  again.all_rows = false;
  search<T, MISSING>(again, self, near, i, 0, std::int64_t(row.size()), false);
  for (std::size_t at = 0; at < row.size(); ++at)
    to[doubtful[std::size_t(near.place[at])]] =
        vote(near.distance.data() + at, near.id.data() + at, 1, job.codes, near.counts.data());
}

template <class T, bool MISSING>
WB_KERNEL void population_scan(const PopulationJob<T>& job, std::int64_t first, std::int64_t last, std::int64_t begin,
                               std::int64_t end) {
  Individual<T> individual;
  Closest<T> near;
  for (std::int64_t i = first; i < last; ++i) {
    pack_individual(job, i, individual);
    scan_individual<T, MISSING>(job, individual, near, i, begin, end);
  }
}

// Squared distances of rows [begin, end) to all rows; infinite to itself and for padding.
template <class T, bool MISSING>
WB_KERNEL void squared_distances(const PopulationJob<T>& job, T* square, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Individual<T> all;
  Closest<T> near;
  pack_individual(job, 0, all);
  near.start(job, all, TILE_QUERIES, false);
  near.query.resize(TILE_QUERIES);
  const std::int64_t blocks = all.set_start[1], stride = blocks * LANES;
  for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
    const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
    for (int q = 0; q < used; ++q) near.query[q] = first + q;
    gather_queries(job, all, 0, 0, used, near);
    for (std::int64_t block = 0; block < blocks; ++block) {
      TileSums<T> sum;
      tile<T, 2, false, MISSING>(near.queries.data(), all.packed.data() + block * all.width() * LANES, nullptr,
                                 {all.gap.data(), all.numeric, all.width()}, sum);
      for (int q = 0; q < used; ++q)
        for (int v = 0; v < TILE_VECTORS; ++v)
          store<T>(square + (first + q) * stride + block * LANES + v * VECTOR_LANES<T>, sum[q][v]);
    }
    for (std::int64_t row = first; row < first + used; ++row) {
      std::fill(square + row * stride + job.n, square + (row + 1) * stride, infinity);
      square[row * stride + row] = infinity;
    }
  }
}

// Answers from known distances under scales and selections. Not selected: an infinite scale, and
// infinity times 0 is NaN, which is below nothing.
template <class T>
WB_KERNEL void population_matrix(const PopulationJob<T>& job, const T* square, std::int64_t stride, std::int64_t first,
                                 std::int64_t last, std::int64_t begin, std::int64_t end) {
  constexpr int LANES = VECTOR_LANES<T>;
  constexpr std::int64_t TOGETHER = 16;  // individuals whose scales stay in the cache
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::int64_t n = job.n, k = job.k;
  std::vector<T> scale(std::size_t(TOGETHER * stride)), distance(static_cast<std::size_t>(stride)), heap(static_cast<std::size_t>(k)),
      list(static_cast<std::size_t>(k));
  std::vector<std::int64_t> list_id(static_cast<std::size_t>(k)), selected[TOGETHER];
  bool few[TOGETHER];
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t group = first; group < last; group += TOGETHER) {
    const std::int64_t size = std::min(TOGETHER, last - group);
    for (std::int64_t g = 0; g < size; ++g) {
      T* to = scale.data() + g * stride;
      selected[g].clear();
      for (std::int64_t x = 0; x < stride; ++x) {
        const bool in = x < n && (!job.kept || job.kept[(group + g) * n + x]);
        to[x] = !in ? infinity : job.scales ? job.scales[(group + g) * n + x] : T(1);
        if (in) selected[g].push_back(x);
      }
      few[g] = std::int64_t(selected[g].size()) * 8 < n;
      while (selected[g].size() % LANES) selected[g].push_back(-1);  // gathered in whole vectors
    }
    for (std::int64_t at = begin; at < end; ++at) {
      const T* d = square + job.query[at] * stride;
      for (std::int64_t g = 0; g < size; ++g) {
        const T* v = scale.data() + g * stride;
        const bool gathered = few[g];
        std::int64_t width = stride;
        if (gathered) {
          width = std::int64_t(selected[g].size());
          for (std::int64_t s = 0; s < width; ++s) {
            const std::int64_t x = selected[g][s];
            distance[s] = x < 0 ? infinity : d[x] * v[x];
          }
        } else {
          for (std::int64_t x = 0; x < stride; x += LANES)
            store<T>(distance.data() + x, load<T>(d + x) * load<T>(v + x));
        }
        const T limit = kth_smallest<T>(distance.data(), width, k, heap.data());
        std::fill(list.begin(), list.end(), infinity);
        std::fill(list_id.begin(), list_id.end(), std::numeric_limits<std::int64_t>::max());
        const T most = limit < infinity ? limit : std::numeric_limits<T>::max();
        for (std::int64_t s = 0; s < width; s += LANES) {
          const Vec<T> here = load<T>(distance.data() + s);
          // at most the limit, NaN excluded
          unsigned near = bits<T>(less<T>(here, broadcast<T>(most))) | bits<T>(equal<T>(here, broadcast<T>(most)));
          for (; near; near &= near - 1) {
            const std::int64_t lane = s + std::countr_zero(near), id = gathered ? selected[g][lane] : lane;
            if (worse(list[0], list_id[0], distance[lane], id)) replace_worst(list.data(), list_id.data(), k, distance[lane], id);
          }
        }
        job.predicted[(group + g) * job.n_queries + at] = vote(list.data(), list_id.data(), k, job.codes, counts.data());
      }
    }
  }
}

}  // namespace wb::WB_LEVEL

// An individual of an evolutionary search, packed for comparison with tiles of rows.
// Included once per CPU level: see level.hpp.
#ifndef WB_LEVEL
#error "include level.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

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

}  // namespace wb::WB_LEVEL

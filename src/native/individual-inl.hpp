// An individual of an evolutionary search (paper 004), packed for comparison with tiles of rows. An individual selects
// instances and features and weights both; its distance of a row q and an instance x is
//   d^2 = v_x^2 * sum over selected features j of a_j (q_j - x_j)^2,   where a may differ by class of x.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// One individual, ready for comparison: the selected instances, packed by set of weights, with the selected features
// only.
//
// If weights differ from 1, rows are folded, (x - center) * sqrt(a). Folded distances propose candidates, whose
// distances are then computed with exact differences.
template <class T> struct Individual {
  std::vector<std::int64_t> columns;        // Selected features, numeric first.
  std::vector<T> weights;                   // (n_sets, columns) a
  std::vector<T> factor, missing_distance;  // (n_sets, columns) root of a (1 for nominal), folded missing_distance
  std::vector<T> packed, scales;            // (n_blocks, columns, lanes); v^2 per lane
  std::vector<std::int64_t> ids;            // row per lane, -1: padding
  std::vector<std::int64_t> set_start;      // (n_sets + 1,) first block
  std::vector<T> norm;                      // (n_sets,) largest folded norm among the selected
  std::int64_t numeric = 0;
  bool folded = false, scaled = false;
  T largest_scale_root = 1;  // largest sqrt(scale), at least 1

  std::int64_t width() const { return std::int64_t(columns.size()); }
};

// Sets the selected features of individual i and their weights.
template <class T> WB_KERNEL void choose_features(const PopulationJob<T>& job, std::int64_t i, Individual<T>& out) {
  const std::int64_t m = job.rows.width(), sets = job.n_sets();
  const T* a = job.weights ? job.weights[i] : nullptr;
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
    out.numeric += j < job.n_numeric;
  }
  const std::int64_t width = out.width();
  out.weights.assign(std::size_t(sets * width), T(1));
  for (std::int64_t s = 0; a && s < sets; ++s)
    for (std::int64_t c = 0; c < width; ++c) out.weights[s * width + c] = a[s * m + out.columns[c]];
  out.factor.assign(std::size_t(sets * width), T(1));
  out.missing_distance.resize(std::size_t(sets * width));
  for (std::int64_t s = 0; s < sets; ++s)
    for (std::int64_t c = 0; c < width; ++c) {
      const T root = std::sqrt(out.weights[s * width + c]);
      if (c < out.numeric) out.factor[s * width + c] = root;
      out.missing_distance[s * width + c] = job.missing_distance[out.columns[c]] * (out.folded ? root : T(1));
    }
}

// Writes a row in the form of the packed blocks (folded, selected features only) with the given stride.
template <class T>
WB_INLINE void write_tile_row(const PopulationJob<T>& job, const Individual<T>& individual, std::int64_t row,
                              std::int64_t set, T* to, std::int64_t stride) {
  const std::int64_t width = individual.width();
  const std::int64_t* columns = individual.columns.data();
  const T* factor = individual.factor.data() + set * width;
  std::int64_t c = 0;
  if (individual.folded)
    for (; c < individual.numeric; ++c) to[c * stride] = job.centered[row][columns[c]] * factor[c];
  for (; c < width; ++c) to[c * stride] = job.rows[row][columns[c]];
}

// Euclidean norm of the numeric features of a row that `write_tile_row` wrote; missing values count 0.
template <class T> WB_INLINE T folded_norm(const Individual<T>& individual, const T* from, std::int64_t stride) {
  T square = 0;
  for (std::int64_t c = 0; c < individual.numeric; ++c) {
    const T x = from[c * stride];
    if (x == x) square += x * x;
  }
  return std::sqrt(square);
}

// A value larger than d by a few roundings: a test `< limit` then also admits distances equal to d, whose row decides.
template <class T> WB_INLINE T just_above(T d) {
  return d + (d * (2 * std::numeric_limits<T>::epsilon()) + std::numeric_limits<T>::min());
}

// A bound on what folding changes in the distance (not squared) of a query and any instance of a set: 8 eps
// times the norms of both rows, since the subtraction of the center, the factor and their product round once each on
// either side; the rest is margin.
template <class T> WB_INLINE T folding_slack(const Individual<T>& individual, const T* query, std::int64_t set) {
  const T norm = folded_norm(individual, query, 1) + individual.norm[set];
  return 8 * std::numeric_limits<T>::epsilon() * norm * individual.largest_scale_root;
}

// Packs individual i: selected instances in blocks of lanes, by scale and then by row, padded per set of weights with
// rows at infinity.
template <class T> WB_KERNEL void pack_individual(const PopulationJob<T>& job, std::int64_t i, Individual<T>& out) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const std::int64_t n = job.rows.size(), sets = job.n_sets();
  choose_features(job, i, out);
  const std::int64_t width = out.width();
  const bool* kept = job.kept ? job.kept[i] : nullptr;
  const T* scales = job.scales ? job.scales[i] : nullptr;
  out.ids.clear();
  out.set_start.assign(1, 0);
  for (std::int64_t s = 0; s < sets; ++s) {
    for (std::int64_t row = 0; row < n; ++row)
      if ((!kept || kept[row]) && (sets == 1 || job.codes[row] == s)) out.ids.push_back(row);
    // Small scales first: they make small distances, and limits that later instances exceed after a few features.
    if (scales)
      std::stable_sort(out.ids.begin() + out.set_start.back() * LANES, out.ids.end(),
                       [&](std::int64_t a, std::int64_t b) { return scales[a] < scales[b]; });
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
      write_tile_row(job, out, out.ids[at], s, to, LANES);
      if (out.folded) out.norm[s] = std::max(out.norm[s], folded_norm(out, to, LANES));
    }
  out.scaled = scales != nullptr;
  out.largest_scale_root = 1;
  if (!out.scaled) return;
  // That of padding is infinite, so that it is no nearer than any instance.
  out.scales.assign(out.ids.size(), std::numeric_limits<T>::infinity());
  for (std::size_t lane = 0; lane < out.ids.size(); ++lane)
    if (out.ids[lane] >= 0) {
      out.scales[lane] = scales[out.ids[lane]];
      out.largest_scale_root = std::max(out.largest_scale_root, std::sqrt(out.scales[lane]));
    }
}

// Squared distance (without scale) of two rows with exact differences over the selected features, in the order and with
// the operations of `exact_distance`.
template <class T>
WB_INLINE T measure(const PopulationJob<T>& job, const Individual<T>& individual, std::int64_t query,
                    std::int64_t row) {
  const std::int64_t width = individual.width();
  const T *q = job.rows[query], *x = job.rows[row];
  const T* a = individual.weights.data() + (job.n_sets() == 1 ? 0 : job.codes[row]) * width;
  T sum = 0;
  for (std::int64_t c = 0; c < individual.numeric; ++c) {
    const std::int64_t j = individual.columns[c];
    T diff = x[j] - q[j];
    if (diff != diff) diff = job.missing_distance[j];
    sum = add_term<T, 2, true>(sum, a[c], diff);
  }
  for (std::int64_t c = individual.numeric; c < width; ++c) {
    const std::int64_t j = individual.columns[c];
    sum = add_term<T, 2, true>(sum, a[c], x[j] == q[j] ? T(0) : job.missing_distance[j]);
  }
  return sum;
}

}  // namespace wb::WB_LEVEL

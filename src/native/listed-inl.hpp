// Sums of differences between rows and their listed neighbours, the core of RELIEF and of its relatives:
//   total[output_row] += coefficient * |x - z|   for every row x and every neighbour z in its list.
// Class-dependent RELIEF (paper 001) has one output row per class; RELIEF and ReliefF have one in all.
// Sparse rows are in sparse.hpp. Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Adds the features [first, last) of the list `i` to the totals. The fused operation is called by name: compilers may
// fuse it in a vectorised loop and not in what is left over, and the bits would depend on where a thread begins.
template <class T>
WB_INLINE void add_list(const ListedRows<T>& job, std::int64_t i, std::int64_t first, std::int64_t last) {
  const T* x = job.rows[job.query[i]];
  for (std::int64_t s = 0; s < job.neighbor.width(); ++s) {
    if (!job.counts(i, s)) continue;
    const T* z = job.rows[job.neighbor[i][s]];
    const double c = job.coefficient[i][s];
    double* WB_RESTRICT out = job.total[job.output_row[i][s]];
    std::int64_t j = first;
    for (const std::int64_t end = std::min(job.n_numeric, last); j < end; ++j)
      out[j] = add_product<double>(out[j], c, double(std::abs(x[j] - z[j])));
    for (; j < last; ++j) out[j] += x[j] == z[j] ? 0.0 : c;
  }
}

// The features that `add_packed_panel` adds at once: their sums stay in registers. Only rows of double are packed: the
// differences of float rows must be converted, which takes longer than reading them from the second-level cache.
#ifdef WB_HAS_AVX512
constexpr int LISTED_VECTORS = 8;
#else
constexpr int LISTED_VECTORS = 6;
#endif
constexpr std::int64_t LISTED_PANEL = LISTED_VECTORS * VECTOR_LANES<double>;

// Lists without the places that add nothing. Rows are given by where they begin in a packed panel.
struct PackedLists {
  struct Term {
    double coefficient;
    std::int64_t z;
  };
  struct Run {  // terms of one row x that are added to one output row
    std::int64_t x, output_row;
    std::size_t begin, end;
  };
  std::vector<Term> terms;
  std::vector<Run> runs;
};

inline PackedLists pack_lists(const ListedPairs& job, std::int64_t begin, std::int64_t end) {
  PackedLists out;
  out.terms.reserve(std::size_t((end - begin) * job.neighbor.width()));
  for (std::int64_t i = begin; i < end; ++i) {
    const std::size_t first_run = out.runs.size();
    for (std::int64_t s = 0; s < job.neighbor.width(); ++s) {
      if (!job.counts(i, s)) continue;
      const std::int64_t output_row = job.output_row[i][s];
      if (out.runs.size() == first_run || out.runs.back().output_row != output_row)
        out.runs.push_back({job.query[i] * LISTED_PANEL, output_row, out.terms.size(), 0});
      out.terms.push_back({job.coefficient[i][s], job.neighbor[i][s] * LISTED_PANEL});
      out.runs.back().end = out.terms.size();
    }
  }
  return out;
}

// Adds all lists in one panel of features: `panel` has LISTED_PANEL numbers of each row, and `total` begins at the
// first of these features. Each sum adds the same products in the same order as `add_list`.
inline WB_KERNEL WB_NOINLINE void add_packed_panel(const PackedLists& lists, const double* panel, double* total,
                                                   std::int64_t m, std::int64_t count) {
  constexpr int WIDE = VECTOR_LANES<double>;
  const std::size_t room = std::size_t(count) * sizeof(double);
  double kept[LISTED_PANEL] = {};
  for (auto run = lists.runs.begin(); run != lists.runs.end();) {
    double* out = total + run->output_row * m;
    std::memcpy(kept, out, room);
    Vec<double> sum[LISTED_VECTORS];
    WB_UNROLLED_FOR (int v = 0; v < LISTED_VECTORS; ++v) sum[v] = load<double>(kept + v * WIDE);
    for (const std::int64_t output_row = run->output_row; run != lists.runs.end() && run->output_row == output_row;
         ++run) {
      Vec<double> x[LISTED_VECTORS];
      WB_UNROLLED_FOR (int v = 0; v < LISTED_VECTORS; ++v) x[v] = load<double>(panel + run->x + v * WIDE);
      for (std::size_t i = run->begin; i < run->end; ++i) {
        const double* z = panel + lists.terms[i].z;
        const Vec<double> coefficient = broadcast<double>(lists.terms[i].coefficient);
        WB_UNROLLED_FOR (int v = 0; v < LISTED_VECTORS; ++v)
          sum[v] = add_product<double>(sum[v], coefficient, absolute<double>(x[v] - load<double>(z + v * WIDE)));
      }
    }
    WB_UNROLLED_FOR (int v = 0; v < LISTED_VECTORS; ++v) store<double>(kept + v * WIDE, sum[v]);
    std::memcpy(out, kept, room);
  }
}

// Adds the lists [begin, end) in the features [first, last), which are numbers. A narrow panel of all rows is packed
// and stays in the cache while all lists use it. This pays off if rows are in many lists.
inline WB_KERNEL void add_packed_lists(const ListedRows<double>& job, std::int64_t begin, std::int64_t end,
                                       std::int64_t first, std::int64_t last) {
  const PackedLists lists = pack_lists(job, begin, end);
  std::vector<double> panel(std::size_t(job.rows.size() * LISTED_PANEL));
  for (std::int64_t from = first; from < last; from += LISTED_PANEL) {
    const std::int64_t count = std::min(LISTED_PANEL, last - from);
    for (std::int64_t i = 0; i < job.rows.size(); ++i)
      std::memcpy(panel.data() + i * LISTED_PANEL, job.rows[i] + from, std::size_t(count) * sizeof(double));
    add_packed_panel(lists, panel.data(), job.total.data + from, job.total.width(), count);
  }
}

// Whether packing pays off: a panel of all rows stays in the second-level cache, there are panels enough, and each row
// is used often enough.
inline bool packing_pays_off(const ListedRows<double>& job, std::int64_t n_lists) {
  constexpr std::int64_t MOST_ROWS = 768, LEAST_PANELS = 8, LEAST_USES = 64;
  const std::int64_t n = job.rows.size();
  return n <= MOST_ROWS && job.n_numeric >= LEAST_PANELS * LISTED_PANEL &&
         n_lists * job.neighbor.width() >= LEAST_USES * n;
}

// Adds the lists [begin, end) to the totals. Sums are in double whatever T is. If rows are not packed, all lists add a
// panel of features before the next, so that panels of some hundred rows stay in the second-level cache.
template <class T>
WB_KERNEL void add_listed_differences(const ListedRows<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t PANEL = 4096 / std::int64_t(sizeof(T));
  std::int64_t first = job.first_feature;
  if constexpr (std::is_same_v<T, double>) {
    const std::int64_t numbers = std::min(job.n_numeric, job.last_feature);
    if (first < numbers && packing_pays_off(job, end - begin)) {
      add_packed_lists(job, begin, end, first, numbers);
      first = numbers;
    }
  }
  for (; first < job.last_feature; first += PANEL)
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t last = std::min(first + PANEL, job.last_feature), next = job.last_feature - last;
      fetch_ahead(job.rows[job.query[i]] + last, std::min(PANEL, next));
      add_list<T>(job, i, first, last);
    }
}

}  // namespace wb::WB_LEVEL

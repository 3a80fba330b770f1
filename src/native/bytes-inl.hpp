// The k nearest references by city-block distance, d = sum_j |q_j - x_j|: sums over rows rounded to bytes propose,
// exact distances decide. One instruction (psadbw) adds eight absolute differences of bytes.
//
// A row is rounded to levels of width `delta`: b_j = round((x_j - low_j) / delta). Its residual r is the city-block
// distance by which rounding moved it. By the triangle inequality |d - delta * sum_j |bq_j - bx_j|| <= r_q + r_x, so
// every row that may be among the k nearest has a sum near the k-th smallest sum; only these rows are computed exactly.
// The lists are exactly those of k_nearest-inl.hpp.
//
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Sums of absolute differences of bytes, TILE_QUERIES x BYTE_LANES, over `words` words of eight bytes.
// queries: (words, TILE_QUERIES); block: (words, 2, 4) with the references 0 2 4 6, then 1 3 5 7: the sums of the
// second vector then fit into the upper halves of the 64-bit sums of the first, which puts all eight in order.
WB_INLINE void accumulate_byte_tile(const std::uint64_t* queries, const std::uint64_t* block, std::int64_t words,
                                    float (&sum)[TILE_QUERIES][BYTE_LANES]) {
#if WB_VECTOR_EXTENSIONS && defined(WB_HAS_AVX2)
  typedef char Chars __attribute__((vector_size(32)));
  typedef std::uint64_t Wide __attribute__((vector_size(32)));
  typedef std::int32_t Ints __attribute__((vector_size(32)));
  Wide acc[TILE_QUERIES][2];
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) acc[q][0] = acc[q][1] = Wide{};
  for (std::int64_t w = 0; w < words; ++w) {
    Wide ref[2];
    std::memcpy(ref, block + w * BYTE_LANES, sizeof ref);
    WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
      const Wide query = queries[w * TILE_QUERIES + q] - Wide{};
      acc[q][0] += (Wide)__builtin_ia32_psadbw256((Chars)ref[0], (Chars)query);
      acc[q][1] += (Wide)__builtin_ia32_psadbw256((Chars)ref[1], (Chars)query);
    }
  }
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
    const Ints both = (Ints)(acc[q][0] | (acc[q][1] << 32));
    store<float>(sum[q], __builtin_convertvector(both, Vec<float>));
  }
#else
  for (int q = 0; q < TILE_QUERIES; ++q)
    for (int lane = 0; lane < BYTE_LANES; ++lane) {
      std::int64_t total = 0;
      for (std::int64_t w = 0; w < words; ++w) {
        std::uint8_t a[8], b[8];
        std::memcpy(a, queries + w * TILE_QUERIES + q, 8);
        std::memcpy(b, block + w * BYTE_LANES + (lane % 2) * 4 + lane / 2, 8);
        for (int i = 0; i < 8; ++i) total += a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
      }
      sum[q][lane] = float(total);
    }
#endif
}

// An upper bound on the k-th smallest of n values, and close to it. It is exact for few values; otherwise it is the
// k-th smallest among the minima of 64 interleaved parts, which are 64 of the values, so the k-th of all cannot be
// larger.
WB_INLINE float upper_bound_of_kth(const float* value, std::int64_t n, std::int64_t k, std::vector<float>& scratch) {
  constexpr std::int64_t PARTS = 64;
  if (k > n) return std::numeric_limits<float>::infinity();
  if (n <= 4 * PARTS || k > PARTS / 2) {
    scratch.assign(value, value + n);
  } else {
    float least[PARTS];
    std::memcpy(least, value, sizeof least);
    std::int64_t i = PARTS;
    for (; i + PARTS <= n; i += PARTS)
      for (std::int64_t p = 0; p < PARTS; ++p) least[p] = value[i + p] < least[p] ? value[i + p] : least[p];
    for (; i < n; ++i) least[i % PARTS] = value[i] < least[i % PARTS] ? value[i] : least[i % PARTS];
    scratch.assign(least, least + PARTS);
  }
  std::nth_element(scratch.begin(), scratch.begin() + (k - 1), scratch.end());
  return scratch[std::size_t(k - 1)];
}

// Finds the positions of the values up to `limit`, ascending. n is a multiple of BYTE_LANES.
WB_INLINE void find_positions_up_to(const float* value, std::int64_t n, float limit, std::vector<std::int64_t>& found) {
  static_assert(VECTOR_LANES<float> == BYTE_LANES);
  found.clear();
  const float above = std::nextafter(limit, std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < n; i += BYTE_LANES) {
    unsigned lanes = lane_bits<float>(less<float>(load<float>(value + i), broadcast<float>(above)));
    for (; lanes; lanes &= lanes - 1) found.push_back(i + std::countr_zero(lanes));
  }
}

constexpr int ROWS_AT_ONCE = 8;  // Independent sums hide the latency of additions.

// One call of `find_k_nearest_by_bytes`.
template <class T> struct ByteSearch {
  const ByteJob<T>& job;
  std::vector<float> scratch = {};
  std::vector<std::int64_t> found = {};
  std::int64_t measured = 0;

  // A bound on |d - delta * sum| for sums up to `largest_sum`: the residuals, and the rounding of d in type T.
  WB_INLINE double error(std::int64_t query, double largest_sum) const {
    const double rounding =
        double(job.source.width() + 16) * double(std::numeric_limits<T>::epsilon()) * (largest_sum + 1) * job.delta;
    return job.query_residual[query] + job.largest_residual + 2 * rounding;
  }

  // The largest sum of a row that is no farther than a row whose sum is `sum`: either may be off by the error.
  WB_INLINE double limit_of(std::int64_t query, double sum) const {
    return sum + 2 * error(query, sum) / job.delta + 1;
  }

  // Inserts those rows of one group that are near into the list of a query. `sums` are those of n lanes from `at` on.
  WB_INLINE void offer(std::int64_t query, std::int64_t g, float* sums, std::int64_t at, std::int64_t n) {
    const List<T> list(job.lists, query, g);
    const std::int64_t k = list.k;
    const std::int64_t own = job.own_lane ? job.own_lane[query] : -1;
    // The query itself, and the padding at the end of a group, must not be found.
    if (at <= own && own < at + n) sums[own - at] = std::numeric_limits<float>::infinity();
    for (std::int64_t lane = n; lane > 0 && job.ids[at + lane - 1] < 0; --lane)
      sums[lane - 1] = std::numeric_limits<float>::infinity();
    double limit = limit_of(query, upper_bound_of_kth(sums, n, k, scratch));
    if (list.worst() < std::numeric_limits<T>::infinity())  // The list of earlier parts may be a tighter bound.
      limit = std::min(limit, limit_of(query, double(list.worst()) / job.delta));
    find_positions_up_to(sums, n, std::min(float(limit), std::numeric_limits<float>::max()), found);
    const double near = error(query, limit);
    const Features<T> features{.numeric = job.source.width(), .count = job.source.width()};  // none is missing
    const auto nearer = [&](std::int64_t a, std::int64_t b) { return sums[a] < sums[b]; };
    if (std::int64_t(found.size()) > k) {  // Puts the k likeliest rows first; their sums are a tighter limit.
      std::nth_element(found.begin(), found.begin() + (k - 1), found.end(), nearer);
      const double kth = sums[found[std::size_t(k - 1)]], closer = limit_of(query, kth);
      std::erase_if(found, [&](std::int64_t lane) { return double(sums[lane]) > closer; });
    }
    for (std::size_t i = 0; i < found.size();) {
      const T* row[ROWS_AT_ONCE];
      std::int64_t id[ROWS_AT_ONCE];
      std::size_t count = 0;
      for (; i < found.size() && count < ROWS_AT_ONCE; ++i) {
        // The list may have improved so much that this row is certainly farther than all of it.
        if (double(sums[found[i]]) * job.delta - near > double(list.worst())) continue;
        id[count] = job.ids[at + found[i]];
        row[count] = job.source[id[count]];
        ++count;
      }
      if (count == 0) continue;
      measured += std::int64_t(count);
      for (std::size_t c = count; c < ROWS_AT_ONCE; ++c) row[c] = row[0];  // Fill up; the results are ignored.
      T d[ROWS_AT_ONCE];
      exact_sums<T, 1, false, ROWS_AT_ONCE>(job.queries[query], row, row, features, d);
      for (std::size_t c = 0; c < count; ++c) list.offer(d[c], id[c]);
    }
  }
};

// Continues the lists of the queries [begin, end); returns the number of exact distances it computed, by which the
// caller decides whether rows differ enough as bytes.
template <class T>
WB_KERNEL std::int64_t find_k_nearest_by_bytes(const ByteJob<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t CACHE_BYTES = 512 * 1024;  // References at a time, so that all queries find them in the cache.
  const std::int64_t words = job.packed.width(), n_blocks = job.packed.size();
  const std::int64_t part = std::max<std::int64_t>(1, CACHE_BYTES / (words * BYTE_LANES * 8));
  ByteSearch<T> search{.job = job};
  std::vector<std::uint64_t> tile_rows(std::size_t(words * TILE_QUERIES));
  std::vector<float> sums(std::size_t(TILE_QUERIES * std::min(part, n_blocks) * BYTE_LANES));
  for (std::int64_t from = 0; from < n_blocks; from += part)
    for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
      gather_tile(job.query_words.data, first, end, words, 0, words, tile_rows.data());
      for (std::int64_t g = 0; g < job.lists.n_groups(); ++g) {
        const std::int64_t start = std::max(from, job.group_start[g]),
                           stop = std::min(from + part, job.group_start[g + 1]);
        if (start >= stop) continue;
        const std::int64_t width = (stop - start) * BYTE_LANES;
        for (std::int64_t block = start; block < stop; ++block) {
          float tile_sums[TILE_QUERIES][BYTE_LANES];
          accumulate_byte_tile(tile_rows.data(), job.packed[block], words, tile_sums);
          for (int q = 0; q < TILE_QUERIES; ++q)
            std::memcpy(sums.data() + q * width + (block - start) * BYTE_LANES, tile_sums[q], sizeof tile_sums[q]);
        }
        for (std::int64_t q = 0; q < TILE_QUERIES && first + q < end; ++q)
          search.offer(first + q, g, sums.data() + q * width, start * BYTE_LANES, width);
      }
    }
  each_list(job.lists, begin, end, [](const List<T>& list) { list.sort(); });
  return search.measured;
}

// Rounds rows to bytes, round((x - low) / delta), clipped to 0 .. 255, and computes the residual of each row. Bytes
// beyond the features are 0, to fill whole words.
template <class T> WB_KERNEL void round_to_bytes(const BytesJob<T>& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t m = job.rows.width(), width = job.bytes.width();
  const double share = 1 / job.delta;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = job.rows[row];
    std::uint8_t* out = job.bytes[row];
    double moved = 0;
    for (std::int64_t j = 0; j < m; ++j) {
      const double at = (double(x[j]) - job.low[j]) * share;
      const double level = at < 0 ? 0.0 : at > 255 ? 255.0 : std::floor(at + 0.5);
      out[j] = std::uint8_t(level);
      moved += absolute((at - level) * job.delta);
    }
    for (std::int64_t j = m; j < width; ++j) out[j] = 0;
    // A little more than the sum, to cover its own rounding: it is used as an upper bound.
    job.residual[row] = moved * (1 + double(m) * 1e-15) + 1e-12 * job.delta;
  }
}

}  // namespace wb::WB_LEVEL

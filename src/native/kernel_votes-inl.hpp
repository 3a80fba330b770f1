// Learned votes (methods page, "Learned votes"): the kernel exp(-d / width) of nearest neighbours.
//
// `solve_local_votes` solves, for every query q with its k nearest rows S, the ridge system
//   (K_SS + ridge * diag(1 / s)) u = k_qS,     K = exp(-d / width),  s the repetition weights of the rows,
// and returns one signed vote per neighbour, v_i = u_i + (1 - sum u) * s_i / sum s. The score of the query is the sum
// of v_i * y_i, which equals the mean of the neighbours' y plus k_qS' (K_SS + ridge / s)^-1 (y - mean): solving for u
// in place of the coefficients of y needs one right-hand side, however many classes or outputs y has.
//
// `sum_signs` is the gradient of the scores of all rows for the city-block distance: the sum over stored rows i of
// coefficient_i * sign(query_j - x_ij), for every feature j.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// exp(x) for x <= 0, within 2 units of the last place; 0 below -708, where results would be subnormal.
WB_INLINE Vec<double> exponential(Vec<double> x) {
#if WB_VECTOR_EXTENSIONS
  // x = n * log(2) + r with |r| <= log(2) / 2. Adding 1.5 * 2^52 rounds to a whole number, which then stands in the
  // lowest bits of the sum; shifted by 52 bits it is the exponent of 2^n.
  constexpr double ROUNDER = 6755399441055744.0, LOG2_HIGH = 0x1.62e42fefa38p-1, LOG2_LOW = 0x1.ef35793c7673p-45;
  const Vec<double> lowest = broadcast<double>(-708.0);
  const Vec<double> y = larger<double>(x, lowest);
  const Vec<double> shifted = y * broadcast<double>(1.4426950408889634) + broadcast<double>(ROUNDER);
  const Vec<double> n = shifted - broadcast<double>(ROUNDER);
  const Vec<double> r = (y - n * broadcast<double>(LOG2_HIGH)) - n * broadcast<double>(LOG2_LOW);
  // Taylor's series up to r^13 / 13!, whose remainder is below 2^-54 for these r.
  constexpr double INVERSE_FACTORIAL[] = {1.0 / 6227020800.0,
                                          1.0 / 479001600.0,
                                          1.0 / 39916800.0,
                                          1.0 / 3628800.0,
                                          1.0 / 362880.0,
                                          1.0 / 40320.0,
                                          1.0 / 5040.0,
                                          1.0 / 720.0,
                                          1.0 / 120.0,
                                          1.0 / 24.0,
                                          1.0 / 6.0,
                                          0.5,
                                          1.0,
                                          1.0};
  Vec<double> sum = broadcast<double>(INVERSE_FACTORIAL[0]);
  WB_UNROLLED_FOR (int i = 1; i < 14; ++i) sum = broadcast<double>(INVERSE_FACTORIAL[i]) + sum * r;
  const Vec<double> scaled = (Vec<double>)((Mask<double>)sum + ((Mask<double>)shifted << 52));
  return choose<double>(less<double>(x, lowest), broadcast<double>(0.0), scaled);
#else
  for (int i = 0; i < VECTOR_LANES<double>; ++i) x.lane[i] = x.lane[i] < -708.0 ? 0.0 : std::exp(x.lane[i]);
  return x;
#endif
}

// Memory that one range of queries uses again for every query.
template <class T> struct LocalWork {
  std::int64_t k, stride, n_blocks;  // stride: k, rounded up to whole blocks of double
  std::vector<T> packed, tile_rows;
  std::vector<double> distance, system, solution;

  LocalWork(std::int64_t k, std::int64_t m)
      : k(k),
        stride((k + 15) / 16 * 16),
        n_blocks((k + BLOCK_LANES<T> - 1) / BLOCK_LANES<T>),
        packed(std::size_t(n_blocks * m * BLOCK_LANES<T>)),
        tile_rows(std::size_t(m * TILE_QUERIES)),
        distance(std::size_t(k * stride)),
        system(std::size_t(k * stride)),
        solution(std::size_t(stride)) {}
};

// Distances of all pairs of the neighbours of one query: the upper triangle of a (k, stride) matrix, and at most one
// block to the left of it.
template <class T, int P, bool MISSING>
WB_INLINE void measure_neighbors(const LocalVotesJob<T>& job, const std::int64_t* neighbor, LocalWork<T>& work) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const Features<T> features = job.features();
  const std::int64_t k = work.k, m = features.count;
  for (std::int64_t lane = 0; lane < work.n_blocks * LANES; ++lane) {
    const T* row = job.rows[neighbor[std::min(lane, k - 1)]];  // Padding repeats the last neighbour.
    T* to = work.packed.data() + lane / LANES * m * LANES + lane % LANES;
    for (std::int64_t j = 0; j < m; ++j) to[j * LANES] = row[j];
  }
  for (std::int64_t first = 0; first < k; first += TILE_QUERIES) {
    const std::int64_t used = std::min<std::int64_t>(TILE_QUERIES, k - first);
    for (std::int64_t q = 0; q < TILE_QUERIES; ++q) {
      const T* row = job.rows[neighbor[first + std::min(q, used - 1)]];
      for (std::int64_t j = 0; j < m; ++j) work.tile_rows[std::size_t(j * TILE_QUERIES + q)] = row[j];
    }
    for (std::int64_t block = first / LANES; block < work.n_blocks; ++block) {
      TileSums<T> sum;
      accumulate_tile<T, P, false, MISSING>(work.tile_rows.data(), work.packed.data() + block * m * LANES, nullptr,
                                            features, sum);
      for (std::int64_t q = 0; q < used; ++q) {
        T out[LANES];
        for (int v = 0; v < TILE_VECTORS; ++v) store<T>(out + v * VECTOR_LANES<T>, sum[q][v]);
        double* to = work.distance.data() + (first + q) * work.stride + block * LANES;
        for (std::int64_t i = 0; i < LANES; ++i) to[i] = P == 2 ? std::sqrt(double(out[i])) : double(out[i]);
      }
    }
  }
}

// values[i] = exp(-distance[i] / width), for whole vectors.
WB_INLINE void apply_kernel(const double* distance, double width, std::int64_t begin, std::int64_t end,
                            double* values) {
  constexpr int LANES = VECTOR_LANES<double>;
  const Vec<double> factor = broadcast<double>(-1.0 / width);
  for (std::int64_t i = begin; i < end; i += LANES)
    store<double>(values + i, exponential(load<double>(distance + i) * factor));
}

// Solves the system of one query by elimination without pivoting, which is Cholesky's method for a symmetric matrix.
// Only the upper triangle is read. Returns false if a pivot is not positive.
WB_INLINE bool eliminate(std::int64_t k, std::int64_t stride, double* system, double* solution) {
  constexpr int LANES = VECTOR_LANES<double>;
  for (std::int64_t j = 0; j < k; ++j) {
    const double* pivot_row = system + j * stride;
    if (!(pivot_row[j] > 1e-14)) return false;
    const double inverse = 1.0 / pivot_row[j];
    for (std::int64_t i = j + 1; i < k; ++i) {
      const double factor = pivot_row[i] * inverse;
      double* row = system + i * stride;
      const Vec<double> wide = broadcast<double>(factor);
      // Whole vectors: what is left of the diagonal, and right of column k, is never read.
      for (std::int64_t c = i / LANES * LANES; c < k; c += LANES)
        store<double>(row + c, load<double>(row + c) - wide * load<double>(pivot_row + c));
      solution[i] -= factor * solution[j];
    }
  }
  for (std::int64_t j = k - 1; j >= 0; --j) {
    double rest = solution[j];
    for (std::int64_t i = j + 1; i < k; ++i) rest -= system[j * stride + i] * solution[i];
    solution[j] = rest / system[j * stride + j];
  }
  return true;
}

// The votes of the neighbours of the queries [begin, end): votes is (n_queries, k).
template <class T, int P, bool MISSING>
WB_KERNEL void solve_local_votes(const LocalVotesJob<T>& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t k = job.neighbor.width();
  const auto repetition = [&](std::int64_t row) { return job.repetition ? job.repetition[row] : 1.0; };
  LocalWork<T> work(k, job.rows.width());
  std::vector<double> to_query(std::size_t(work.stride), 0.0);
  for (std::int64_t query = begin; query < end; ++query) {
    const std::int64_t* neighbor = job.neighbor[query];
    measure_neighbors<T, P, MISSING>(job, neighbor, work);
    for (std::int64_t i = 0; i < k; ++i) to_query[std::size_t(i)] = double(job.distance[query][i]);
    double ridge = job.ridge;
    // With missing values and p = 2 the kernel need not be positive definite: a larger ridge makes the system so.
    for (bool solved = false; !solved; ridge *= 4) {
      for (std::int64_t i = 0; i < k; ++i) {
        double* row = work.system.data() + i * work.stride;
        apply_kernel(work.distance.data() + i * work.stride, job.width, i / 4 * 4, k, row);
        row[i] = 1.0 + ridge / repetition(neighbor[i]);
      }
      apply_kernel(to_query.data(), job.width, 0, k, work.solution.data());
      solved = eliminate(k, work.stride, work.system.data(), work.solution.data());
    }
    double sum = 0.0, total = 0.0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum += work.solution[std::size_t(i)];
      total += repetition(neighbor[i]);
    }
    for (std::int64_t i = 0; i < k; ++i) {
      const double share = repetition(neighbor[i]) / total;
      job.votes[query][i] = work.solution[std::size_t(i)] + (1.0 - sum) * share;
    }
  }
}

// out[q, j] = sum over references i of coefficient[q, i] * sign(query_j - x_ij), for the numeric features and the
// queries [begin, end). A missing value has the sign 0. coefficient: (end - begin, n_lanes), 0 for padding;
// out: (end - begin, n_numeric).
WB_KERNEL inline void sum_signs(const PackedRows<double>& rows, const double* coefficient, double* out,
                                std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<double>, PANEL = 128;
  constexpr int WIDE = VECTOR_LANES<double>;
  const std::int64_t m = rows.rows.width(), numeric = rows.n_numeric, width = rows.n_lanes();
  const Vec<double> zero = broadcast<double>(0.0);
  std::vector<double> tile_rows(std::size_t(PANEL * TILE_QUERIES)), by_lane(std::size_t(PANEL * TILE_QUERIES * WIDE));
  for (std::int64_t from = 0; from < numeric; from += PANEL) {  // Sums of a panel stay in the first-level cache.
    const std::int64_t to = std::min(from + PANEL, numeric);
    for (std::int64_t first = begin; first < end; first += TILE_QUERIES) {
      gather_tile(rows.rows.data, first, end, m, from, to, tile_rows.data());
      const int used = int(std::min<std::int64_t>(TILE_QUERIES, end - first));
      std::fill(by_lane.begin(), by_lane.end(), 0.0);
      for (std::int64_t block = 0; block < rows.packed.size(); ++block) {
        Vec<double> weight[TILE_QUERIES][TILE_VECTORS];
        WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
          WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
            weight[q][v] =
                load<double>(coefficient + (first - begin + std::min(q, used - 1)) * width + block * LANES + v * WIDE);
        for (std::int64_t j = from; j < to; ++j) {
          const double* values = rows.packed[block] + j * LANES;
          const Vec<double> ref[TILE_VECTORS] = {load<double>(values), load<double>(values + WIDE)};
          WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
            const Vec<double> query = broadcast<double>(tile_rows[std::size_t((j - from) * TILE_QUERIES + q)]);
            double* at = by_lane.data() + ((j - from) * TILE_QUERIES + q) * WIDE;
            Vec<double> sum = load<double>(at);
            WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) {
              sum = sum + choose<double>(less<double>(ref[v], query), weight[q][v], zero);
              sum = sum - choose<double>(less<double>(query, ref[v]), weight[q][v], zero);
            }
            store<double>(at, sum);
          }
        }
      }
      for (int q = 0; q < used; ++q)
        for (std::int64_t j = from; j < to; ++j) {
          const double* at = by_lane.data() + ((j - from) * TILE_QUERIES + q) * WIDE;
          out[(first - begin + q) * numeric + j] = (at[0] + at[1]) + (at[2] + at[3]);
        }
    }
  }
}

}  // namespace wb::WB_LEVEL

// Leave-one-out predictions of many individuals (paper 004) from a matrix of squared distances. If individuals select
// and scale instances but not features, their distances are those of the matrix times v_x^2, so that one product per
// pair replaces a sum over features.
//
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// The k-th smallest of n distances (whole blocks of lanes); infinite if there are fewer. NaN counts as absent.
template <class T> WB_INLINE T kth_smallest(const T* distance, std::int64_t n, std::int64_t k, T* heap) {
  constexpr int LANES = VECTOR_LANES<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (k == 1) {
    Vec<T> low[4];  // Four minima that do not wait for each other.
    for (int i = 0; i < 4; ++i) low[i] = broadcast<T>(infinity);
    std::int64_t at = 0;
    for (; at + 4 * LANES <= n; at += 4 * LANES)
      WB_UNROLLED_FOR (int i = 0; i < 4; ++i) {
        const Vec<T> d = load<T>(distance + at + i * LANES);
        low[i] = smaller<T>(d, low[i]);
      }
    for (; at < n; at += LANES) {
      const Vec<T> d = load<T>(distance + at);
      low[0] = smaller<T>(d, low[0]);
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
    unsigned found = lane_bits<T>(less<T>(load<T>(distance + at), broadcast<T>(heap[0])));
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

// Predictions of the individuals [first, last) for the queries [begin, end). Instances that are not selected get an
// infinite scale; infinity times a distance of 0 is NaN, which is below nothing either.
//
// There are two passes per row: the first finds the k-th smallest distance, the second collects what is no farther and
// breaks ties by row number. That is faster than a heap of pairs, as the first pass hardly branches.
template <class T>
WB_KERNEL void predict_from_matrix(const PopulationJob<T>& job, const T* square, std::int64_t stride,
                                   std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) {
  constexpr int LANES = VECTOR_LANES<T>;
  constexpr std::int64_t INDIVIDUALS_AT_ONCE = 16;  // Individuals whose scales stay in the cache.
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::int64_t n = job.n, k = job.k;
  std::vector<T> scale(std::size_t(INDIVIDUALS_AT_ONCE * stride)), distance(static_cast<std::size_t>(stride)),
      heap(static_cast<std::size_t>(k)), list(static_cast<std::size_t>(k));
  std::vector<std::int64_t> list_id(static_cast<std::size_t>(k)), selected[INDIVIDUALS_AT_ONCE];
  bool few[INDIVIDUALS_AT_ONCE];
  std::vector<int> counts(std::size_t(job.n_classes), 0);
  for (std::int64_t group = first; group < last; group += INDIVIDUALS_AT_ONCE) {
    const std::int64_t size = std::min(INDIVIDUALS_AT_ONCE, last - group);
    for (std::int64_t g = 0; g < size; ++g) {
      T* to = scale.data() + g * stride;
      selected[g].clear();
      for (std::int64_t x = 0; x < stride; ++x) {
        const bool in = x < n && (!job.kept || job.kept[(group + g) * n + x]);
        to[x] = !in ? infinity : job.scales ? job.scales[(group + g) * n + x] : T(1);
        if (in) selected[g].push_back(x);
      }
      // With few selected instances it is faster to gather their distances than to multiply all of them.
      few[g] = std::int64_t(selected[g].size()) * 8 < n;
      while (selected[g].size() % LANES) selected[g].push_back(-1);  // They are read in whole vectors.
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
          // At most the limit; NaN is excluded.
          unsigned near =
              lane_bits<T>(less<T>(here, broadcast<T>(most))) | lane_bits<T>(equal<T>(here, broadcast<T>(most)));
          for (; near; near &= near - 1) {
            const std::int64_t lane = s + std::countr_zero(near), id = gathered ? selected[g][lane] : lane;
            if (worse(list[0], list_id[0], distance[lane], id))
              replace_worst(list.data(), list_id.data(), k, distance[lane], id);
          }
        }
        write_prediction(job, (group + g) * job.n_queries + at, list.data(), list_id.data(), k, counts.data());
      }
    }
  }
}

}  // namespace wb::WB_LEVEL

// Leave-one-out answers of many individuals of an evolutionary search. An individual is a selection
// of instances and features with weights on both; the answer of a row is the class that most of its
// k nearest selected instances have, itself left out.
//
// `population_scan` serves every individual: it packs the selected instances and features once
// (individual.hpp) and compares tiles of rows with them. `population_matrix` reads distances that are
// known already, and `population_walk` (walk.hpp) neighbour lists that are sorted already. All three
// give the same answers.
// Included once per CPU level: see level.hpp.
#ifndef WB_LEVEL
#error "include level.hpp, not this file"
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

// Is any pair below its query's bound, or below its reference's? `column` may be null.
template <class T> WB_INLINE bool any_below(const TileSums<T>& sum, const T* bound, const T* column) {
  Mask<T> hit = no_lane<T>();
  WB_UNROLL
  for (int v = 0; v < TILE_VECTORS; ++v) {
    const Vec<T> least = column ? load<T>(column + v * VECTOR_LANES<T>) : broadcast<T>(-std::numeric_limits<T>::infinity());
    WB_UNROLL
    for (int q = 0; q < TILE_QUERIES; ++q) {
      Vec<T> most = broadcast<T>(bound[q]);
      if (column) most = larger<T>(least, most);
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
WB_APART WB_KERNEL void gather_queries(const PopulationJob<T>& job, const Individual<T>& self, std::int64_t set,
                                       std::int64_t first, int used, Closest<T>& near) {
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
WB_APART WB_KERNEL void offer_pairs(const PopulationJob<T>& job, const Individual<T>& self, Closest<T>& near,
                                    std::int64_t first, int used, std::int64_t block, const TileSums<T>& sum) {
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

}  // namespace wb::WB_LEVEL

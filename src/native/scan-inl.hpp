// A full scan of packed references: the distances of every tile of queries and every block are computed and given to a
// collector, which keeps what it wants (k_nearest-inl.hpp, within-inl.hpp).
//
// If references are folded (pack.hpp), the sums are folded distances. A collector then widens its limits by the
// rounding of folded data, and computes what passes them again with exact differences. Included once per CPU level: see
// level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// An upper bound on the folded distance of a row whose exact distance is below `worst`. Folding changes a distance by
// `slack` at most; the factor `margin` covers the rounding of both sums of m terms.
template <class T, int P> WB_INLINE T folded_limit(T worst, T slack, std::int64_t m) {
  const T margin = T(1) + T(m + 8) * std::numeric_limits<T>::epsilon();
  if constexpr (P == 1) return (worst * margin + slack) * margin;
  const T root = std::sqrt(worst) * margin + slack;
  return root * root * margin;
}

// The limit below which a distance of the tile may enter a list whose worst entry is `worst`.
template <class T, int P> WB_INLINE T entry_limit(T worst, const Queries<T>& queries, std::int64_t row) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (worst == infinity || !queries.exact) return worst;
  return folded_limit<T, P>(worst, queries.slack[row], queries.references->n_features());
}

// Where the sums of a tile belong: first row of the queries, group and block of the references.
struct TilePosition {
  std::int64_t row, group, block;
};

// What `scan_tiles` gives distances to.
template <class C, class T>
concept Collector = requires(const C& collector, std::int64_t row, std::int64_t group, const TilePosition& place,
                             unsigned lanes, const T* distance, T limit) {
  { collector.limit(row, group) } -> std::same_as<T>;  // below which a sum is of interest, negative if none is
  // Takes the lanes of a block that are below the limit, and returns the new one.
  { collector.take(place, lanes, distance, limit) } -> std::same_as<T>;
  { collector.first_wanted() } -> std::same_as<std::int64_t>;  // what `FirstBlocks` looks for; 0: it is not used
  { collector.limit_of_kth(row, limit) } -> std::same_as<T>;   // if that many sums are at most the given one
  // After so many features a tile is left if all its sums exceed their limits; 0: never. Terms are not negative.
  { collector.look() } -> std::same_as<std::int64_t>;
};

// Whether a lane holds padding or the query itself.
template <class T> WB_INLINE bool is_excluded(const Queries<T>& queries, std::int64_t row, std::int64_t id) {
  return id < 0 || (queries.own && queries.own[row] == id);
}

// The exact distance of a lane, whose sum may be folded.
template <class T, int P>
WB_INLINE T settle_distance(const Queries<T>& queries, std::int64_t row, std::int64_t at, T sum) {
  const References<T>& refs = *queries.references;
  if (!queries.exact) return sum;
  const T d = exact_distance<T, P>(queries.exact[row], refs.source[refs.order[at]], refs.exact_weights.data,
                                   refs.exact_features());
  return refs.scales ? d * refs.scales[at] : d;
}

// Multiplies the sums of a tile by the scales of the references.
template <class T> WB_INLINE void scale_tile(const References<T>& refs, std::int64_t block, TileSums<T>& sum) {
  for (int v = 0; v < TILE_VECTORS; ++v) {
    const Vec<T> scale = load<T>(&refs.scales[block * BLOCK_LANES<T> + v * VECTOR_LANES<T>]);
    for (int q = 0; q < TILE_QUERIES; ++q) sum[q][v] = sum[q][v] * scale;
  }
}

// Whether any sum of a tile is below its query's limit.
template <class T> WB_INLINE bool any_below(const TileSums<T>& sum, const T (&limit)[TILE_QUERIES]) {
  Mask<T> hit = no_lane<T>();
  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v) hit = hit | less<T>(sum[q][v], broadcast<T>(limit[q]));
  return any<T>(hit);
}

// Gives the distances of a tile that are below their query's limit to the collector. This is rare: one test of the
// whole tile answers most calls.
template <class T, Collector<T> C>
WB_INLINE void collect_tile(const References<T>& refs, const C& collector, const TilePosition& place, TileSums<T>& sum,
                            T (&limit)[TILE_QUERIES]) {
  if (refs.scales) scale_tile<T>(refs, place.block, sum);
  if (!any_below<T>(sum, limit)) return;

  WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q) {
    unsigned lanes = 0;
    WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
      lanes |= lane_bits<T>(less<T>(sum[q][v], broadcast<T>(limit[q]))) << (v * VECTOR_LANES<T>);
    if (!lanes) continue;
    T distance[BLOCK_LANES<T>];
    for (int v = 0; v < TILE_VECTORS; ++v) store<T>(distance + v * VECTOR_LANES<T>, sum[q][v]);
    limit[q] = collector.take({place.row + q, place.group, place.block}, lanes, distance, limit[q]);
  }
}

// The first blocks of a search for the k nearest, whose lists are still empty. If every distance were compared with its
// list at once, nearly every tile would change a list: k (1 + ln(n / k)) rows enter the list of a query on the way. So
// the sums of up to MOST_BLOCKS blocks are stored, and then the minima of groups of them are taken, without a branch.
// The k-th smallest minimum is a distance that k references do not exceed, and little more than k of them are below it:
// only those enter the list.
template <class T> struct FirstBlocks {
  static constexpr std::int64_t MOST_BLOCKS = 128, CHUNK = 4, MOST_CHUNKS = MOST_BLOCKS / CHUNK;
  static constexpr std::int64_t LEAST_WANTED = 3;  // The list of one neighbour rarely changes.
  static constexpr std::int64_t WIDE = VECTOR_LANES<T>, MOST_SETS = 8;
  std::int64_t wanted, sets;  // k, and one more if a query may find itself; vectors of minima: sets * WIDE groups

  explicit FirstBlocks(std::int64_t wanted) : wanted(wanted), sets((2 * wanted + WIDE - 1) / WIDE) {}
  // How many of `n_blocks` blocks are scanned in this way; 0 if it would not pay.
  std::int64_t count(std::int64_t n_blocks) const {
    if (wanted < LEAST_WANTED || sets > MOST_SETS || n_blocks < 2 * CHUNK * sets) return 0;
    return std::min(n_blocks, MOST_BLOCKS);
  }
};

// The wanted-th smallest of sets * WIDE values, none of which is NaN: the smallest of those that at least `wanted`
// values do not exceed. Counting has no branches, which would be mispredicted for every query.
template <class T> WB_INLINE T find_kth(const T* values, std::int64_t sets, std::int64_t wanted) {
  constexpr std::int64_t WIDE = VECTOR_LANES<T>;
  const Vec<T> none = broadcast<T>(T(0)), one = broadcast<T>(T(1));
  Vec<T> kth = broadcast<T>(std::numeric_limits<T>::infinity());
  for (std::int64_t set = 0; set < sets; ++set) {
    const Vec<T> own = load<T>(values + set * WIDE);
    Vec<T> count = none;
    for (std::int64_t i = 0; i < sets * WIDE; ++i)
      count = count + choose<T>(less<T>(own, broadcast<T>(values[i])), none, one);
    kth = smaller<T>(choose<T>(less<T>(count, broadcast<T>(T(wanted))), kth, own), kth);
  }
  T lanes[WIDE];
  store<T>(lanes, kth);
  return *std::min_element(lanes, lanes + WIDE);
}

// Fills the list of the query `place.row` from its sums of `count` blocks, and returns its limit. sums: (count, LANES).
template <class T, Collector<T> C>
WB_INLINE T take_first_blocks(const C& collector, const FirstBlocks<T>& first, const TilePosition& place,
                              std::int64_t count, const T* sums, T limit) {
  using Blocks = FirstBlocks<T>;
  constexpr std::int64_t LANES = BLOCK_LANES<T>, WIDE = VECTOR_LANES<T>;
  constexpr T INFINITE = std::numeric_limits<T>::infinity();
  T chunk_lowest[Blocks::MOST_CHUNKS * WIDE], lowest[Blocks::MOST_SETS * WIDE];
  std::fill(lowest, lowest + first.sets * WIDE, INFINITE);
  for (std::int64_t chunk = 0, set = 0; chunk * Blocks::CHUNK < count; ++chunk) {
    // In this order of arguments a sum that is no number, which padding may have, changes nothing.
    Vec<T> low[TILE_VECTORS] = {broadcast<T>(INFINITE), broadcast<T>(INFINITE)};
    for (std::int64_t b = chunk * Blocks::CHUNK; b < std::min((chunk + 1) * Blocks::CHUNK, count); ++b)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
        low[v] = smaller<T>(load<T>(sums + b * LANES + v * WIDE), low[v]);
    low[0] = smaller<T>(low[0], low[1]);
    store<T>(chunk_lowest + chunk * WIDE, low[0]);
    store<T>(lowest + set * WIDE, smaller<T>(low[0], load<T>(lowest + set * WIDE)));
    if (++set == first.sets) set = 0;
  }
  limit = std::min(limit, collector.limit_of_kth(place.row, find_kth<T>(lowest, first.sets, first.wanted)));
  for (std::int64_t chunk = 0; chunk * Blocks::CHUNK < count; ++chunk) {
    if (!any<T>(less<T>(load<T>(chunk_lowest + chunk * WIDE), broadcast<T>(limit)))) continue;
    for (std::int64_t b = chunk * Blocks::CHUNK; b < std::min((chunk + 1) * Blocks::CHUNK, count); ++b) {
      unsigned lanes = 0;
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
        lanes |= lane_bits<T>(less<T>(load<T>(sums + b * LANES + v * WIDE), broadcast<T>(limit))) << (v * WIDE);
      if (lanes) limit = collector.take({place.row, place.group, place.block + b}, lanes, sums + b * LANES, limit);
    }
  }
  return limit;
}

// Computes the distances of a tile of queries to `count` blocks from `begin` on. stored: (TILE_QUERIES, count, LANES).
// Not inlined, because its loop needs the registers for itself (`add_pair_panel` has the reason).
template <class T, int P, bool W, bool MISSING>
WB_NOINLINE WB_KERNEL void store_tiles(const T* queries, const References<T>& refs, std::int64_t begin,
                                       std::int64_t count, T* stored) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>;
  const Features<T> features = refs.features();
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t block = begin + b;
    TileSums<T> sum;
    accumulate_tile<T, P, W, MISSING>(queries, refs.packed[block], W ? refs.weights[block] : nullptr, features, sum);
    if (refs.scales) scale_tile<T>(refs, block, sum);
    WB_UNROLLED_FOR (int q = 0; q < TILE_QUERIES; ++q)
      WB_UNROLLED_FOR (int v = 0; v < TILE_VECTORS; ++v)
        store<T>(stored + (q * count + b) * LANES + v * VECTOR_LANES<T>, sum[q][v]);
  }
}

// Scans the blocks [place.block, place.block + count) for a tile of queries whose lists are empty, and sets their
// limits. stored: room for (TILE_QUERIES, count, LANES) distances. Not inlined for the same reason.
template <class T, int P, bool W, bool MISSING, Collector<T> C>
WB_NOINLINE WB_KERNEL void scan_first_blocks(const T* queries, const References<T>& refs, const C& collector,
                                             const FirstBlocks<T>& first, const TilePosition& place, std::int64_t count,
                                             T* stored, T (&limit)[TILE_QUERIES]) {
  store_tiles<T, P, W, MISSING>(queries, refs, place.block, count, stored);
  for (int q = 0; q < TILE_QUERIES; ++q)
    if (limit[q] >= 0)  // Otherwise it repeats the last query, or it is not searched any more.
      limit[q] = take_first_blocks<T>(collector, first, {place.row + q, place.group, place.block}, count,
                                      stored + q * count * BLOCK_LANES<T>, limit[q]);
}

// Scans all references for the queries [begin, end). P: exponent of the distance; W: references have weights of their
// own per feature; MISSING: numeric values may be missing.
template <class T, int P, bool W, bool MISSING, Collector<T> C>
WB_INLINE void scan_tiles(const Queries<T>& queries, const C& collector, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t LANES = BLOCK_LANES<T>, TILE_SUMS = TILE_QUERIES * LANES;
  const References<T>& refs = *queries.references;
  const Features<T> features = refs.features();
  const std::int64_t m = features.count, groups = refs.n_groups();
  const std::int64_t n_tiles = (end - begin + TILE_QUERIES - 1) / TILE_QUERIES, n_blocks = refs.group_start[groups];
  const CacheBlocking<T> blocking(m, n_tiles, W ? 2 : 1);

  std::vector<T> packed(std::size_t(blocking.tiles * blocking.panel * TILE_QUERIES));
  std::vector<T> sums(blocking.wide ? std::size_t(blocking.tiles * n_blocks * TILE_SUMS) : 0);
  // Distances of wide rows take so long that it does not matter how lists are filled.
  const FirstBlocks<T> first_blocks(blocking.wide ? 0 : collector.first_wanted());
  const std::int64_t most_first = first_blocks.count(n_blocks);
  std::vector<T> stored(std::size_t(most_first * TILE_SUMS));
  const std::int64_t look = blocking.wide ? 0 : std::min(collector.look(), m);
  for (std::int64_t tiles = 0; tiles < n_tiles; tiles += blocking.tiles) {
    const std::int64_t tiles_end = std::min(tiles + blocking.tiles, n_tiles);
    for (std::int64_t first = 0; first < m; first += blocking.panel) {
      const std::int64_t last = std::min(first + blocking.panel, m);
      for (std::int64_t t = tiles; t < tiles_end; ++t)
        gather_tile(queries.rows.data, begin + t * TILE_QUERIES, end, m, first, last,
                    packed.data() + (t - tiles) * blocking.panel * TILE_QUERIES);
      for (std::int64_t part = 0; part < n_blocks; part += blocking.blocks) {
        const std::int64_t part_end = std::min(part + blocking.blocks, n_blocks);
        const std::int64_t first_group =
            std::upper_bound(refs.group_start.data, refs.group_start.data + groups + 1, part) - refs.group_start.data -
            1;
        for (std::int64_t t = tiles; t < tiles_end; ++t) {
          const T* tile_queries = packed.data() + (t - tiles) * blocking.panel * TILE_QUERIES;
          for (std::int64_t g = first_group; g < groups && refs.group_start[g] < part_end; ++g) {
            T limit[TILE_QUERIES];
            for (int q = 0; q < TILE_QUERIES; ++q) {
              const std::int64_t row = begin + t * TILE_QUERIES + q;
              if (row < end) limit[q] = collector.limit(row, g);
              else limit[q] = -std::numeric_limits<T>::infinity();  // The query repeats the last one.
            }
            const std::int64_t stop = std::min(part_end, refs.group_start[g + 1]);
            std::int64_t block = std::max(part, refs.group_start[g]);
            if (most_first > 0 && limit[0] == std::numeric_limits<T>::infinity()) {
              const std::int64_t count = std::min(first_blocks.count(stop - block), most_first);
              if (count > 0)
                scan_first_blocks<T, P, W, MISSING>(tile_queries, refs, collector, first_blocks,
                                                    {begin + t * TILE_QUERIES, g, block}, count, stored.data(), limit);
              block += count;
            }
            for (; block < stop; ++block) {
              T* kept = blocking.wide ? sums.data() + ((t - tiles) * n_blocks + block) * TILE_SUMS : nullptr;
              TileSums<T> sum;
              if (first == 0) clear<T>(sum);
              else restore<T>(kept, sum);
              const GatheredQueries<T> gathered{tile_queries, first};
              const T* weights = W ? refs.weights[block] : nullptr;
              if (look > 0) {
                accumulate_tile<T, P, W, MISSING>(gathered, refs.packed[block], weights, features, 0, look, sum);
                TileSums<T> seen;
                std::memcpy(seen, sum, sizeof seen);
                if (refs.scales) scale_tile<T>(refs, block, seen);
                if (!any_below<T>(seen, limit)) continue;
              }
              accumulate_tile<T, P, W, MISSING>(gathered, refs.packed[block], weights, features, first + look, last,
                                                sum);
              if (last < m) save<T>(sum, kept);
              else collect_tile<T>(refs, collector, {begin + t * TILE_QUERIES, g, block}, sum, limit);
            }
          }
        }
      }
    }
  }
}

}  // namespace wb::WB_LEVEL

// Vectors of 32 bytes with the operations that the kernels need, on the compilers' vector extensions, or as plain loops
// for compilers that have none. Every operation gives the same bits on all CPU levels.
// Included once per CPU level: see level-inl.hpp.
#ifndef WB_LEVEL
#error "include level-inl.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

// Queries of a tile of pair_tiles.hpp. Eight of them and two vectors make 16 sums, which need registers for themselves.
#ifdef WB_HAS_AVX512
constexpr int PAIR_QUERIES = 8;
#else
constexpr int PAIR_QUERIES = 4;
#endif

// Asks for `count` numbers that will be read soon. Panels of a packed block lie far from those of the next block, and a
// processor guesses only what lies next to what was read.
template <class T> WB_INLINE void fetch_ahead([[maybe_unused]] const T* from, [[maybe_unused]] std::int64_t count) {
#ifdef __GNUC__
  for (std::int64_t i = 0; i < count; i += 64 / std::int64_t(sizeof(T))) __builtin_prefetch(from + i, 0, 2);
#endif
}

// Asks for the share of the features [from, from + count) of a packed block that belongs to one of its tiles: a core
// can wait for few cache lines at once, so that the tiles of a block ask for equal shares of its next panel.
template <class T>
WB_INLINE void fetch_share(const PairTile& tile, const T* block, std::int64_t from, std::int64_t count,
                           std::int64_t lanes) {
  const std::int64_t begin = count * tile.number / tile.of, end = count * (tile.number + 1) / tile.of;
  fetch_ahead(block + (from + begin) * lanes, (end - begin) * lanes);
}

#if WB_VECTOR_EXTENSIONS

// x - 0 is x for every x (x + 0 is not, for x = -0), so compilers turn this into a plain broadcast. An initializer list
// would be lowered before the CPU level of the function is known.
template <class T> WB_INLINE Vec<T> broadcast(T x) { return x - Vec<T>{}; }
template <class T> WB_INLINE Vec<T> load(const T* from) {
  Vec<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> WB_INLINE void store(T* to, Vec<T> v) { std::memcpy(to, &v, sizeof v); }
// Clears the sign bit, as -0.0 has no other bit set.
template <class T> WB_INLINE Vec<T> absolute(Vec<T> v) {
  const Mask<T> sign = (Mask<T>)broadcast<T>(T(-0.0));
  return (Vec<T>)((Mask<T>)v & ~sign);
}
// The lanes of `yes` where the comparison held, of `no` where it failed.
template <class T> WB_INLINE Vec<T> choose(Mask<T> m, Vec<T> yes, Vec<T> no) {
#ifdef WB_HAS_AVX2
  return m ? yes : no;
#else  // If the level has no register for a whole vector, GCC would compile ?: lane by lane.
  return (Vec<T>)(((Mask<T>)yes & m) | ((Mask<T>)no & ~m));
#endif
}
// One instruction each, in exactly this form: of two values that do not compare, `larger` gives a and `smaller` b.
template <class T> WB_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return a < b ? b : a; }
template <class T> WB_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) { return a < b ? a : b; }
template <class T> WB_INLINE Mask<T> equal(Vec<T> a, Vec<T> b) { return a == b; }
template <class T> WB_INLINE Mask<T> less(Vec<T> a, Vec<T> b) { return a < b; }
template <class T> WB_INLINE Mask<T> no_lane() { return Mask<T>{}; }
// The lanes of a mask as bits: bit i is set if lane i is true.
template <class T> WB_INLINE unsigned lane_bits(Mask<T> m) {
#ifdef WB_HAS_AVX2
  if constexpr (sizeof(T) == 4) return unsigned(__builtin_ia32_movmskps256((Vec<float>)m));
  else return unsigned(__builtin_ia32_movmskpd256((Vec<double>)m));
#else
  unsigned out = 0;
  WB_UNROLLED_FOR (int i = 0; i < VECTOR_LANES<T>; ++i) out |= unsigned(m[i] & 1) << i;
  return out;
#endif
}
template <class T> WB_INLINE bool any(Mask<T> m) {
#ifdef WB_HAS_AVX2
  return lane_bits<T>(m) != 0;
#else
  const Words w = (Words)m;
  return (w[0] | w[1] | w[2] | w[3]) != 0;
#endif
}

#else  // Plain loops, for compilers without vector extensions.

template <class T, class F> WB_INLINE Vec<T> map(F f) {
  Vec<T> out;
  for (int i = 0; i < VECTOR_LANES<T>; ++i) out.lane[i] = f(i);
  return out;
}
template <class T, class F> WB_INLINE Mask<T> test(F f) {
  Mask<T> out;
  for (int i = 0; i < VECTOR_LANES<T>; ++i) out.lane[i] = f(i);
  return out;
}
template <class T> WB_INLINE Vec<T> broadcast(T value) {
  return map<T>([=](int) { return value; });
}
template <class T> WB_INLINE Vec<T> load(const T* from) {
  return map<T>([=](int i) { return from[i]; });
}
template <class T> WB_INLINE void store(T* to, Vec<T> v) { std::memcpy(to, v.lane, sizeof v.lane); }
template <class T> WB_INLINE Vec<T> operator+(Vec<T> a, Vec<T> b) {
  return map<T>([&](int i) { return a.lane[i] + b.lane[i]; });
}
template <class T> WB_INLINE Vec<T> operator-(Vec<T> a, Vec<T> b) {
  return map<T>([&](int i) { return a.lane[i] - b.lane[i]; });
}
template <class T> WB_INLINE Vec<T> operator*(Vec<T> a, Vec<T> b) {
  return map<T>([&](int i) { return a.lane[i] * b.lane[i]; });
}
template <class T> WB_INLINE Vec<T> absolute(Vec<T> v) {
  return map<T>([&](int i) { return std::abs(v.lane[i]); });
}
template <class T> WB_INLINE Vec<T> choose(Mask<T> m, Vec<T> yes, Vec<T> no) {
  return map<T>([&](int i) { return m.lane[i] ? yes.lane[i] : no.lane[i]; });
}
template <class T> WB_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return map<T>([&](int i) { return a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i]; });
}
template <class T> WB_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) {
  return map<T>([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <class T> WB_INLINE Mask<T> equal(Vec<T> a, Vec<T> b) {
  return test<T>([&](int i) { return a.lane[i] == b.lane[i]; });
}
template <class T> WB_INLINE Mask<T> less(Vec<T> a, Vec<T> b) {
  return test<T>([&](int i) { return a.lane[i] < b.lane[i]; });
}
template <class T> WB_INLINE Mask<T> no_lane() { return Mask<T>{}; }
template <class T> WB_INLINE Mask<T> operator|(Mask<T> a, Mask<T> b) {
  return test<T>([&](int i) { return a.lane[i] || b.lane[i]; });
}
template <class T> WB_INLINE unsigned lane_bits(Mask<T> m) {
  unsigned out = 0;
  for (int i = 0; i < VECTOR_LANES<T>; ++i) out |= unsigned(m.lane[i]) << i;
  return out;
}
template <class T> WB_INLINE bool any(Mask<T> m) { return lane_bits<T>(m) != 0; }

#endif

// The transpose of as many vectors as a vector has lanes: lane i of vector j becomes lane j of vector i.
template <class T> WB_INLINE void transpose(Vec<T> (&v)[VECTOR_LANES<T>]) {
  constexpr int LANES = VECTOR_LANES<T>;
  T from[LANES][LANES], to[LANES][LANES];
  for (int i = 0; i < LANES; ++i) store<T>(from[i], v[i]);
  for (int i = 0; i < LANES; ++i)
    for (int j = 0; j < LANES; ++j) to[i][j] = from[j][i];
  for (int i = 0; i < LANES; ++i) v[i] = load<T>(to[i]);
}

}  // namespace wb::WB_LEVEL

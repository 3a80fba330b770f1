// Fixed-width vectors. Included once per CPU level: see level.hpp.
#ifndef WB_LEVEL
#error "include level.hpp, not this file"
#endif

namespace wb::WB_LEVEL {

#if WB_VECTOR_EXTENSIONS

// x - 0 is x for every x (x + 0 is not: -0), so compilers make this a plain broadcast; an
// initializer list they lower before the CPU level is known.
template <class T> WB_INLINE Vec<T> broadcast(T x) { return x - Vec<T>{}; }
template <class T> WB_INLINE Vec<T> load(const T* from) {
  Vec<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> WB_INLINE void store(T* to, Vec<T> v) { std::memcpy(to, &v, sizeof v); }
template <class T> WB_INLINE Vec<T> absolute(Vec<T> v) {
  const Mask<T> sign = (Mask<T>)broadcast<T>(T(-0.0));
  return (Vec<T>)((Mask<T>)v & ~sign);
}
// lanes of `no` where the comparison failed, of `yes` where it held
template <class T> WB_INLINE Vec<T> choose(Mask<T> m, Vec<T> yes, Vec<T> no) {
#ifdef WB_MOVEMASK
  return m ? yes : no;
#else  // GCC takes a vector that the level has no register for apart, lane by lane, if asked by ?:
  return (Vec<T>)(((Mask<T>)yes & m) | ((Mask<T>)no & ~m));
#endif
}
template <class T> WB_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return a < b ? b : a; }  // one instruction each
template <class T> WB_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) { return a < b ? a : b; }
template <class T> WB_INLINE Mask<T> equal(Vec<T> a, Vec<T> b) { return a == b; }
template <class T> WB_INLINE Mask<T> less(Vec<T> a, Vec<T> b) { return a < b; }
template <class T> WB_INLINE Mask<T> no_lane() { return Mask<T>{}; }
template <class T> WB_INLINE Vec<T> root(Vec<T> v) {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(v);
#elif defined(WB_MOVEMASK) && !defined(__clang__)
  if constexpr (sizeof(T) == 4) return __builtin_ia32_sqrtps256(v);
  else return __builtin_ia32_sqrtpd256(v);
#else
  for (int i = 0; i < VECTOR_LANES<T>; ++i) v[i] = std::sqrt(v[i]);
  return v;
#endif
}
// Bit i is set where lane i is true.
template <class T> WB_INLINE unsigned bits(Mask<T> m) {
#ifdef WB_MOVEMASK
  if constexpr (sizeof(T) == 4) return unsigned(__builtin_ia32_movmskps256((Vec<float>)m));
  else return unsigned(__builtin_ia32_movmskpd256((Vec<double>)m));
#else
  unsigned out = 0;
  WB_UNROLL
  for (int i = 0; i < VECTOR_LANES<T>; ++i) out |= unsigned(m[i] & 1) << i;
  return out;
#endif
}
template <class T> WB_INLINE bool any(Mask<T> m) {
#ifdef WB_MOVEMASK
  return bits<T>(m) != 0;
#else
  const Words w = (Words)m;
  return (w[0] | w[1] | w[2] | w[3]) != 0;
#endif
}

#else  // plain loops, for compilers without vector extensions

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
template <class T> WB_INLINE Vec<T> broadcast(T value) { return map<T>([=](int) { return value; }); }
template <class T> WB_INLINE Vec<T> load(const T* from) { return map<T>([=](int i) { return from[i]; }); }
template <class T> WB_INLINE void store(T* to, Vec<T> v) { std::memcpy(to, v.lane, sizeof v.lane); }
template <class T> WB_INLINE Vec<T> operator+(Vec<T> a, Vec<T> b) { return map<T>([&](int i) { return a.lane[i] + b.lane[i]; }); }
template <class T> WB_INLINE Vec<T> operator-(Vec<T> a, Vec<T> b) { return map<T>([&](int i) { return a.lane[i] - b.lane[i]; }); }
template <class T> WB_INLINE Vec<T> operator*(Vec<T> a, Vec<T> b) { return map<T>([&](int i) { return a.lane[i] * b.lane[i]; }); }
template <class T> WB_INLINE Vec<T> absolute(Vec<T> v) { return map<T>([&](int i) { return v.lane[i] < 0 ? -v.lane[i] : v.lane[i]; }); }
template <class T> WB_INLINE Vec<T> root(Vec<T> v) { return map<T>([&](int i) { return std::sqrt(v.lane[i]); }); }
template <class T> WB_INLINE Vec<T> choose(Mask<T> m, Vec<T> yes, Vec<T> no) { return map<T>([&](int i) { return m.lane[i] ? yes.lane[i] : no.lane[i]; }); }
template <class T> WB_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return map<T>([&](int i) { return a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i]; }); }
template <class T> WB_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) { return map<T>([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; }); }
template <class T> WB_INLINE Mask<T> equal(Vec<T> a, Vec<T> b) { return test<T>([&](int i) { return a.lane[i] == b.lane[i]; }); }
template <class T> WB_INLINE Mask<T> less(Vec<T> a, Vec<T> b) { return test<T>([&](int i) { return a.lane[i] < b.lane[i]; }); }
template <class T> WB_INLINE Mask<T> no_lane() { return Mask<T>{}; }
template <class T> WB_INLINE Mask<T> operator|(Mask<T> a, Mask<T> b) { return test<T>([&](int i) { return a.lane[i] || b.lane[i]; }); }
template <class T> WB_INLINE unsigned bits(Mask<T> m) {
  unsigned out = 0;
  for (int i = 0; i < VECTOR_LANES<T>; ++i) out |= unsigned(m.lane[i]) << i;
  return out;
}
template <class T> WB_INLINE bool any(Mask<T> m) { return bits<T>(m) != 0; }

#endif

}  // namespace wb::WB_LEVEL

// The k best entries (distance, row) as a max-heap in two parallel arrays, with the worst entry on top: one comparison
// with the top tells whether a new entry belongs among the k best.
#pragma once

#include "types.hpp"

namespace wb {

// Whether entry (d1, i1) is worse than (d2, i2). Of equal distances the lower row is better: results then depend
// neither on the order in which rows are compared nor on the number of threads.
template <class T> WB_ALWAYS_INLINE bool worse(T d1, std::int64_t i1, T d2, std::int64_t i2) {
  return d1 > d2 || (d1 == d2 && i1 > i2);
}

// Replaces the root (the worst entry) of a max-heap of size k by (d, i): sifts down from the root.
template <class T> void replace_worst(T* distance, std::int64_t* id, std::int64_t k, T d, std::int64_t i) {
  std::int64_t at = 0;
  for (std::int64_t child = 1; child < k; child = 2 * at + 1) {
    if (child + 1 < k && worse(distance[child + 1], id[child + 1], distance[child], id[child])) ++child;
    if (!worse(distance[child], id[child], d, i)) break;
    distance[at] = distance[child];
    id[at] = id[child];
    at = child;
  }
  distance[at] = d;
  id[at] = i;
}

// Sorts a heap ascending, in place: moves the worst entry to the end, again and again. Empty entries (inf, -1) come
// last.
template <class T> void sort_list(T* distance, std::int64_t* id, std::int64_t k) {
  for (std::int64_t size = k; size > 1; --size) {
    const T d = distance[0];
    const std::int64_t i = id[0];
    const T last_d = distance[size - 1];
    const std::int64_t last_i = id[size - 1];
    replace_worst(distance, id, size - 1, last_d, last_i);
    distance[size - 1] = d;
    id[size - 1] = i;
  }
}

// One list of the k nearest, and the heap that it is while a search runs.
template <class T> struct List {
  static constexpr T NONE =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  T* distance;
  std::int64_t* id;
  std::int64_t k;

  List(const Lists<T>& lists, std::int64_t row, std::int64_t group)
      : distance(lists.distance[row] + group * lists.k()), id(lists.id[row] + group * lists.k()), k(lists.k()) {}

  T worst() const { return distance[0]; }
  void clear() const {
    std::fill(distance, distance + k, NONE);
    std::fill(id, id + k, std::int64_t(-1));
  }
  // Replaces the worst entry.
  void replace(T d, std::int64_t i) const { replace_worst(distance, id, k, d, i); }
  // Takes an entry if it belongs to the k best.
  void offer(T d, std::int64_t i) const {
    if (worse(distance[0], id[0], d, i)) replace(d, i);
  }
  // Makes a heap of a sorted list, so that a search can continue it: a descending list is a max-heap.
  void open() const {
    std::reverse(distance, distance + k);
    std::reverse(id, id + k);
  }
  void sort() const { sort_list(distance, id, k); }
};

// Calls `use` for the lists of the rows [begin, end).
template <class T, class Use> void each_list(const Lists<T>& lists, std::int64_t begin, std::int64_t end, Use use) {
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t group = 0; group < lists.n_groups(); ++group) use(List<T>(lists, row, group));
}

}  // namespace wb

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

// Makes heaps of the sorted lists of the rows [begin, end), so that a search can continue them.
template <class T> void open_lists(const Lists<T>& lists, std::int64_t n_groups, std::int64_t begin, std::int64_t end) {
  for (std::int64_t list = begin * n_groups; list < end * n_groups; ++list) {  // A descending list is a max-heap.
    std::reverse(lists.distance + list * lists.k, lists.distance + (list + 1) * lists.k);
    std::reverse(lists.id + list * lists.k, lists.id + (list + 1) * lists.k);
  }
}

// Sorts the heaps of the rows [begin, end).
template <class T>
void close_lists(const Lists<T>& lists, std::int64_t n_groups, std::int64_t begin, std::int64_t end) {
  for (std::int64_t list = begin * n_groups; list < end * n_groups; ++list)
    sort_list(lists.distance + list * lists.k, lists.id + list * lists.k, lists.k);
}

}  // namespace wb

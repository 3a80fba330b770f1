// Picks the nearest rows of each class from lists that rank all rows together: a fit to other labels needs no search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wb {

template <class T> struct RankedLists {
  const std::int32_t* row = nullptr;  // (n, length) other rows, nearest first
  const T* distance = nullptr;        // the same shape
  std::int64_t length = 0;
  const std::int64_t* codes = nullptr;  // (n,) class of each row
  std::int64_t n_classes = 0;
};

// Writes the nearest rows of each class of the rows `asked`, at most `width`, into distance and found: (n_asked,
// n_classes, width). Entries beyond are not written. lacking[i] tells whether a class of row i has fewer in its list.
template <class T>
void pick_nearest(const RankedLists<T>& lists, const std::int64_t* asked, std::int64_t n_asked, std::int64_t width,
                  T* distance, std::int64_t* found, bool* lacking) {
  std::vector<std::int64_t> count(std::size_t(lists.n_classes));
  for (std::int64_t i = 0; i < n_asked; ++i) {
    std::fill(count.begin(), count.end(), 0);
    std::int64_t open = lists.n_classes;  // classes that have fewer than `width`
    const std::int64_t first = asked[i] * lists.length;
    for (std::int64_t at = first; at < first + lists.length && open > 0; ++at) {
      const std::int64_t code = lists.codes[lists.row[at]];
      if (count[std::size_t(code)] == width) continue;
      const std::int64_t place = (i * lists.n_classes + code) * width + count[std::size_t(code)]++;
      distance[place] = lists.distance[at];
      found[place] = lists.row[at];
      if (count[std::size_t(code)] == width) --open;
    }
    lacking[i] = open > 0;
  }
}

}  // namespace wb

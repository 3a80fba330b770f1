// Picks the nearest rows of each class from lists that rank all rows together: a fit to other labels needs no search.
#pragma once

#include "types.hpp"

namespace wb {

template <class T> struct RankedLists {
  Rows<std::int32_t> row;      // (n, length) other rows, nearest first
  Rows<T> ranked_distance;     // the same shape
  Values<std::int64_t> codes;  // (n,) class of each row
  Values<std::int64_t> asked;  // (n_asked,) rows whose neighbours are wanted
  Lists<T> lists = {};         // (n_asked, n_classes, width); entries beyond those that are found are not written
  View<bool, 1> lacking;       // (n_asked,) whether a class of the row has fewer than `width` in its list
};

// Picks the neighbours of the rows `asked` [begin, end).
template <class T> void pick_nearest(const RankedLists<T>& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t n_classes = job.lists.n_groups(), width = job.lists.k();
  std::vector<std::int64_t> count(static_cast<std::size_t>(n_classes));
  for (std::int64_t i = begin; i < end; ++i) {
    std::fill(count.begin(), count.end(), 0);
    std::int64_t open = n_classes;  // classes that have fewer than `width`
    for (std::int64_t at = 0; at < job.row.width() && open > 0; ++at) {
      const std::int64_t other = job.row[job.asked[i]][at], code = job.codes[other];
      if (count[std::size_t(code)] == width) continue;
      const std::int64_t place = code * width + count[std::size_t(code)]++;
      job.lists.distance[i][place] = job.ranked_distance[job.asked[i]][at];
      job.lists.id[i][place] = other;
      if (count[std::size_t(code)] == width) --open;
    }
    job.lacking[i] = open > 0;
  }
}

}  // namespace wb

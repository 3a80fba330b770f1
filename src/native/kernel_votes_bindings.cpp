// Binding of learned votes of the k nearest rows.
#include "bindings.hpp"

namespace wb::bindings {

namespace {

template <class T>
void py_solve_local_votes(Array<T, 2> rows, Array<T, 1> missing_distance, int64_t n_numeric, bool missing, int p,
                          Array<int64_t, 2> neighbor, Array<T, 2> distance, Optional<double, 1> repetition,
                          double width, double ridge, Output<double, 2> votes, int64_t begin, int64_t end) {
  const int64_t n = dim(rows, 0), m = dim(rows, 1), k = dim(neighbor, 1);
  require(p == 1 || p == 2, "p: 1 or 2 is needed");
  require_features(missing_distance, n_numeric, m);
  require(k >= 1 && distance.shape(0) == neighbor.shape(0) && distance.shape(1) == neighbor.shape(1) &&
              votes.shape(0) == neighbor.shape(0) && votes.shape(1) == neighbor.shape(1),
          "neighbor, distance, votes: one shape is needed");
  require(!repetition || dim(*repetition, 0) == n, "repetition: one per row is needed");
  require(width > 0 && ridge > 0, "width, ridge: positive numbers are needed");
  require_range(begin, end, dim(neighbor, 0));
  for (int64_t i = begin * k; i < end * k; ++i)
    require(0 <= neighbor.data()[i] && neighbor.data()[i] < n, "neighbor outside the rows");
  const LocalVotesJob<T> job{
      .rows = rows.data(),
      .features = {.missing_distance = missing_distance.data(), .numeric = n_numeric, .count = m},
      .neighbor = neighbor.data(),
      .distance = distance.data(),
      .repetition = data_or_null(repetition),
      .k = k,
      .width = width,
      .ridge = ridge,
  };
  level->of<T>().solve_local_votes[p - 1][missing](job, votes.data(), begin, end);
}

template <class T> void bind_for(nb::module_& m) {
  using namespace nb::literals;
  m.def("solve_local_votes", &py_solve_local_votes<T>, nb::kw_only(), array("rows"), array("missing_distance"),
        "n_numeric"_a, "missing"_a, "p"_a, array("neighbor"), array("distance"), array_or_none("repetition"), "width"_a,
        "ridge"_a, array("votes"), "begin"_a, "end"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_kernel_votes(nb::module_& m) {
  bind_for<float>(m);
  bind_for<double>(m);
}

}  // namespace wb::bindings

// Binding of learned votes of the k nearest rows.
#include "bindings.hpp"

namespace wb::bindings {

namespace {

template <class T> void run_solve_local_votes(const LocalVotesJob<T>& job, int64_t begin, int64_t end) {
  const int64_t n = job.rows.size(), n_queries = job.neighbor.size(), k = job.neighbor.width();
  require_exponent(job.p);
  require_missing_distance(job.missing_distance, job.n_numeric, job.rows.width());
  require(k >= 1 && fits(job.distance, n_queries, k) && fits(job.votes, n_queries, k),
          "neighbor, distance, votes: one shape is needed");
  require(fits(job.repetition, n), "repetition: one per row is needed");
  require(job.width > 0 && job.ridge > 0, "width, ridge: positive numbers are needed");
  require_range(begin, end, n_queries);
  require_rows(numbers_of(job.neighbor, begin, end), n, "neighbor outside the rows");
  level->of<T>().solve_local_votes[job.p - 1][job.missing](job, begin, end);
}

template <class T> void bind_for(nb::module_& m) {
  def_job<LocalVotesJob<T>>(m, "solve_local_votes", run_solve_local_votes<T>, ARG(rows), ARG(missing_distance),
                            ARG(n_numeric), ARG(missing), ARG(p), ARG(neighbor), ARG(distance), ARG_OR_NONE(repetition),
                            ARG(width), ARG(ridge), ARG(votes));
}

}  // namespace

void bind_kernel_votes(nb::module_& m) {
  bind_for<float>(m);
  bind_for<double>(m);
}

}  // namespace wb::bindings

// What all files of bindings share: the types of array arguments, the checks of shapes, and the CPU level in use.
//
// A binding takes arrays and a range of rows, checks every shape and every index that a kernel will follow, fills
// the kernel's job by name and calls it without the GIL. All arguments are keyword-only, since most calls have more
// than ten of them. The typed contract is src/weighbors/_native.pyi.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

// A view is an array argument, or None where that is allowed. The caster keeps the array alive during the call.
template <class T, int N> struct nanobind::detail::type_caster<wb::View<T, N>> {
  using Inner = make_caster<nanobind::ndarray<T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>>;
  using Viewed = wb::View<T, N>;
  NB_TYPE_CASTER(Viewed, Inner::Name)
  Inner array;

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if (!array.from_python(source, flags, cleanup)) return false;
    value = {};
    if (!array.value.is_valid()) return true;
    value.data = array.value.data();
    for (std::size_t axis = 0; axis < N; ++axis) value.shape[axis] = std::int64_t(array.value.shape(axis));
    return true;
  }
};

namespace wb::bindings {

namespace nb = nanobind;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint64_t;
using std::uint8_t;

template <class T, int N> using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N> using Output = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N> using Optional = std::optional<Array<T, N>>;

template <class A> auto data_or_null(const std::optional<A>& array) { return array ? array->data() : nullptr; }

template <class A> int64_t dim(const A& array, int axis) { return int64_t(array.shape(std::size_t(axis))); }

// Arrays are never converted: a converted output would be a copy, and the caller's array would stay as it was.
// `auto` because the type of `noconvert()` differs between versions of nanobind.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }
inline auto array_or_none(const char* name) { return nb::arg(name).noconvert().none(); }

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

inline void require_range(int64_t begin, int64_t end, int64_t size) {
  require(0 <= begin && begin <= end && end <= size, "row range outside the array");
}

template <class T, class A> void require_packed(const A& packed, int64_t m) {
  require(dim(packed, 1) == m && dim(packed, 2) == BLOCK_LANES<T>, "packed: wrong shape");
}

template <class T> void require_features(const Array<T, 1>& missing_distance, int64_t n_numeric, int64_t m) {
  require(dim(missing_distance, 0) == m && 0 <= n_numeric && n_numeric <= m,
          "missing_distance: one per feature is needed");
}

// Rows in compressed form whose entries are below `width`.
template <class T>
SparseRows<T> sparse_rows(const Array<int64_t, 1>& start, const Array<int32_t, 1>& feature, const Array<T, 1>& value,
                          int64_t width) {
  const int64_t n = dim(start, 0) - 1, entries = dim(feature, 0);
  require(n >= 0 && dim(value, 0) == entries && start.data()[0] == 0 && start.data()[n] == entries,
          "sparse rows: start, feature and value do not fit together");
  for (int64_t i = 0; i < n; ++i) require(start.data()[i] <= start.data()[i + 1], "sparse rows: start must ascend");
  for (int64_t i = 0; i < entries; ++i)
    require(0 <= feature.data()[i] && feature.data()[i] < width, "sparse rows: entry outside");
  return {start.data(), feature.data(), value.data()};
}

// Lists of the k nearest: (n_queries, n_groups, k) both.
template <class T> void require_lists(const Lists<T>& lists, int64_t n_queries, int64_t n_groups) {
  require(lists.distance.size() == n_queries && lists.n_groups() == n_groups && lists.k() >= 1 &&
              lists.id.shape == lists.distance.shape,
          "distance, id: (n_queries, n_groups, k) is needed");
}

// One field of a job: its name in Python, and a function or pointer that leads to its place in the job.
template <class Place, bool OPTIONAL> struct Field {
  const char* name;
  Place place;

  template <class Job> using In = std::remove_cvref_t<std::invoke_result_t<Place, Job&>>;
  template <class Job> static auto argument(const char* name) {
    if constexpr (!std::is_class_v<In<Job>>) return nb::arg(name);
    else if constexpr (OPTIONAL) return array_or_none(name);
    else return array(name);
  }
};
template <class Place> Field<Place, false> field(const char* name, Place place) { return {name, place}; }
template <class Place> Field<Place, true> field_or_none(const char* name, Place place) { return {name, place}; }

// The lists of a job.
inline const auto DISTANCE_OF_LISTS = field("distance", [](auto& job) -> auto& { return job.lists.distance; });
inline const auto ID_OF_LISTS = field("id", [](auto& job) -> auto& { return job.lists.id; });

// Defines a function of Python. Its keyword-only arguments fill a job by name; then `run(job, begin, end)` checks the
// job and the range of rows, and calls the kernel.
template <class Job, class Run, class... F> void def_job(nb::module_& m, const char* name, Run run, F... fields) {
  m.def(
      name,
      [=](typename F::template In<Job>... values, int64_t begin, int64_t end) {
        Job job;
        ((std::invoke(fields.place, job) = values), ...);
        return run(job, begin, end);
      },
      nb::kw_only(), F::template argument<Job>(fields.name)..., nb::arg("begin"), nb::arg("end"),
      nb::call_guard<nb::gil_scoped_release>());
}

// Defines a class of Python without methods, and the function that makes and checks such an object once. The object
// keeps the arrays alive that it views.
template <class Job, class Check, class... F>
void def_object(nb::module_& m, const char* class_name, const char* name, Check check, F... fields) {
  nb::class_<Job>(m, class_name);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    m.def(
        name,
        [=](typename F::template In<Job>... values) {
          Job job;
          ((std::invoke(fields.place, job) = values), ...);
          check(job);
          return job;
        },
        nb::kw_only(), F::template argument<Job>(fields.name)..., nb::keep_alive<0, I + 1>()...);
  }(std::index_sequence_for<F...>());
}

// The CPU level in use: the best one, unless a test chose another.
inline const Level* level = levels().back();

void bind_search(nb::module_& m);
void bind_weighers(nb::module_& m);
void bind_population(nb::module_& m);
void bind_kernel_votes(nb::module_& m);

}  // namespace wb::bindings

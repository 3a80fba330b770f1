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

inline void require_exponent(int p) { require(p == 1 || p == 2, "p: 1 or 2 is needed"); }

// Whether a view has `size` numbers or rows, or is none.
template <class V> bool fits(const V& view, int64_t size) { return !view || view.size() == size; }

// Whether a view has that shape, or is none.
template <class T> bool fits(const View<T, 2>& view, int64_t size, int64_t width) {
  return !view || (view.size() == size && view.width() == width);
}

// The numbers of the rows [begin, end).
template <class T> Values<T> numbers_of(const View<const T, 2>& rows, int64_t begin, int64_t end) {
  return {rows.data + begin * rows.width(), {(end - begin) * rows.width()}};
}

// Every number of the view is below `size`. A negative one means none.
template <class I> void require_below(const Values<I>& numbers, int64_t size, const char* message) {
  for (int64_t i = 0; i < numbers.size(); ++i) require(numbers[i] < size, message);
}

// Every number of the view is a row of an array of `size` rows.
template <class I> void require_rows(const Values<I>& numbers, int64_t size, const char* message) {
  for (int64_t i = 0; i < numbers.size(); ++i) require(0 <= numbers[i] && numbers[i] < size, message);
}

inline void require_ascending(const Values<int64_t>& numbers, const char* message) {
  for (int64_t i = 1; i < numbers.size(); ++i) require(numbers[i - 1] <= numbers[i], message);
}

template <class T> void require_lanes(const View<T, 3>& packed, int64_t lanes) {
  require(packed.shape[2] == lanes, "packed: wrong shape");
}

template <class T> void require_missing_distance(const Values<T>& missing_distance, int64_t n_numeric, int64_t m) {
  require(missing_distance.size() == m && 0 <= n_numeric && n_numeric <= m,
          "missing_distance: one per feature is needed");
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

#define FIELD(path) [](auto& job) -> auto& { return job.path; }
// An argument and the field that it fills, which have one name.
#define ARG(name) field(#name, FIELD(name))
#define ARG_OR_NONE(name) field_or_none(#name, FIELD(name))
// A checked object (`def_object`) that a job inherits from.
#define OBJECT(name, Base) field(name, [](auto& job) -> Base& { return job; })

// The lists of a job.
inline const auto DISTANCE_OF_LISTS = field("distance", FIELD(lists.distance));
inline const auto ID_OF_LISTS = field("id", FIELD(lists.id));

// Defines a function of Python. Its keyword-only arguments fill a job by name; then `run(job)` checks the job and calls
// the kernel.
template <class Job, class Run, class... F> void def_call(nb::module_& m, const char* name, Run run, F... fields) {
  m.def(
      name,
      [=](typename F::template In<Job>... values) {
        Job job;
        ((std::invoke(fields.place, job) = values), ...);
        return run(job);
      },
      nb::kw_only(), F::template argument<Job>(fields.name)..., nb::call_guard<nb::gil_scoped_release>());
}

// The same with a range of rows, for `run(job, begin, end)`.
template <class Job, class Run, class... F> void def_job(nb::module_& m, const char* name, Run run, F... fields) {
  struct Ranged : Job {
    int64_t begin, end;
  };
  def_call<Ranged>(
      m, name, [=](const Ranged& job) { return run(job, job.begin, job.end); }, fields..., ARG(begin), ARG(end));
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

// A view of an array in C order: where it is and its shape. It owns nothing, and a view of nothing is false. All
// arithmetic with pointers into whole arrays is in here.
#pragma once

#include <array>
#include <cstdint>

namespace wb {

template <class T, int N> struct View {
  T* data = nullptr;
  std::array<std::int64_t, N> shape = {};

  explicit operator bool() const { return data != nullptr; }
  std::int64_t size() const { return shape[0]; }
  std::int64_t width() const { return shape[1]; }

  // The number `i` of a view of numbers, and otherwise the first number of row or block `i`.
  decltype(auto) operator[](std::int64_t i) const {
    if constexpr (N == 1) return static_cast<T&>(data[i]);
    else return data + i * (N == 2 ? shape[1] : shape[1] * shape[2]);
  }
};

template <class T> using Values = View<const T, 1>;
template <class T> using Rows = View<const T, 2>;    // (n, m)
template <class T> using Blocks = View<const T, 3>;  // (n_blocks, m, lanes)

}  // namespace wb

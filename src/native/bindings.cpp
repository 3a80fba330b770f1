// The Python module _native: its constants, the choice of the CPU level, and the primitives that the other files of
// bindings define.
#include "bindings.hpp"

NB_MODULE(_native, m) {
  using namespace wb::bindings;
  m.doc() = "Compiled core of weighbors: single-threaded primitives over row ranges.";
  nb::set_leak_warnings(false);  // Objects that a program keeps to its end are no leaks.
  bind_search(m);
  bind_weighers(m);
  bind_population(m);
  bind_kernel_votes(m);
  m.attr("BLOCK_LANES_FLOAT32") = wb::BLOCK_LANES<float>;
  m.attr("BLOCK_LANES_FLOAT64") = wb::BLOCK_LANES<double>;
  m.attr("BYTE_LANES") = wb::BYTE_LANES;
  m.attr("ROUNDED_PANEL") = wb::ROUNDED_PANEL;
  m.attr("VECTOR_EXTENSIONS") = bool(WB_VECTOR_EXTENSIONS);
  m.def("cpu_level", [] { return level->name; });
  m.def("set_cpu_level", [](const std::string& name) {
    for (const wb::Level* each : wb::levels())
      if (name == each->name) {
        level = each;
        return;
      }
    throw std::invalid_argument("cpu level '" + name + "' is not one this build and CPU have");
  });
}

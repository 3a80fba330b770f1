// The CPUs on which helper threads wake up.
//
// On a virtual machine with Linux, a thread that is woken after a pause is often queued on the CPU of the thread that
// woke it, and both share this CPU for milliseconds while another one is idle (docs/decisions.md has the figures). So a
// leading thread forbids its own CPU to its helpers before it wakes them, and each helper allows itself all CPUs of its
// leader again as soon as it runs.
//
// Nothing depends on whether this succeeds, so errors of the operating system are ignored. Other systems have no such
// calls, or need none.
#pragma once

#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace wb {

// Forbids the CPU of the calling thread to other threads of this process, which may run on all its other CPUs. Returns
// whether there are any: if not, nothing is changed.
inline bool forbid_this_cpu([[maybe_unused]] const std::vector<std::int64_t>& thread_ids) {
#if defined(__linux__)
  cpu_set_t allowed;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  CPU_CLR(here, &allowed);
  if (CPU_COUNT(&allowed) == 0) return false;
  for (const std::int64_t id : thread_ids) sched_setaffinity(pid_t(id), sizeof allowed, &allowed);
  return true;
#else
  return false;
#endif
}

// Allows the calling thread all CPUs that another thread of this process may use.
inline void allow_cpus_of([[maybe_unused]] std::int64_t thread_id) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(pid_t(thread_id), sizeof allowed, &allowed) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

}  // namespace wb

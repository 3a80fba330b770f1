// Helper threads inside one call: a leading thread splits each small task into parts and computes them together
// with the helper threads that have arrived. Without helpers the leader computes all parts itself.
//
// Which thread computes which part is random, so the leader must combine the results in a way that does not depend
// on it. Helpers spin while they wait: a thread pool would take longer to start a part than the part takes
// (about 10 us), so this is for tasks that follow each other closely.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "types.hpp"

namespace wb {

class HelperThreads {
 public:
  static constexpr int MAX_THREADS = 4;  // The leader counts as one.

  using Part = void (*)(void* task, std::int64_t part, int thread);

  // For the leader, thread 0: computes all parts of a task. They are finished when this returns.
  void run(Part part, void* task, std::int64_t parts) {
    part_ = part;
    task_ = task;
    finished_.store(0, std::memory_order_relaxed);
    // Helpers read `part_` and `task_` only after they see this store, which makes the new parts available.
    ticket_.store(std::uint64_t(parts) << HALF, std::memory_order_release);
    take_parts(0);
    for (int idle = 0; finished_.load(std::memory_order_acquire) < parts; ++idle) wait_briefly(idle);
    if (failure_) std::rethrow_exception(failure_);
  }

  // For a helper: computes parts until `close` is called. More threads than MAX_THREADS return at once.
  void help() {
    const int thread = next_.fetch_add(1, std::memory_order_relaxed);
    if (thread >= MAX_THREADS) return;
    for (int idle = 0; !closed_.load(std::memory_order_acquire); ++idle) {
      if (take_parts(thread)) idle = 0;
      else wait_briefly(idle);
    }
  }

  void close() { closed_.store(true, std::memory_order_release); }

 private:
  static constexpr int HALF = 32;  // The upper half of a ticket is the number of parts, the lower half those taken.

  // Spins at first, then lets other threads run: the machine may have fewer free cores than threads.
  static void wait_briefly(int idle) {
    if (idle > 4000) std::this_thread::yield();
#if defined(__x86_64__) && defined(__GNUC__)
    else __builtin_ia32_pause();
#endif
  }

  bool has_untaken_part(std::uint64_t ticket) const { return std::uint32_t(ticket) < ticket >> HALF; }

  // Computes parts while there are any; returns whether there was one.
  bool take_parts(int thread) {
    bool any = false;
    while (has_untaken_part(ticket_.load(std::memory_order_relaxed))) {
      // Look before counting up: idle helpers would otherwise overflow the lower half into the number of parts.
      const std::uint64_t mine = ticket_.fetch_add(1, std::memory_order_acq_rel);
      if (!has_untaken_part(mine)) break;
      any = true;
      try {
        part_(task_, std::int64_t(std::uint32_t(mine)), thread);
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
      finished_.fetch_add(1, std::memory_order_acq_rel);
    }
    return any;
  }

  Part part_ = nullptr;
  void* task_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false}, closed_{false};
  std::atomic<int> next_{1};
  // On cache lines of their own: all threads write to both.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};  // Number of parts, parts taken.
  alignas(64) std::atomic<std::int64_t> finished_{0};
};

}  // namespace wb

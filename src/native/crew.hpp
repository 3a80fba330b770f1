// A second pair of hands inside one call: parts of a small task that one thread leads and others, if
// any turn up, take too. Who takes which part is chance; the leader must combine them so that it
// does not matter. Helpers spin while they wait, so a crew is for tasks that follow each other closely.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "types.hpp"

namespace wb {

class Crew {
 public:
  static constexpr int MOST = 4;  // threads, with the leader

  using Part = void (*)(void* task, std::int64_t part, int who);

  // The leader: all parts of a task, done when this returns.
  void run(Part part, void* task, std::int64_t parts) {
    part_ = part;
    task_ = task;
    finished_.store(0, std::memory_order_relaxed);
    ticket_.store(std::uint64_t(parts) << HALF, std::memory_order_release);
    take(0);
    for (int idle = 0; finished_.load(std::memory_order_acquire) < parts; ++idle) rest(idle);
    if (failure_) std::rethrow_exception(failure_);
  }

  // A helper: takes parts until the crew is closed.
  void help() {
    const int who = next_.fetch_add(1, std::memory_order_relaxed);
    if (who >= MOST) return;
    for (int idle = 0; !closed_.load(std::memory_order_acquire); ++idle) {
      if (take(who)) idle = 0;
      else rest(idle);
    }
  }

  void close() { closed_.store(true, std::memory_order_release); }

 private:
  static constexpr int HALF = 32;

  static void rest(int idle) {
    if (idle > 4000) std::this_thread::yield();
#if defined(__x86_64__) && defined(__GNUC__)
    else __builtin_ia32_pause();
#endif
  }

  bool open(std::uint64_t ticket) const { return std::uint32_t(ticket) < ticket >> HALF; }

  // Takes parts while there are any; whether there was one.
  bool take(int who) {
    bool any = false;
    while (open(ticket_.load(std::memory_order_relaxed))) {
      const std::uint64_t mine = ticket_.fetch_add(1, std::memory_order_acq_rel);
      if (!open(mine)) break;
      any = true;
      try {
        part_(task_, std::int64_t(std::uint32_t(mine)), who);
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
  alignas(64) std::atomic<std::uint64_t> ticket_{0};  // parts there are, parts taken
  alignas(64) std::atomic<std::int64_t> finished_{0};
};

}  // namespace wb

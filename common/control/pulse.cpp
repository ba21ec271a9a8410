#include "common/control/pulse.hpp"

#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/control/signals_blocked.hpp"

namespace tickpath::control {
namespace {

// proc(5), /proc/[pid]/stat: "pid (comm) state ...". A name may hold anything, parentheses too: the
// state follows the last ")". Runnable where it cannot be read: nobody is condemned by ignorance.
bool is_runnable(int thread_id) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread_id);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char text[256];
  const ssize_t size = ::read(file, text, sizeof(text));
  ::close(file);
  for (ssize_t i = size - 3; i >= 0; --i)
    if (text[i] == ')') return text[i + 2] == 'R';
  return true;
}

}  // namespace

Pulse::Pulse(link::Heartbeat& heartbeat, const DatapathThread& thread, const std::string& name,
             std::int64_t period_ns, std::int64_t hang_after_ns)
    : heartbeat_(heartbeat), datapath_(thread), period_ns_(period_ns), watch_(hang_after_ns) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this, name] { run(name); });
}

Pulse::~Pulse() {
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void Pulse::run(const std::string& name) noexcept {
  name_this_thread(name + ".pulse");
  real_time_.store(set_real_time(true), std::memory_order_relaxed);
  if (!real_time()) heartbeat_.ask_patience(kPatienceNs);
  (void)heartbeat_.sign_on();  // without it peers go by the end of the connection
  while (!stop_.load(std::memory_order_relaxed)) {
    step(clock::monotonic_ns());
    const timespec pause{period_ns_ / 1'000'000'000, period_ns_ % 1'000'000'000};
    // Relative: after a stall there is nothing to catch up with.
    (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
  heartbeat_.sign_off();
}

void Pulse::step(std::int64_t now_ns) noexcept {
  const int thread_id = datapath_.thread_id();
  if (thread_id == 0) return;  // on its way
  timespec used{};
  (void)::clock_gettime(datapath_.cpu_clock(), &used);
  const std::int64_t cpu_ns = std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
  if (!watch_.alive(datapath_.turns().get(), cpu_ns, now_ns,
                    [thread_id] { return is_runnable(thread_id); })) {
    counters_.withheld.add();
    hanging_.store(true, std::memory_order_relaxed);
    return;
  }
  hanging_.store(false, std::memory_order_relaxed);
  heartbeat_.beat();
  counters_.beats.add();
  if (last_beat_ns_ != 0) {
    const auto gap = static_cast<std::uint64_t>(now_ns - last_beat_ns_);
    if (gap > counters_.gap_ns_max.get()) counters_.gap_ns_max.set(gap);
    if (gap > 2 * static_cast<std::uint64_t>(period_ns_)) counters_.late.add();
  }
  last_beat_ns_ = now_ns;
}

}  // namespace tickpath::control

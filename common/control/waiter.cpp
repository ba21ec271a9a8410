#include "common/control/waiter.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include <poll.h>
#include <sched.h>

namespace tickpath::control {

void Waiter::yield() noexcept {
  for (int i = 0; i < kPauses; ++i) cpu_relax();
  sched_yield();
}

Parked detail::sleep(Datapath& datapath, std::int64_t timeout_ns) noexcept {
  const std::span<const int> descriptors = datapath.wake_descriptors();
  std::array<pollfd, kWakeDescriptorsMax> polled;
  const std::size_t count = std::min(descriptors.size(), polled.size());
  for (std::size_t i = 0; i < count; ++i) polled[i] = {descriptors[i], POLLIN, 0};
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  // A signal or an error ends the sleep early: the next turn looks around, which is right for both.
  const int readable = ppoll(polled.data(), count, &timeout, nullptr);
  datapath.woken();
  return readable == 0 ? Parked::kTimedOut : Parked::kWoken;
}

}  // namespace tickpath::control

#include "common/clock/virtual_time.hpp"

#include <thread>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"

namespace tickpath::clock {

VirtualTime::VirtualTime() {
  TICKPATH_CHECK(!is_virtual(), "one virtual time in a process");
  tickpath::detail::virtual_ticks = &ticks_;
}

VirtualTime::~VirtualTime() { tickpath::detail::virtual_ticks = nullptr; }

void VirtualTime::advance_to(std::uint64_t ns) noexcept {
  TICKPATH_CHECK(ns >= now_ns(), "time goes forward");
  ticks_.store(ns, std::memory_order_relaxed);
}

void let_others_run() noexcept { std::this_thread::yield(); }

bool is_virtual() noexcept { return tickpath::detail::virtual_ticks != nullptr; }

}  // namespace tickpath::clock

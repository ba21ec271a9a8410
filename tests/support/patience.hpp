// How long a test waits for what must come. No test that passes ever waits so long: it bounds what
// fails, on a machine that may be busy, emulated, or slowed by a sanitizer.
#pragma once

#include <chrono>
#include <thread>

namespace tickpath::test_support {

inline constexpr std::chrono::seconds kPatience{60};

// Takes turns until `done`; false when that takes longer than `limit`.
template <class Done, class Turn>
[[nodiscard]] bool turn_until(Done&& done, Turn&& turn,
                              std::chrono::steady_clock::duration limit = kPatience) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    turn();
  }
  return true;
}

// Looks each millisecond.
template <class Done>
[[nodiscard]] bool wait_until(Done&& done, std::chrono::steady_clock::duration limit = kPatience) {
  return turn_until(
      done, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, limit);
}

}  // namespace tickpath::test_support

// A datapath that parks must see what arrives at any step of falling asleep.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "common/control/waiter.hpp"

namespace tickpath::test_support {

// For each step of control::park(): arrive() makes an event there, handled() says that the datapath
// has dealt with it. others_turn() lets its peers work. Nothing else may be under way.
inline void expect_no_arrival_is_slept_through(
    control::Datapath& datapath, const std::function<void()>& arrive,
    const std::function<bool()>& handled, const std::function<void()>& others_turn = [] {}) {
  using control::Parked;
  using control::ParkStep;
  // Slept in full only where an arrival is missed.
  constexpr std::int64_t kSleepNs = 3'000'000'000;
  for (const ParkStep step : {ParkStep::kBegun, ParkStep::kArmed, ParkStep::kLooked}) {
    SCOPED_TRACE("an arrival at step " + std::to_string(static_cast<int>(step)));
    bool arrived = false;
    Parked parked = Parked::kNotAtAll;
    // A look that finds something else (a clock exchange) ends an attempt before the last step.
    for (int attempt = 0; attempt < 10'000 && !arrived; ++attempt) {
      while (datapath.turn()) {
      }
      others_turn();
      parked = control::park(datapath, kSleepNs, [&](ParkStep reached) {
        if (reached != step) return;
        arrive();
        arrived = true;
      });
    }
    ASSERT_TRUE(arrived) << "never came so far";
    EXPECT_NE(parked, Parked::kTimedOut) << "slept beside it";
    for (int turn = 0; turn < 100'000 && !handled(); ++turn) {
      datapath.turn();
      others_turn();
    }
    ASSERT_TRUE(handled()) << "woken, but does not see it";
  }
}

}  // namespace tickpath::test_support

// Trades nothing: counts the seconds of the market's clock, by timers of it.
#include <cstdint>
#include <string>

#include "strategy/plugin.hpp"

namespace {

class MarketSeconds final : public tickpath::Strategy {
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  void start() override {
    subscribe_all();
    (void)set_market_timer(kSecondNs);
  }
  void timer(std::uint64_t /*timer_id*/, std::uint64_t /*cookie*/) override {
    ++seconds_;
    (void)set_market_timer(kSecondNs);
  }
  void stop() override { log(std::to_string(seconds_) + " seconds of the market"); }

  std::uint64_t seconds_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(MarketSeconds, "market_seconds", "1.0")

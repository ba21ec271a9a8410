// Adds one to a number that it shares with others, by compare-and-swap, as often as it is told to.
#include <cstdint>
#include <string>

#include "strategy/plugin.hpp"

namespace {

class Sharing final : public tickpath::Strategy {
  static constexpr std::uint64_t kStepNs = 1'000'000;

  void start() override {
    left_ = parameter<int>("times");
    if (const std::int32_t status = get_value("sum"); status != TICKPATH_OK)
      throw tickpath::StrategyError("cannot ask for the sum", status);
  }
  void gateway_state(bool up) override {
    if (up) set_timer(kStepNs);
  }
  void timer(std::uint64_t, std::uint64_t) override {
    if (Value now; value(now) == TICKPATH_OK) step(now);
    if (left_ > 0) set_timer(kStepNs);
  }
  void step(const Value& now) {
    if (now.result > TICKPATH_VALUE_CONFLICT)
      throw tickpath::StrategyError("result " + std::to_string(now.result), TICKPATH_ERROR);
    if (swapping_ && now.result == TICKPATH_VALUE_DONE && --left_ == 0) return;
    const int sum = now.version == 0 ? 0 : std::stoi(std::string(text_of(now)));
    swapping_ = swap_value("sum", now.version, std::to_string(sum + 1)) == TICKPATH_OK;
  }

  int left_ = 0;
  bool swapping_ = false;
};

}  // namespace

TICKPATH_STRATEGY(Sharing, "sharing", "1.0")

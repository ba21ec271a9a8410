// Asks for orders at a rate, whatever becomes of them: immediate-or-cancel orders of one share that
// mostly meet nothing, every sixteenth takes the inside, buys and sells in turn. What its channel
// has no credit for at its time is not asked for again: the rate is the market's, not ours.
#include <cstdint>
#include <string>

#include "strategy/plugin.hpp"

namespace {

class Flood final : public tickpath::Strategy {
  static constexpr std::uint64_t kPeriodNs = 50'000;
  static constexpr std::uint64_t kSettleNs = 300'000'000;
  static constexpr std::uint64_t kPerTimer = 256;  // so that reports are read in between
  static constexpr std::uint64_t kTaker = 16;

  void start() override {
    rate_ = parameter<std::uint64_t>("rate");
    window_ns_ = duration_ns("window");
    subscribe_all();
  }
  void gateway_state(bool up) override { up_ = up; }
  void book_change(const BookChange& change) override {
    if (change.best_bid == 0 || change.best_ask <= change.best_bid ||
        change.feed_state != TICKPATH_FEED_GOOD)
      return;
    instrument_ = change.instrument;
    bid_ = change.best_bid;
    ask_ = change.best_ask;
    if (!timer_set_) timer_set_ = set_timer(kPeriodNs);  // not before the day begins
  }
  void timer(std::uint64_t, std::uint64_t) override {
    set_timer(kPeriodNs);
    if (!up_ || bid_ == 0 || done_) return;
    const std::uint64_t now = now_ns();
    // mdh writes an update to one subscriber after the other: where it waits for a CPU in between,
    // the first quote of an instrument is here before oeg has it, which refuses what it cannot
    // value.
    if (begin_ns_ == 0) begin_ns_ = now + kSettleNs;
    if (now < begin_ns_) return;
    if (now - begin_ns_ > window_ns_) return finish();
    const auto due = static_cast<std::uint64_t>(static_cast<double>(rate_) *
                                                static_cast<double>(now - begin_ns_) / 1e9);
    for (std::uint64_t i = 0; asked_ < due && i < kPerTimer; ++i) {
      ++asked_;
      if (ask()) continue;
      held_ += 1 + due - asked_;
      asked_ = due;
    }
  }
  bool ask() {
    const std::uint64_t number = ++tried_;
    const bool takes = number % kTaker == 0;
    const bool buys = number / kTaker % 2 == 0;
    // At the own side's price it meets nothing.
    const std::uint32_t price = buys == takes ? ask_ : bid_;
    return static_cast<bool>(limit(instrument_, buys ? kBuy : kSell, 1, price, kImmediateOrCancel));
  }
  void stop() override {
    if (!done_) finish();
  }
  void finish() {
    done_ = true;
    if (begin_ns_ == 0) log(!up_ ? "flood: oeg was never up" : "flood: there was never a market");
    log("flood: asked for " + std::to_string(asked_) + ", had no credit for " +
        std::to_string(held_));
  }

  std::uint64_t rate_ = 0;
  std::uint64_t window_ns_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t tried_ = 0;
  std::uint64_t held_ = 0;
  Instrument instrument_ = 0;
  std::uint32_t bid_ = 0;
  std::uint32_t ask_ = 0;
  bool timer_set_ = false;
  bool up_ = false;
  bool done_ = false;
};

}  // namespace

TICKPATH_STRATEGY(Flood, "flood", "1.0")

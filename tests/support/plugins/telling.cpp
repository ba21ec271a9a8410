// Logs the bytes of every callback, and answers with requests of every kind. Two runs of one script
// can so be compared line by line.
#include <cstdint>
#include <string>
#include <string_view>

#include "strategy/plugin.hpp"

namespace {

class Telling final : public tickpath::Strategy {
  void start() override {
    malformed_ = parameter<bool>("malformed", false);
    timer_ns_ = duration_ns("timer", 0);
    for (const std::string& symbol : texts("symbols")) subscribe(symbol);
    if (timer_ns_ != 0) set_timer(timer_ns_, 7);
    if (timer_ns_ != 0) set_market_timer(timer_ns_, 8);
    tell("start", now_ns());
  }
  void instrument(std::string_view symbol, Instrument id) override {
    tell("instrument " + std::string(symbol), id);
  }
  void book_change(const BookChange& change) override {
    tell("book_change", change);
    Depth seen{};
    if (depth(change.instrument, seen)) tell("best level", seen.bids[0], seen.asks[0]);
    if (change.best_bid == 0 || change.best_ask == 0) return;
    switch (asked_++ % 4) {
      case 0:
        told(buy(change.instrument, 300, change.best_bid));
        break;
      case 1:
        told(sell(change.instrument, 200, change.best_ask, kImmediateOrCancel));
        break;
      case 2:
        if (last_ != 0) (void)replace(last_, change.best_bid + 100, 400);
        break;
      default:
        if (last_ != 0) (void)cancel(last_);
    }
  }
  void trade(const Trade& trade) override {
    tell("trade", trade);
    if (malformed_) (void)buy(trade.instrument, 0, trade.price);
  }
  void imbalance(const Imbalance& told_of) override { tell("imbalance", told_of); }
  void report(const Report& report) override {
    tell("report", report);
    if (report.instrument < instruments_max()) tell("position", position(report.instrument));
    if (report.kind == TICKPATH_REPORT_REPLACED) last_ = report.order_id;
  }
  void timer(std::uint64_t timer_id, std::uint64_t cookie) override {
    tell("timer", timer_id, cookie, now_ns(), market_ns());
    if (cookie == 7 && ++timers_ < 3) set_timer(timer_ns_, cookie);
  }
  void feed_state(Instrument instrument, std::uint8_t state) override {
    tell("feed_state", instrument, state);
  }
  void gateway_state(bool up) override { tell("gateway_state", up, event_venue()); }
  void stop() override { tell("stop"); }

  void told(const Sent& sent) {
    tell("asked", sent.status);
    if (sent) last_ = sent.id;
  }

  static void append(std::string& line, const void* bytes, std::size_t size) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    line += ' ';
    for (const auto* at = static_cast<const unsigned char*>(bytes); size > 0; ++at, --size)
      (line += kDigits[*at >> 4]) += kDigits[*at & 15];
  }
  template <class... Values>
  void tell(std::string line, const Values&... values) {
    (append(line, &values, sizeof(values)), ...);
    log(line);
  }

  bool malformed_ = false;
  std::uint64_t timer_ns_ = 0;
  std::uint64_t last_ = 0;
  unsigned asked_ = 0;
  unsigned timers_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(Telling, "telling", "1")

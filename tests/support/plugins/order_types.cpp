// Trades one order after the other of every type that the exchange has, and says at its end what
// each has come to. An order that rests and does not trade soon is cancelled and tried again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "strategy/plugin.hpp"

namespace {

class OrderTypes final : public tickpath::Strategy {
  static constexpr std::uint32_t kShares = 50;
  static constexpr std::uint64_t kWaitNs = 200'000'000;  // exchange time, for an order that rests

  void start() override { subscribe(parameter<std::string>("symbol")); }

  // Orders for the opening cross are sent before it, those for the closing cross while it trades.
  void imbalance(const Imbalance& told) override {
    ++imbalances_;
    if (told.cross == 'O') cross(opening_, told.instrument, told.reference_price, kAtTheOpening);
    if (told.cross == 'C') cross(closing_, told.instrument, told.reference_price, kAtTheClose);
  }

  void book_change(const BookChange& change) override {
    if (change.feed_state != TICKPATH_FEED_GOOD || change.best_bid == 0 ||
        change.best_ask <= change.best_bid || change.trading_state != TICKPATH_TRADING_OPEN)
      return;
    if (cases_[at_].id == 0) return send(change);
    if (!rests_.holds(change.exchange_time_ns)) (void)cancel(cases_[at_].id);
  }

  void report(const Report& report) override {
    for (Case* each : {&cases_[at_], &opening_, &closing_}) {
      if (each->id == 0 || (report.order_id != each->id && report.target_order_id != each->id))
        continue;
      if (report.kind == TICKPATH_REPORT_FILL) each->filled += report.last_shares;
      each->last = text_of(report);
      if (report.kind == TICKPATH_REPORT_REPLACED) each->id = report.order_id;
      if (report.kind == TICKPATH_REPORT_ACCEPTED && each == &cases_[kReplacedStop])
        each->status = replace_stop(each->id, ask_, kShares).status;
      if (report.kind == TICKPATH_REPORT_REJECTED) each->reason = reason_of(report);
      if (report.state < TICKPATH_STATE_FILLED) return;
      each->id = 0;
      if (each == &cases_[at_]) next();
      return;
    }
  }

  void stop() override {
    for (const Case& each : cases_) tell(each);
    tell(opening_);
    tell(closing_);
    log("imbalances " + std::to_string(imbalances_ != 0 ? 1 : 0));
  }

  struct Case {
    const char* name;
    std::uint64_t id = 0;
    std::uint64_t filled = 0;
    const char* reason = "-";
    const char* last = "-";
    int status = TICKPATH_OK;
  };

  void tell(const Case& each) const {
    log(std::string(each.name) + (each.filled != 0 ? " traded" : " did not trade") +
        ", last report " + each.last + ", reason " + each.reason + ", status " +
        std::to_string(each.status));
  }

  // Cases that have not traded yet come round again.
  void next() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      at_ = (at_ + 1) % cases_.size();
      if (cases_[at_].filled == 0) return;
    }
  }

  void keep(Case& each, const Sent& sent) {
    each.id = sent.id;
    each.status = sent.status;
    if (!sent) next();
  }

  void cross(Case& each, Instrument instrument, std::uint32_t reference, TimeInForce time) {
    if (each.id != 0 || each.filled != 0 || reference == 0) return;
    const Sent sent = buy(instrument, kShares, round_up(reference + reference / 50), time);
    each.id = sent.id;
    each.status = sent.status;
  }

  void send(const BookChange& change) {
    Case& each = cases_[at_];
    if (each.filled != 0) return;
    rests_.begin(change.exchange_time_ns, kWaitNs);
    const Instrument instrument = change.instrument;
    const std::uint32_t bid = change.best_bid;
    const std::uint32_t ask = ask_ = change.best_ask;
    switch (at_) {
      case 0:
        return keep(each, post_only(instrument, kBuy, kShares, bid));
      case 1:
        return keep(each,
                    buy(instrument, std::min(kShares, change.best_ask_shares), ask, kFillOrKill));
      case 2:
        return keep(each, buy(instrument, kShares, ask, kGoodTillCancel));
      case 3:
        return keep(each, stop_order(instrument, kSell, kShares, ask));
      case 4:
        return keep(each, stop_order(instrument, kBuy, kShares, bid, ask + 5 * tick_of(ask)));
      case 5:
        return keep(each, pegged(instrument, kSell, kShares));
      case 6:
        return keep(each, reserve(instrument, kBuy, 6 * kShares, 2 * kShares, bid));
      case kReplacedStop:  // out of reach, until it is replaced
        return keep(each, stop_order(instrument, kSell, kShares, round_down(bid / 2)));
      default:
        return keep(each, at_least(instrument, kShares < change.best_ask_shares ? kBuy : kSell,
                                   kShares, 10, kShares < change.best_ask_shares ? ask : bid));
    }
  }

  std::array<Case, 9> cases_{{{"post-only"},
                              {"fill-or-kill"},
                              {"good-till-cancel"},
                              {"stop"},
                              {"stop-limit"},
                              {"pegged"},
                              {"reserve"},
                              {"replaced stop"},
                              {"minimum-quantity"}}};
  Case opening_{"on-open"};
  Case closing_{"on-close"};
  static constexpr std::size_t kReplacedStop = 7;
  std::size_t at_ = 0;
  std::uint32_t ask_ = 0;
  tickpath::MarketPause rests_;
  std::uint64_t imbalances_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(OrderTypes, "order_types", "1.0")

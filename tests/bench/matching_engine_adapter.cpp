// The matching core as an engine of the public matching engine benchmark (GitHub,
// flash1-dev/matching-engine-benchmark): a shared object that its harness loads. Built only where
// TICKPATH_MATCHING_BENCHMARK names the folder of that benchmark's matching_engine_api.h.
//
//   harness --engine build/release/bench/libmatching_engine_adapter.so --scenario static
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <matching_engine_api.h>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {
namespace {

constexpr Locate kLocate = 1;
constexpr std::int64_t kPricesPerTick = 50;  // a tick is 0.005
// The benchmark has a million orders.
constexpr std::uint32_t kOrdersMax = 1u << 20;
constexpr std::uint32_t kIdsMax = 1u << 22;
constexpr std::uint64_t kRequests = std::uint64_t{1} << 63;  // ids of cancels

// An order keeps its id there when it is modified, here it gets another one.
//
//   63       62  6 5        0
//   | cancel | id  | changes |    changes: of the order so far, at most 63
constexpr unsigned kChangeBits = 6;
constexpr std::uint64_t theirs(std::uint64_t id) { return id >> kChangeBits; }

class Engine final : ReportSink {
 public:
  Engine(const me_transport_t& transport, void* queue)
      : transport_(transport), queue_(queue), matcher_(options(), *this), changes_(kIdsMax) {}

  void enter(const new_order_t& order) noexcept {
    sequence_ = order.sequence_number;
    NewOrder request;
    request.order_id = order.order_id << kChangeBits;
    request.price = {order.price_ticks * kPricesPerTick};
    request.locate = kLocate;
    request.shares = order.quantity;
    request.side = side_of(order.side);
    request.party = party(request.side);
    if (order.ioc != 0) request.time_in_force = TimeInForce::kImmediateOrCancel;
    matcher_.enter(request);
  }
  void cancel(const cancel_t& order) noexcept {
    sequence_ = order.sequence_number;
    const std::uint64_t id = current(order.order_id);
    const LiveOrder* const live = matcher_.find_live(id);
    if (live == nullptr) return send(ME_CANCEL_REJECT, Side::kBuy, order.order_id, 0, 0);
    const CancelOrder request{kRequests | sequence_, id, kLocate, live->party, live->side};
    left_ = live->leaves();
    matcher_.cancel(request);
  }
  // A new quantity is what is open from then on.
  void modify(const modify_t& order) noexcept {
    sequence_ = order.sequence_number;
    const std::uint64_t id = current(order.order_id);
    const LiveOrder* const live = matcher_.find_live(id);
    if (live == nullptr) return send(ME_MODIFY_REJECT, Side::kBuy, order.order_id, 0, 0);
    ReplaceOrder request;
    request.target_order_id = id;
    request.order_id = id + 1;
    request.price = {order.new_price_ticks * kPricesPerTick};
    request.locate = kLocate;
    request.shares = live->cumulative + order.new_quantity;
    request.party = live->party;
    request.side = live->side;
    ++changes_[order.order_id];
    matcher_.replace(request);
  }

  // 0: the side is empty.
  std::int64_t best(Side side) const noexcept {
    const LiveOrder* const first = matcher_.first_live(kLocate, side);
    return first == nullptr ? 0 : ticks_of(first->price);
  }
  // Walks the book, as the benchmark asks seldom.
  std::uint64_t depth_at(std::int64_t price_ticks, Side side) const noexcept {
    std::uint64_t shares = 0;
    for (const LiveOrder* order = matcher_.first_live(kLocate, side);
         order != nullptr && (side == Side::kBuy ? ticks_of(order->price) >= price_ticks
                                                 : ticks_of(order->price) <= price_ticks);
         order = matcher_.next_live(*order))
      if (ticks_of(order->price) == price_ticks) shares += order->leaves();
    return shares;
  }
  static Side side_of(std::uint8_t side) { return side == 0 ? Side::kBuy : Side::kSell; }

 private:
  static MatcherOptions options() {
    MatcherOptions made;
    made.book = {.orders_max = 64, .levels_max = 64};
    made.live_orders_max = kOrdersMax;
    made.order_ids_max = kIdsMax;
    made.ticks = TickRule::kAny;
    return made;
  }
  // Two parties: buyers and sellers never meet their own orders.
  static Party party(Side side) { return {0, static_cast<std::uint8_t>(side)}; }
  static std::int64_t ticks_of(std::uint32_t price) { return price / kPricesPerTick; }
  std::uint64_t current(std::uint64_t order_id) const {
    return order_id << kChangeBits | (order_id < changes_.size() ? changes_[order_id] : 0u);
  }

  void on_report(const Report& report) noexcept override {
    const std::uint64_t id = theirs(report.order_id);
    const std::int64_t price = ticks_of(report.limit_price);
    using enum wire::ReportKind;
    if (report.kind == kAccepted) {
      send(ME_ORDER_ACK, report.side, id, price, report.shares);
    } else if (report.kind == kReplaced) {
      send(ME_MODIFY_ACK, report.side, id, price, report.leaves_shares);
    } else if (report.kind == kCanceled) {
      send(ME_CANCEL_ACK, report.side, theirs(report.target_order_id), price, left_);
    } else if (report.kind == kExpired) {
      send(ME_CANCEL_ACK, report.side, id, price, report.shares - report.cumulative_shares);
    } else if (report.kind == kFill && report.liquidity == Liquidity::kAdded) {
      maker_ = id;  // whose report comes first
    } else if (report.kind == kFill) {
      me_report_t trade = made(ME_TRADE, ticks_of(report.last_price), report.last_shares);
      trade.maker_order_id = maker_;
      trade.taker_order_id = id;
      push(trade);
    }
  }
  me_report_t made(me_report_type_t type, std::int64_t price, std::uint32_t shares) const {
    me_report_t report{};
    report.type = static_cast<std::uint8_t>(type);
    report.sequence_number = sequence_;
    report.price_ticks = price;
    report.quantity = shares;
    return report;
  }
  void send(me_report_type_t type, Side side, std::uint64_t order_id, std::int64_t price,
            std::uint32_t shares) noexcept {
    me_report_t report = made(type, price, shares);
    report.side = side == Side::kBuy ? 0 : 1;
    report.order_id = order_id;
    push(report);
  }
  void push(const me_report_t& report) noexcept {
    while (transport_.push(queue_, &report) == 0) {
    }
  }

  const me_transport_t& transport_;
  void* queue_;
  Matcher matcher_;
  std::vector<std::uint8_t> changes_;  // of an order, by its id there
  std::uint64_t sequence_ = 0;         // of the message at hand
  std::uint64_t maker_ = 0;
  std::uint32_t left_ = 0;  // of the order to cancel
};

std::unique_ptr<Engine> engine;

}  // namespace
}  // namespace tickpath::sim

using tickpath::Side;
using tickpath::sim::engine;
using tickpath::sim::Engine;

void engine_init(uint64_t, const me_transport_t* transport, void* report_sink) {
  engine = std::make_unique<Engine>(*transport, report_sink);
}
void engine_shutdown() { engine.reset(); }
void engine_on_new_order(const new_order_t* order) { engine->enter(*order); }
void engine_on_cancel(const cancel_t* cancel) { engine->cancel(*cancel); }
void engine_on_modify(const modify_t* modify) { engine->modify(*modify); }
void engine_flush() {}
int64_t engine_query_best_bid() {
  const std::int64_t price = engine->best(Side::kBuy);
  return price == 0 ? std::numeric_limits<std::int64_t>::min() : price;
}
int64_t engine_query_best_ask() {
  const std::int64_t price = engine->best(Side::kSell);
  return price == 0 ? std::numeric_limits<std::int64_t>::max() : price;
}
uint64_t engine_query_depth_at(int64_t price_ticks, uint8_t side) {
  return engine->depth_at(price_ticks, Engine::side_of(side));
}

// The bench is the engine. One script of events runs through the bench, and through an engine whose
// messages are written here by hand. Callbacks and orders are the same, byte for byte.
#include <algorithm>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "common/wire/order_id.hpp"
#include "strategy/engine.hpp"
#include "strategy/plugin_file.hpp"
#include "strategy/test_bench.hpp"
#include "tests/unit/test_bench/plugins.hpp"

namespace tickpath {
namespace {

using strategy::Engine;
using wire::ReportKind;
using wire::UpdateKind;

constexpr std::uint64_t kNineThirty = 34'200'000'000'000;
constexpr std::uint64_t kMs = 1'000'000;

struct HandPort final : strategy::OrderPort {
  bool send(const wire::OrderRequest& request) noexcept override {
    sent.push_back(request);
    return true;
  }
  std::vector<wire::OrderRequest> sent;
};
struct HandImages final : strategy::ImageSource {
  bool image(std::uint32_t id, wire::BookImage& out) noexcept override {
    const auto found = images.find(id);
    if (found != images.end()) out = found->second;
    return found != images.end();
  }
  std::map<std::uint32_t, wire::BookImage> images;
};

// An engine with one listing, ZAAA, under id 0.
class ByHand {
 public:
  ByHand() {
    engine_.advance(1'000 * kMs);
    strategy::Instance& instance = engine_.add(
        strategy::load_plugin(testing::test_plugin("telling")),
        {.id = 1,
         .parameters = {{"symbols", std::string("ZAAA")}, {"timer", std::string("5ms")}},
         .place = "parameters",
         .incarnation = 1});
    engine_.start(instance);
    turn([&] { engine_.on_gateway(1, true); });
    wire::DirectoryEntry entry{};
    std::memset(entry.symbol, ' ', sizeof(entry.symbol));
    std::memcpy(entry.symbol, "ZAAA", 4);
    turn([&] { engine_.on_directory(entry); });
    turn([&] {
      engine_.on_mdh(true);
      engine_.on_update(wire::feed_state_update(wire::kNoInstrument, wire::FeedState::kGood));
    });
  }
  // after: what the message says of the book; 0: as it was.
  void update(UpdateKind kind, Side side, std::uint32_t price, std::uint32_t shares,
              wire::ImageLevel bid = {}, wire::ImageLevel ask = {}) {
    if (bid.price != 0) image_.bids[0] = bid;
    if (ask.price != 0) image_.asks[0] = ask;
    wire::BookUpdate update{};
    update.trace_id = image_.trace_id = ++sequence_;
    update.exchange_time_ns = image_.exchange_time_ns = kNineThirty + now_ns_ - 1'000 * kMs;
    update.price = price;
    update.shares = shares;
    update.best_bid = image_.bids[0].price;
    update.best_ask = image_.asks[0].price;
    update.best_bid_shares = image_.bids[0].shares;
    update.best_ask_shares = image_.asks[0].shares;
    update.kind = kind;
    update.side = side;
    update.set_states(wire::FeedState::kGood, trading_);
    image_.states = update.states;
    images_.images[0] = image_;
    turn([&] { engine_.on_update(update); });
  }
  void trading(wire::TradingState state) {
    trading_ = state;
    update(UpdateKind::kTradingState, Side{}, 0, 0);
  }
  void imbalance() {
    wire::ImbalanceUpdate update{};
    update.trace_id = ++sequence_;
    update.exchange_time_ns = kNineThirty + now_ns_ - 1'000 * kMs;
    update.reference_price = 100'100;
    update.near_price = 100'200;
    update.paired_shares = 700;
    update.imbalance_shares = 50;
    update.cross = 'C';
    update.direction = 'B';
    update.variation = 'L';
    update.kind = UpdateKind::kImbalance;
    update.side = Side::kBuy;
    wire::BookUpdate states{};
    states.set_states(wire::FeedState::kGood, trading_);
    update.states = states.states;
    turn([&] { engine_.on_imbalance(update); });
  }
  void whole_feed(wire::FeedState state) {
    turn([&] { engine_.on_update(wire::feed_state_update(wire::kNoInstrument, state)); });
  }
  void report(ReportKind kind, std::size_t request, std::size_t target, Side side,
              std::uint32_t limit, std::uint32_t leaves, std::uint32_t filled,
              std::uint32_t last = 0, std::uint64_t execution = 0,
              trading::RejectReason reason = trading::RejectReason::kNone) {
    wire::OrderReport made{};
    made.kind = kind;
    made.order_id = port_.sent.at(request).order_id;
    if (wire::names_target(kind) || wire::is_request_reject(kind))
      made.target_order_id = port_.sent.at(target).order_id;
    made.trace_id = port_.sent.at(request).trace_id;
    made.execution_id = execution;
    made.last_shares = last;
    made.last_price = last == 0 ? 0 : limit;
    made.leaves_shares = leaves;
    made.cumulative_shares = filled;
    made.side = side;
    made.reason = reason;
    made.strategy_id = 1;
    made.limit_price = limit;
    turn([&] { engine_.on_report(1, made); });
  }
  void wait_until(std::uint64_t ns) {
    now_ns_ = ns;
    turn([] {});
  }
  void gateway(bool up) {
    turn([&] { engine_.on_gateway(1, up); });
  }
  void stop() {
    turn([&] { engine_.begin_stop(); });
  }

  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<wire::OrderRequest>& sent() const { return port_.sent; }

 private:
  template <class Event>
  void turn(Event&& event) {
    engine_.advance(now_ns_);
    engine_.on_directory_behind(false);
    event();
    engine_.on_turn();
    strategy::LogRecord record;
    while (log_.try_pop(record)) lines_.emplace_back(record.view());
  }

  HandPort port_;
  HandImages images_;
  trace::TraceWriter trace_{trace::TraceOptions{}};
  strategy::LogRing log_{1'024};
  Engine engine_{
      {.instruments_max = 64, .orders_max = 1'024, .timers_max = 64}, port_, images_, trace_, log_};
  wire::BookImage image_{};
  wire::TradingState trading_ = wire::TradingState::kTrading;
  std::uint64_t sequence_ = 0;
  std::uint64_t now_ns_ = 1'000 * kMs;
  std::vector<std::string> lines_;
};

void script(ByHand& hand) {
  constexpr std::uint32_t kBid = 100'000, kAsk = 100'200;
  hand.update(UpdateKind::kAdd, Side::kBuy, kBid, 100, {kBid, 100, 1}, {kAsk, 300, 1});
  hand.report(ReportKind::kAccepted, 0, 0, Side::kBuy, kBid, 300, 0);
  hand.wait_until(1'005 * kMs);
  hand.wait_until(1'006 * kMs);
  hand.update(UpdateKind::kExecute, Side::kSell, kAsk, 100, {}, {kAsk, 200, 1});
  hand.report(ReportKind::kFill, 0, 0, Side::kBuy, kBid, 250, 50, 50, 1);
  hand.report(ReportKind::kExpired, 1, 1, Side::kSell, kAsk, 0, 0);
  hand.update(UpdateKind::kTrade, Side::kBuy, 100'100, 40);
  hand.update(UpdateKind::kAdd, Side::kBuy, kBid, 60, {kBid, 160, 2});
  hand.imbalance();
  hand.trading(wire::TradingState::kHalted);
  hand.report(ReportKind::kFillCanceled, 0, 0, Side::kBuy, kBid, 250, 0, 50, 1);
  hand.gateway(false);
  hand.wait_until(1'010 * kMs);
  hand.wait_until(1'015 * kMs);
  hand.wait_until(1'020 * kMs);
  hand.gateway(true);
  const std::size_t cancel = hand.sent().size() - 1;
  hand.report(ReportKind::kCanceled, cancel, 0, Side::kBuy, kBid, 0, 0);
  hand.whole_feed(wire::FeedState::kStale);
  hand.whole_feed(wire::FeedState::kGood);
  hand.stop();
}

void script(TestBench& bench) {
  constexpr std::uint32_t kBid = 100'000, kAsk = 100'200;
  using std::chrono::milliseconds;
  bench.book("ZAAA", {{kBid, 100}}, {{kAsk, 300}});
  bench.accept(bench.requests().at(0));
  bench.advance(milliseconds(6));
  bench.execute("ZAAA", TICKPATH_SELL, 100);
  const std::uint64_t execution = bench.fill(bench.requests().at(0), 50);
  bench.expire(bench.requests().at(1));
  bench.trade("ZAAA", 100'100, 40, TICKPATH_BUY);
  bench.add("ZAAA", TICKPATH_BUY, kBid, 60);
  bench.imbalance("ZAAA", {.reference_price = 100'100,
                           .near_price = 100'200,
                           .paired_shares = 700,
                           .imbalance_shares = 50,
                           .side = TICKPATH_BUY,
                           .cross = 'C',
                           .direction = 'B',
                           .variation = 'L'});
  bench.trading("ZAAA", TICKPATH_TRADING_HALTED);
  bench.bust(execution);
  bench.gateway(false);
  bench.advance(milliseconds(14));
  bench.gateway(true);
  bench.accept(bench.requests().back());
  bench.feed(TICKPATH_FEED_STALE);
  bench.feed(TICKPATH_FEED_GOOD);
  bench.stop();
}

TEST(TestBench, GivesTheCallbacksAndOrdersOfAnEngineDrivenByHand) {
  ByHand hand;
  script(hand);
  TestBench bench({.plugin = testing::test_plugin("telling"),
                   .parameters = "symbols = \"ZAAA\"\ntimer = \"5ms\"\n",
                   .symbols = {"ZAAA"},
                   .time_of_day = std::chrono::nanoseconds(kNineThirty)});
  script(bench);

  std::vector<std::string> lines;
  for (const TestLogLine& line : bench.take_log()) lines.push_back(line.text);
  ASSERT_EQ(lines.size(), hand.lines().size());
  for (std::size_t at = 0; at < lines.size(); ++at) EXPECT_EQ(lines[at], hand.lines()[at]) << at;
  EXPECT_GT(lines.size(), 30u);
  ASSERT_EQ(bench.requests().size(), hand.sent().size());
  for (std::size_t at = 0; at < hand.sent().size(); ++at) {
    const wire::OrderRequest& by_hand = hand.sent()[at];
    const TestRequest& by_bench = bench.requests()[at];
    EXPECT_EQ(by_bench.id, by_hand.order_id);
    EXPECT_EQ(by_bench.target_id, by_hand.target_order_id);
    EXPECT_EQ(by_bench.trace_id, by_hand.trace_id);
    EXPECT_EQ(by_bench.side, static_cast<std::uint8_t>(by_hand.side));
    EXPECT_EQ(by_bench.type, static_cast<std::uint8_t>(by_hand.type));
    EXPECT_EQ(by_bench.time_in_force, static_cast<std::uint8_t>(by_hand.time_in_force));
    EXPECT_EQ(by_bench.shares, by_hand.shares);
    EXPECT_EQ(by_bench.price, by_hand.price.value);
  }
}

}  // namespace
}  // namespace tickpath

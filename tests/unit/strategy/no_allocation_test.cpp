// The engine's datapath allocates nothing, from the tick through the order to its last report. The
// operator new of this binary counts what a thread inside a DatapathScope asks for.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "common/base/datapath_guard.hpp"
#include "strategy/plugin_file.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace {
std::atomic<std::uint64_t> datapath_allocations{0};
}

#if !TICKPATH_SANITIZED  // sanitizers bring their own allocator
namespace {
void* counted_allocate(std::size_t size) {
  if (tickpath::datapath_state() == tickpath::DatapathState::kPolling) ++datapath_allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return counted_allocate(size); }
void* operator new[](std::size_t size) { return counted_allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace tickpath::strategy {
namespace {

class ExamplePlugins : public testing::EngineTest {
 protected:
  static const tickpath_plugin& example(const std::string& name) {
    const char* bin = std::getenv("TICKPATH_BIN");
    return load_plugin(
        std::filesystem::path(bin == nullptr ? "build/release/bin" : bin).parent_path().string() +
        "/plugins/" + name + ".so");
  }
  Instance& add_momentum() {
    return add(1, example("momentum"),
               {{"symbols", std::string("*")},
                {"order_shares", std::int64_t{100}},
                {"position_max_shares", std::int64_t{300}},
                {"average_updates", 20.0},
                {"move_min_spreads", 0.5},
                {"imbalance_min", 0.1},
                {"spread_max_basis_points", 50.0},
                {"cooldown", std::string("1us")}});
  }
  Instance& add_quoter() {
    return add(2, example("quoter"),
               {{"symbols", std::string("AAPL, MSFT")},
                {"order_shares", std::int64_t{100}},
                {"position_max_shares", std::int64_t{500}},
                {"edge_ticks", std::int64_t{1}},
                {"skew_ticks", std::int64_t{3}},
                {"move_ticks", std::int64_t{1}},
                {"throttle", std::string("1us")}});
  }

  // What a venue would answer: accepts new orders and replacements, fills immediate ones, cancels.
  void answer_all() {
    for (; answered_ < port.count; ++answered_) {
      const wire::OrderRequest request = port.sent.at(answered_);
      wire::OrderReport made{
          .order_id = request.order_id,
          .target_order_id = request.target_order_id,
          .instrument_id = request.instrument_id,
          .leaves_shares = request.shares,
          .kind = request.kind == wire::RequestKind::kNew       ? wire::ReportKind::kAccepted
                  : request.kind == wire::RequestKind::kReplace ? wire::ReportKind::kReplaced
                                                                : wire::ReportKind::kCanceled,
          .side = request.side,
          .strategy_id = request.strategy_id,
          .limit_price = static_cast<std::uint32_t>(request.price.value)};
      engine.on_report(request.strategy_id, made);
      if (request.kind != wire::RequestKind::kNew ||
          request.time_in_force != trading::TimeInForce::kImmediateOrCancel)
        continue;
      made.kind = wire::ReportKind::kFill;
      made.last_shares = request.shares;
      made.last_price = made.limit_price;
      made.leaves_shares = 0;
      made.cumulative_shares = request.shares;
      engine.on_report(request.strategy_id, made);
    }
  }

  // A message of the market at a time of day.
  void tick_at(std::uint64_t time_ns, std::uint32_t bid, std::uint32_t ask) {
    wire::BookUpdate tick = update(3, bid, ask);
    tick.exchange_time_ns = time_ns;
    tick.best_bid_shares = 900;
    tick.best_ask_shares = 100;
    engine.on_update(tick);
  }
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;
  static constexpr std::uint64_t kOpenNs = 34'200 * kSecondNs;
  static constexpr std::uint64_t kCloseNs = 57'600 * kSecondNs;

  std::size_t answered_ = 0;
};

TEST_F(ExamplePlugins, TradeWithoutAnAllocationOnTheDatapath) {
  const Instance& momentum = add_momentum();
  const Instance& quoter = add_quoter();
  list(3, "AAPL");
  list(4, "MSFT");
  engine.on_market_state(wire::FeedState::kGood);
  datapath_allocations = 0;
  {
    const DatapathScope scope;
    for (std::uint32_t step = 0; step < 2'000 && port.count + 16 < port.sent.size(); ++step) {
      engine.advance(step * 10'000);
      // A price that swings by some ten cents, each side in turn the heavier one.
      const std::uint32_t swing = step % 200 < 100 ? step % 100 : 100 - step % 100;
      wire::BookUpdate tick =
          update(3 + step % 2, 1'000'000 + swing * 100, 1'000'200 + swing * 100,
                 step % 7 == 0 ? wire::UpdateKind::kExecute : wire::UpdateKind::kAdd);
      tick.best_bid_shares = step % 200 < 100 ? 900 : 100;
      tick.best_ask_shares = 1'000 - tick.best_bid_shares;
      engine.on_update(tick);
      engine.on_turn();
      answer_all();
    }
    engine.begin_stop();
    engine.on_turn();
    answer_all();
  }
  EXPECT_EQ(datapath_allocations.load(), 0u);  // under sanitizers nobody counts
  EXPECT_GT(momentum.counters.orders.get(), 10u);
  EXPECT_GT(quoter.counters.orders.get() + quoter.counters.replaces.get(), 100u);
  EXPECT_TRUE(engine.drained());
  EXPECT_EQ(engine.counters().plugins_failed.get(), 0u);
  EXPECT_EQ(engine.counters().reports_impossible.get(), 0u);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 0u);
}

TEST_F(ExamplePlugins, MomentumStaysWithinItsPositionLimitAndEndsFlat) {
  const Instance& momentum = add_momentum();
  list(3, "AAPL");
  engine.on_market_state(wire::FeedState::kGood);
  for (std::uint32_t step = 0; step < 100; ++step) {
    wire::BookUpdate tick = update(3, 1'000'000 + step * 200, 1'000'100 + step * 200);
    tick.best_bid_shares = 900;
    tick.best_ask_shares = 100;
    engine.on_update(tick);
    answer_all();
    ASSERT_LE(momentum.positions[3].shares, 300);
  }
  EXPECT_EQ(momentum.positions[3].shares, 300) << "the price only rose";
  engine.begin_stop();
  answer_all();
  EXPECT_EQ(momentum.positions[3].shares, 0);
}

TEST_F(ExamplePlugins, QuoterKeepsOneOrderASideAndLeansAgainstItsInventory) {
  const Instance& quoter = add_quoter();
  list(3, "AAPL");
  engine.on_market_state(wire::FeedState::kGood);
  engine.on_update(update(3, 1'000'000, 1'000'400));
  answer_all();
  ASSERT_EQ(port.count, 2u);
  EXPECT_EQ(port.sent[0].price.value, 999'900);
  EXPECT_EQ(port.sent[1].price.value, 1'000'500);
  // Its bid is filled several times over: it is long, so both quotes move down by the skew.
  fill(port.sent[0].order_id, 100, 999'900, 0, 100);
  fill(wire::OrderId::make(2, 1, 1), 400, 999'900, 0, 400);
  engine.on_update(update(3, 1'000'000, 1'000'400));
  answer_all();
  ASSERT_EQ(port.count, 3u) << "no further bid at the position limit";
  EXPECT_EQ(port.last().kind, wire::RequestKind::kReplace);
  EXPECT_EQ(port.last().price.value, 1'000'200);
  EXPECT_EQ(quoter.orders.size(), 1u);
}

// Times of day begin anew with each day: a pause of yesterday is over.
TEST_F(ExamplePlugins, MomentumTradesFromTheOpenOfTheSecondDay) {
  add_momentum();
  list(3, "AAPL");
  engine.on_market_state(wire::FeedState::kGood);
  tick_at(kCloseNs, 1'000'000, 1'000'100);
  tick_at(kCloseNs + 1, 1'000'200, 1'000'300);
  answer_all();
  ASSERT_EQ(port.count, 1u);
  tick_at(kCloseNs + 2, 1'000'400, 1'000'500);
  EXPECT_EQ(port.count, 1u) << "it pauses for a microsecond";
  tick_at(kOpenNs, 1'000'600, 1'000'700);
  EXPECT_EQ(port.count, 2u);
}

TEST_F(ExamplePlugins, QuoterMovesItsQuotesFromTheOpenOfTheSecondDay) {
  add_quoter();
  list(3, "AAPL");
  engine.on_market_state(wire::FeedState::kGood);
  tick_at(kCloseNs, 1'000'000, 1'000'400);
  answer_all();
  ASSERT_EQ(port.count, 2u);
  tick_at(kCloseNs + 999, 1'000'100, 1'000'500);
  EXPECT_EQ(port.count, 2u) << "its throttle is a microsecond";
  tick_at(kOpenNs, 1'000'200, 1'000'600);
  EXPECT_EQ(port.count, 4u);
}

TEST_F(ExamplePlugins, QuoterQuotesAgainTheDayAfterARejection) {
  add_quoter();
  list(3, "AAPL");
  engine.on_market_state(wire::FeedState::kGood);
  tick_at(kCloseNs, 1'000'000, 1'000'400);
  ASSERT_EQ(port.count, 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    wire::OrderReport rejected = report(wire::ReportKind::kRejected, port.sent.at(i).order_id);
    rejected.side = port.sent.at(i).side;
    rejected.reason = trading::RejectReason::kVenue;
    engine.on_report(rejected.strategy_id, rejected);
  }
  tick_at(kCloseNs + kSecondNs, 1'000'000, 1'000'400);
  EXPECT_EQ(port.count, 2u) << "it pauses for two seconds";
  tick_at(kOpenNs, 1'000'000, 1'000'400);
  EXPECT_EQ(port.count, 4u);
}

}  // namespace
}  // namespace tickpath::strategy

// Plugins that ask for recent prices: over the fabric, from a price store.
#include <atomic>
#include <memory>
#include <thread>

#include "strategy/price_history.hpp"
#include "tests/unit/prices/store_fixture.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy::testing {
namespace {

using prices::test::fabric;
using prices::test::kOpen;
using prices::test::kSecond;

// A store that lets everybody READ it.
class StoreServer {
 public:
  StoreServer() : store_(*fabric().device, prices::test::small_store(), 64, "prices") {
    store_.list(wire::symbol_word("AAPL"), 1);
    store_.list(wire::symbol_word("MSFT"), 2);
    for (std::uint64_t i = 1; i <= 100; ++i)
      store_.on_update(prices::test::trade_of(1, i, kOpen + i * kSecond / 10,
                                              100'0000 + static_cast<std::uint32_t>(i), 100));
    store_.show_clock();
    thread_ = std::thread([this] { serve(); });
  }
  ~StoreServer() {
    stop_.store(true);
    thread_.join();
  }
  const std::string& endpoint() const { return endpoint_; }

 private:
  void serve() {
    const rdma::Grant grant = store_.grant();
    while (!stop_.load()) {
      if (const auto request = listener_->next())
        readers_.push_back(link::accept_tables(*fabric().device, *request, {}, {&grant, 1}));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  prices::PriceStore store_;
  std::string endpoint_ = test_support::fresh_endpoint();
  std::unique_ptr<rdma::Listener> listener_ = fabric().device->listen(endpoint_);
  std::vector<std::unique_ptr<link::Connection>> readers_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Asks for bars in start, and for trades with each update until it has them.
class Historian : public tickpath::Strategy {
 public:
  Historian() { last_made = this; }
  void start() override {
    subscribe_all();
    started = history("AAPL", {.kind = TICKPATH_HISTORY_BARS_1S}, bars, bars_answer);
  }
  void book_change(const BookChange&) override {
    if (later == TICKPATH_OK) return;
    ++calls;
    later = history(symbol, request, trades, trades_answer);
  }
  static inline Historian* last_made = nullptr;
  std::int32_t started = -1;
  std::int32_t later = -1;
  int calls = 0;
  const char* symbol = "AAPL";
  HistoryRequest request{.kind = TICKPATH_HISTORY_TRADES};
  std::vector<HistoryEntry> bars = std::vector<HistoryEntry>(50);
  std::vector<HistoryEntry> trades = std::vector<HistoryEntry>(10);
  History bars_answer{};
  History trades_answer{};
};

class HistoryTest : public EngineTest {
 protected:
  void serve() { history_.emplace(*fabric().device, server_.endpoint(), "strategy"); }
  Historian& add_historian(std::uint8_t id) {
    static const tickpath_plugin plugin = plugin_boundary::describe<Historian>("historian", "1");
    if (history_) engine.set_history(*history_);
    add(id, plugin);
    return *Historian::last_made;
  }
  // One update a turn, and the control thread's tick beside.
  bool turns_until(const std::function<bool()>& done) {
    return link::test::eventually([&] {
      if (history_) history_->maintain(link::test::now_ns());
      engine.advance(link::test::now_ns());
      wire::BookUpdate update = prices::test::quote_of(3, ++trace_, kOpen, 1, 2);
      engine.on_update(update);
      return done();
    });
  }
  StoreServer server_;
  std::optional<PriceHistory> history_;
  std::uint64_t trace_ = 0;
};

TEST_F(HistoryTest, StartWaitsForIt) {
  serve();
  const Historian& plugin = add_historian(1);
  ASSERT_EQ(plugin.started, TICKPATH_OK);
  ASSERT_EQ(plugin.bars_answer.count, 11u);  // ten seconds, and the trade that began another
  EXPECT_EQ(plugin.bars[0].time_ns, kOpen);
  EXPECT_EQ(plugin.bars[0].trades, 9u);
  EXPECT_EQ(plugin.bars[1].open, 100'0010u);
  EXPECT_EQ(plugin.bars[1].volume, 1'000u);
  EXPECT_EQ(plugin.bars[9].final, 1);
  EXPECT_EQ(plugin.bars[10].final, 0);
  EXPECT_EQ(plugin.bars_answer.clock_ns, kOpen + 10 * kSecond);
}

TEST_F(HistoryTest, LaterTheFirstCallAsksAndALaterOneBringsTheNewest) {
  serve();
  Historian& plugin = add_historian(1);
  engine.on_update(prices::test::quote_of(3, ++trace_, kOpen, 1, 2));
  EXPECT_EQ(plugin.later, TICKPATH_NOT_YET);
  ASSERT_TRUE(turns_until([&] { return plugin.later == TICKPATH_OK; }));
  ASSERT_EQ(plugin.trades_answer.count, 10u);
  EXPECT_EQ(plugin.trades[0].trace_id, 91u);
  EXPECT_EQ(plugin.trades[9].price, 100'0100u);
  EXPECT_GE(plugin.calls, 2);
}

TEST_F(HistoryTest, TwoPluginsThatAskByTurnsBothGetTheirs) {
  serve();
  Historian& first = add_historian(1);
  Historian& second = add_historian(2);
  second.symbol = "MSFT";
  ASSERT_TRUE(
      turns_until([&] { return first.later == TICKPATH_OK && second.later == TICKPATH_OK; }));
  EXPECT_EQ(first.trades_answer.count, 10u);
  EXPECT_EQ(second.trades_answer.count, 0u) << "it has not traded";
}

// With two shards AAPL is in the first, SPY in the second.
TEST_F(HistoryTest, OfAVenueInShardsASymbolsPricesAreThoseOfItsOwnShard) {
  const std::string nobody = test_support::fresh_endpoint();
  const prices::RangeRequest request{.kind = wire::HistoryKind::kTrades, .newest = 10};
  const auto status = [&](const std::vector<std::string>& shards, const char* symbol) {
    PriceHistories all(*fabric().device, shards, "strategy");
    return all.wait_for(wire::symbol_word(symbol), request).status;
  };
  using enum prices::PriceStatus;
  EXPECT_EQ(status({server_.endpoint(), nobody}, "AAPL"), kOk);
  EXPECT_EQ(status({server_.endpoint(), nobody}, "SPY"), kFailed);
  EXPECT_EQ(status({nobody, server_.endpoint()}, "AAPL"), kFailed);
  EXPECT_EQ(status({server_.endpoint()}, "AAPL"), kOk) << "of a venue of one piece";
}

TEST_F(HistoryTest, WithoutAStoreThereIsNoData) {
  EXPECT_EQ(add_historian(1).started, TICKPATH_NO_DATA);
  history_.emplace(*fabric().device, test_support::fresh_endpoint(), "strategy");
  Historian& plugin = add_historian(2);
  EXPECT_EQ(plugin.started, TICKPATH_NO_DATA);
  EXPECT_TRUE(turns_until([&] { return plugin.later == TICKPATH_NO_DATA; }));
}

TEST_F(HistoryTest, WhatIsAskedForWronglyIsTold) {
  serve();
  Historian& plugin = add_historian(1);
  plugin.request.kind = 9;
  engine.on_update(prices::test::quote_of(3, ++trace_, kOpen, 1, 2));
  EXPECT_EQ(plugin.later, TICKPATH_INVALID);
  plugin.request.kind = TICKPATH_HISTORY_TRADES;
  plugin.symbol = "NOSUCH";
  EXPECT_TRUE(turns_until([&] { return plugin.later == TICKPATH_UNKNOWN_SYMBOL; }));
}

}  // namespace
}  // namespace tickpath::strategy::testing

// The strategy's datapath over the real fabric: mdh and oeg are played by hand in this process.
#include "strategy/datapath.hpp"

#include <atomic>
#include <deque>

#include <gmock/gmock.h>

#include "tests/support/connect.hpp"
#include "tests/support/parking.hpp"
#include "tests/unit/market/played_mdh.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using link::test::eventually;
using link::test::Fabric;
using market::test::kInstruments;
using market::test::PlayedMdh;
using testing::Scripted;
using wire::OrderId;
using wire::ReportKind;

// oeg as a strategy sees it: keeps requests, reports by hand.
class PlayedOeg {
 public:
  void accept(rdma::ConnectionRequest& request) {
    const auto hello = link::read_program<wire::Hello>(request.hello());
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->service, wire::Service::kOrders);
    const std::array<rdma::Grant, 1> extras{heartbeat.grant()};
    client = link::ClientId{accept_now(*server, request, {}, extras, hello->instance)};
  }
  void report(ReportKind kind, std::uint64_t id, std::uint64_t target = 0) {
    wire::OrderReport made{.order_id = id,
                           .target_order_id = target,
                           .instrument_id = 3,
                           .kind = kind,
                           .side = Side::kBuy};
    EXPECT_EQ(server->send(client, made), link::SendStatus::kOk);
  }
  void turn() {
    heartbeat.beat();
    server->poll(*this);
  }
  void on_message(link::ClientId, std::uint64_t tag, const wire::OrderRequest& request) noexcept {
    EXPECT_EQ(tag, request.strategy_id);
    requests.push_back(request);
  }
  // As oeg does: what the strategy holds, then the end of it.
  void on_client(link::ClientId id, std::uint64_t, link::LinkEvent event) noexcept {
    last = event;
    if (event != link::LinkEvent::kConnected) return;
    if (held.kind == ReportKind::kPosition) {
      wire::OrderReport report;
      std::memcpy(&report, &held, sizeof(report));
      EXPECT_EQ(server->send(id, report), link::SendStatus::kOk);
    }
    if (!tells_the_end) return;
    EXPECT_EQ(server->send(id, wire::OrderReport{.kind = ReportKind::kPositionsEnd}),
              link::SendStatus::kOk);
  }

  Fabric fabric;
  link::Heartbeat heartbeat{*fabric.device, "heartbeat"};
  std::unique_ptr<link::ChannelServer<wire::OrderReport, wire::OrderRequest>> server =
      std::make_unique<link::ChannelServer<wire::OrderReport, wire::OrderRequest>>(
          *fabric.device, nullptr, link::ChannelOptions{});
  link::ClientId client;
  link::LinkEvent last = link::LinkEvent::kLost;
  std::deque<wire::OrderRequest> requests;
  wire::PositionReport held{};
  bool tells_the_end = true;
};

class StrategyDatapathOf : public ::testing::Test {
 protected:
  class Images final : public ImageSource {
   public:
    bool image(std::uint32_t instrument, wire::BookImage& out) noexcept override {
      return reader->image(instrument, out);
    }
    market::MarketReader* reader = nullptr;
  };

  explicit StrategyDatapathOf(bool parks = false)
      : channel(parks ? device->create_channel() : nullptr) {
    Scripted::subscribe_to_all = true;
    images.reader = &market;
    orders.add(1);
    Instance& instance = engine.add(scripted_plugin(), {1, "", {}, "test.toml", 7});
    engine.start(instance);
    strategy = Scripted::last_made;
    connect_market();
    connect_orders();
  }
  static const tickpath_plugin& scripted_plugin() { return testing::scripted_plugin(); }

  market::MarketReaderOptions market_options() const {
    return {.endpoint = mdh.fabric.endpoint,
            .name = "strategy",
            .role = wire::Role::kStrategy,
            .mode = channel ? link::RingMode::kImmediate : link::RingMode::kPoll,
            .ring_depth = 64,
            .instruments_max = kInstruments};
  }
  OrderChannelsOptions order_options() const {
    return {.endpoint = oeg.fabric.endpoint, .name = "strategy", .depth = 64};
  }
  static std::uint64_t now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }
  void connect_market() {
    const auto connected = [this] { return market.maintain(now()); };
    mdh.fabric.meet(
        [&] { ASSERT_TRUE(link::test::eventually(connected)) << market.not_ready_reason(); },
        [this](rdma::ConnectionRequest& request) { mdh.accept(request); });
    EXPECT_EQ(mdh.role, wire::Role::kStrategy);
  }
  void connect_orders() {
    // An attempt may find the former connection not yet given back, which takes turns of the
    // datapath: like the program, try again and let it turn meanwhile.
    std::atomic<bool> met{false};
    oeg.fabric.meet(
        [&] {
          for (int attempt = 0; attempt < 500 && !met.load(); ++attempt) {
            orders.maintain(now());
            datapath.turn();
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        },
        [&](rdma::ConnectionRequest& request) {
          oeg.accept(request);
          met.store(true);
        });
  }
  // The first, of one of four symbols.
  bool sends_an_order() {
    if (!soon([&] { return !strategy->gateway.empty(); })) return false;
    for (std::uint32_t i = 0; i < 4; ++i) mdh.list(i, "S" + std::to_string(i));
    if (!soon([&] { return engine.symbols_known() == 4; })) return false;
    sent = strategy->limit(3, Scripted::kBuy, 100, 100'000);
    return bool(sent);
  }
  // Everyone takes turns until it is so.
  template <class Done>
  ::testing::AssertionResult soon(Done&& done) {
    const bool so = eventually([&] {
      if (mdh.publisher) mdh.turn();
      if (oeg.server) oeg.turn();
      datapath.turn();
      return done();
    });
    return so ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not in time";
  }

  PlayedMdh mdh;
  PlayedOeg oeg;
  std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  std::unique_ptr<rdma::CompletionChannel> channel;
  market::MarketReader market{*device, channel.get(), market_options()};
  OrderChannels orders{*device, channel.get(), order_options()};
  Images images;
  trace::TraceWriter trace{trace::TraceOptions{}};
  LogRing log{64};
  EngineOptions engine_options{.instruments_max = kInstruments,
                               .orders_max = 16,
                               .timers_max = 8,
                               .cancel_when_feed_stale = true};
  Engine engine{engine_options, orders, images, trace, log};
  Scripted::Sent sent{};
  StrategyDatapath datapath{market, orders, engine, channel.get()};
  Scripted* strategy = nullptr;
};

TEST_F(StrategyDatapathOf, ATickBecomesAnOrderAndItsReportComesBack) {
  strategy->on_change = [](Scripted& self, const Scripted::BookChange& change) {
    if (self.changes.size() == 1)
      (void)self.limit(change.instrument, Scripted::kBuy, 100, change.best_ask);
  };
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  mdh.list(0, "MSFT");
  mdh.list(1, "IBM");
  mdh.list(2, "INTC");
  mdh.list(3, "AAPL");
  ASSERT_TRUE(soon([&] { return engine.symbols_known() == 4; }));
  ASSERT_TRUE(soon([&] { return !market.directory_behind(); }));
  mdh.tick(3, 100'000, 100'100);
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 1; }));
  EXPECT_EQ(oeg.requests[0].trace_id, mdh.sequence);
  EXPECT_EQ(oeg.requests[0].price.value, 100'100);
  oeg.report(ReportKind::kAccepted, oeg.requests[0].order_id);
  ASSERT_TRUE(soon([&] { return strategy->reports.size() == 1; }));
  EXPECT_EQ(strategy->reports[0].state, TICKPATH_STATE_WORKING);
  tickpath_depth depth{};
  ASSERT_TRUE(soon([&] { return strategy->depth(3, depth); }));
  EXPECT_EQ(depth.bids[0].price, 100'000u);
}

struct StrategyThatParks : StrategyDatapathOf {
  StrategyThatParks() : StrategyDatapathOf(true) {}
};

TEST_F(StrategyThatParks, SleepsBesideNoTickAndNoReport) {
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  mdh.list(0, "MSFT");
  ASSERT_TRUE(soon([&] { return engine.symbols_known() == 1 && !market.directory_behind(); }));
  const auto others_turn = [&] {
    mdh.turn();
    oeg.turn();
  };
  std::size_t ticks = strategy->changes.size();
  test_support::expect_no_arrival_is_slept_through(
      datapath,
      [&] {
        ++ticks;
        mdh.tick(0, 100'000, 100'100);
      },
      [&] { return strategy->changes.size() == ticks; }, others_turn);

  strategy->on_change = [](Scripted& self, const Scripted::BookChange& change) {
    self.on_change = {};
    (void)self.limit(change.instrument, Scripted::kBuy, 100, change.best_ask);
  };
  mdh.tick(0, 100'000, 100'200);
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 1; }));
  std::size_t reports = 0;
  const ReportKind kinds[] = {ReportKind::kAccepted, ReportKind::kCancelRejected,
                              ReportKind::kCanceled};
  test_support::expect_no_arrival_is_slept_through(
      datapath, [&] { oeg.report(kinds[reports++], oeg.requests[0].order_id); },
      [&] { return strategy->reports.size() == reports; }, others_turn);
}

TEST_F(StrategyDatapathOf, AnOverrunIsRepairedFromTheImages) {
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  mdh.list(0, "MSFT");
  ASSERT_TRUE(soon([&] { return engine.symbols_known() == 1; }));
  mdh.tick(0, 100'000, 100'100);
  ASSERT_TRUE(soon([&] { return strategy->changes.size() == 1; }));
  for (std::uint32_t i = 0; i < 200; ++i) mdh.tick(0, 200'000 + i, 200'100 + i);  // a ring of 64
  ASSERT_TRUE(soon(
      [&] { return !strategy->changes.empty() && strategy->changes.back().best_bid == 200'199; }));
  EXPECT_EQ(strategy->changes.back().kind, TICKPATH_UPDATE_RESYNCED);
  EXPECT_EQ(engine.counters().resyncs.get(), 1u);
  EXPECT_GT(market.counters().overrun.get(), 100u);
}

TEST_F(StrategyDatapathOf, WhenMdhGoesTheFeedIsStaleAndQuotesAreCancelled) {
  ASSERT_TRUE(sends_an_order());
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 1; }));
  oeg.report(ReportKind::kAccepted, sent.id);
  mdh.publisher.reset();
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 2; }));
  EXPECT_EQ(oeg.requests[1].kind, wire::RequestKind::kCancel);
  EXPECT_EQ(oeg.requests[1].target_order_id, sent.id);
  ASSERT_FALSE(strategy->feeds.empty());
  EXPECT_EQ(strategy->feeds.back().second, TICKPATH_FEED_STALE);
  EXPECT_THAT(market.not_ready_reason(), ::testing::HasSubstr("waiting for mdh"));
}

TEST_F(StrategyDatapathOf, WhenOegGoesRequestsAreRefusedUntilItIsBackAndAsked) {
  ASSERT_TRUE(sends_an_order());
  oeg.server.reset();
  ASSERT_TRUE(soon([&] { return strategy->gateway.size() == 2; }));
  EXPECT_FALSE(strategy->gateway.back());
  EXPECT_EQ(strategy->limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_GATEWAY_DOWN);
  oeg.server = std::make_unique<link::ChannelServer<wire::OrderReport, wire::OrderRequest>>(
      *oeg.fabric.device, nullptr, link::ChannelOptions{});
  oeg.requests.clear();
  connect_orders();
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 1; }));
  EXPECT_EQ(oeg.requests[0].kind, wire::RequestKind::kCancel);
  oeg.report(ReportKind::kCanceled, oeg.requests[0].order_id, sent.id);
  ASSERT_TRUE(soon([&] { return strategy->gateway.size() == 3; }));
  EXPECT_TRUE(strategy->limit(3, Scripted::kBuy, 100, 100'000));
}

TEST_F(StrategyDatapathOf, SaysThatOegHasCutItOffAndNothingOfTheKindOfALossOrItsOwnEnd) {
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  oeg.server->close(oeg.client);
  ASSERT_TRUE(soon([&] { return strategy->gateway.size() == 2; }));
  EXPECT_FALSE(strategy->gateway.back());
  EXPECT_EQ(orders.cut_off(), 1u);
  std::this_thread::sleep_for(std::chrono::milliseconds(110));  // the pause between two attempts
  connect_orders();
  ASSERT_TRUE(soon([&] { return strategy->gateway.size() == 3; }));
  oeg.server.reset();  // a loss
  ASSERT_TRUE(soon([&] { return strategy->gateway.size() == 4; }));
  EXPECT_EQ(orders.cut_off(), 1u);
}

TEST_F(StrategyDatapathOf, GoesOnFromThePositionsThatOegTellsAndNotBeforeTheirEnd) {
  oeg.held.kind = ReportKind::kPosition;
  oeg.held.instrument_id = 3;
  oeg.held.position_shares = 300;
  oeg.held.cash = -30'000'000;
  oeg.held.fills = 3;
  oeg.tells_the_end = false;
  ASSERT_TRUE(soon([&] { return engine.counters().positions_adopted.get() == 1; }));
  EXPECT_EQ(engine.instances()[0]->positions[3].shares, 300);
  EXPECT_EQ(engine.instances()[0]->positions[3].cash, -30'000'000);
  EXPECT_TRUE(strategy->gateway.empty());
  EXPECT_FALSE(orders.not_ready_reason().empty());
  oeg.report(ReportKind::kPositionsEnd, 0);
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  EXPECT_TRUE(strategy->gateway.back());
}

TEST_F(StrategyDatapathOf, StopCancelsWaitsForTheAnswersAndClosesInOrder) {
  ASSERT_TRUE(sends_an_order());
  oeg.report(ReportKind::kAccepted, sent.id);
  datapath.request_stop();
  ASSERT_TRUE(soon([&] { return oeg.requests.size() == 2; }));
  EXPECT_FALSE(datapath.drained());
  oeg.report(ReportKind::kCanceled, oeg.requests[1].order_id, sent.id);
  ASSERT_TRUE(soon([&] { return datapath.drained(); }));
  ASSERT_TRUE(soon([&] { return oeg.last == link::LinkEvent::kClosed; }));
  EXPECT_EQ(orders.cut_off(), 0u);
}

// On a busy machine the datapath may run once while all of it is published, and once more at the
// stop.
TEST_F(StrategyDatapathOf, StopTakesInFirstWhatMdhHasPublishedHoweverSeldomItRuns) {
  constexpr std::uint32_t kUpdates = 60;  // more than a turn takes, fewer than the ring has
  ASSERT_TRUE(soon([&] { return !strategy->gateway.empty(); }));
  mdh.list(3, "S3");
  ASSERT_TRUE(soon([&] { return engine.symbols_known() == 1; }));
  const std::uint64_t before = market.counters().seen.get();
  datapath.request_stop();
  datapath.turn();
  std::this_thread::sleep_for(std::chrono::milliseconds(25));  // past the time for crossing reports
  for (std::uint32_t i = 0; i < kUpdates; ++i) mdh.tick(3, 100'000 + i, 100'100 + i);
  for (int turn = 0; !datapath.drained() && turn < 100; ++turn) datapath.turn();
  EXPECT_TRUE(datapath.drained());
  EXPECT_GE(market.counters().seen.get() - before, kUpdates);
}

}  // namespace
}  // namespace tickpath::strategy

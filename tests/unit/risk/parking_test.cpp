// risk's datapath, parked: order events, the market, and a person's word.
#include "tests/support/parking.hpp"

#include "common/link/control_block.hpp"
#include "risk/datapath.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/market/played_mdh.hpp"

namespace tickpath::risk {
namespace {

using link::test::Fabric;
using market::test::kInstruments;
using market::test::PlayedMdh;

class RiskThatParks : public ::testing::Test {
 protected:
  RiskThatParks() {
    const auto with_mdh = [this] { return market_.maintain(now()); };
    const auto with_oeg = [this] { return gateway_.maintain(now()); };
    mdh_.fabric.meet([&] { ASSERT_TRUE(link::test::eventually(with_mdh)); },
                     [this](rdma::ConnectionRequest& request) { mdh_.accept(request); });
    oeg_.meet([&] { ASSERT_TRUE(link::test::eventually(with_oeg)); },
              [this](rdma::ConnectionRequest& request) {
                const std::array<rdma::Grant, 3> extras{block_.grant(), positions_.grant(),
                                                        heartbeat_.grant()};
                accept_now(events_, request, {}, extras);
              });
    mdh_.list(0, "MSFT");
    EXPECT_TRUE(link::test::eventually([this] {
      others_turn();
      datapath_.turn();
      return gateway_.first().alive().get() != 0 && market_.alive().get() != 0 &&
             !market_.directory_behind();
    }));
  }
  static std::uint64_t now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }
  static MonitorOptions monitor_options() {
    return {.instruments_max = kInstruments, .rows_max = 16, .orders_max = 16};
  }
  market::MarketReaderOptions market_options() const {
    return {.endpoint = mdh_.fabric.endpoint,
            .name = "risk",
            .role = wire::Role::kRisk,
            .mode = link::RingMode::kImmediate,
            .ring_depth = 64,
            .instruments_max = kInstruments};
  }
  GatewayLinkOptions gateway_options() const {
    return {.endpoint = oeg_.endpoint,
            .name = "risk",
            .mode = link::RingMode::kImmediate,
            .ring_slots = 64};
  }
  static link::PublisherOptions event_options() { return {.depth_max = 1024}; }
  void others_turn() {
    mdh_.turn();
    heartbeat_.beat();
    events_.turn();
  }
  void expect_no_sleep_beside(const std::function<void()>& arrive,
                              const std::function<bool()>& handled) {
    test_support::expect_no_arrival_is_slept_through(datapath_, arrive, handled,
                                                     [this] { others_turn(); });
  }

  PlayedMdh mdh_;
  Fabric oeg_;
  link::ControlBlock<wire::ControlBlock> block_{*oeg_.device, "block"};
  link::TableOwner<wire::NamedPosition> positions_{*oeg_.device, 16, "positions"};
  link::Heartbeat heartbeat_{*oeg_.device, "heartbeat"};
  link::Publisher<wire::OrderEvent> events_{*oeg_.device, nullptr, event_options()};
  std::unique_ptr<rdma::Device> device_ = rdma::open_device("shm", "");
  std::unique_ptr<rdma::CompletionChannel> channel_ = device_->create_channel();
  Monitor monitor_{monitor_options()};
  market::MarketReader market_{*device_, channel_.get(), market_options()};
  Gateways gateway_{*device_, channel_.get(), gateway_options(), monitor_};
  RiskDatapath datapath_{market_, gateway_, monitor_, kInstruments, channel_.get()};
};

TEST_F(RiskThatParks, SleepsBesideNoOrderEvent) {
  std::uint64_t sent = 0;
  expect_no_sleep_beside(
      [&] {
        events_.publish(wire::OrderEvent{
            .order_id = ++sent, .event = wire::EventKind::kRefused, .strategy_id = 1});
      },
      [&] { return gateway_.first().events().seen.get() == sent; });
}

TEST_F(RiskThatParks, SleepsBesideNoTick) {
  const std::uint64_t before = market_.counters().seen.get();
  std::uint64_t sent = 0;
  expect_no_sleep_beside(
      [&] {
        ++sent;
        mdh_.tick(0, 100'000, 100'100);
      },
      [&] { return market_.counters().seen.get() == before + sent; });
}

TEST_F(RiskThatParks, SleepsBesideNoKill) {
  std::uint64_t given = 0;
  expect_no_sleep_beside(
      [&] {
        ++given;
        EXPECT_TRUE(datapath_.command({given % 2 != 0, 1, false, given, {}}));
      },
      [&] {
        control::KillState state{};
        return monitor_.kills().state(state) && state.command == given;
      });
}

}  // namespace
}  // namespace tickpath::risk

// An oeg that a test plays by hand, in this process.
#pragma once

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "common/link/control_block.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/publisher.hpp"
#include "common/link/remote_table.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/position.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::risk::fed {

// oeg as risk sees it.
class PlayedOeg {
 public:
  using Publisher = link::Publisher<wire::OrderEvent>;

  PlayedOeg() { block.initialise({}); }
  void accept(rdma::ConnectionRequest& request) {
    const auto hello = link::read_program<wire::Hello>(request.hello());
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->role, wire::Role::kRisk);
    EXPECT_EQ(hello->service, wire::Service::kDropCopy);
    const std::array<rdma::Grant, 3> extras{block.grant(), positions.grant(), heartbeat.grant()};
    accept_now(*publisher, request, {}, extras);
  }
  void fill(std::uint64_t id, std::uint32_t shares, std::uint32_t price) {
    wire::OrderEvent event{.order_id = id,
                           .instrument_id = 3,
                           .shares = shares,
                           .price = price,
                           .event = wire::EventKind::kReported,
                           .report_kind = wire::ReportKind::kFill,
                           .side = Side::kBuy,
                           .strategy_id = 1,
                           .row_event = ++row_events};
    publisher->publish(event);
  }
  void refuse(std::uint64_t id) {
    publisher->publish(wire::OrderEvent{
        .order_id = id, .instrument_id = 3, .event = wire::EventKind::kRefused, .strategy_id = 1});
  }
  void turn() {
    heartbeat.beat();
    publisher->turn();
    (void)block.read(limits);
  }
  static std::unique_ptr<Publisher> make(rdma::Device& device) {
    link::PublisherOptions options{.depth_max = 1024};
    return std::make_unique<Publisher>(device, nullptr, options);
  }

  link::test::Fabric fabric;
  link::ControlBlock<wire::ControlBlock> block{*fabric.device, "block"};
  link::TableOwner<wire::NamedPosition> positions{*fabric.device, 16, "positions"};
  link::Heartbeat heartbeat{*fabric.device, "heartbeat"};
  std::unique_ptr<Publisher> publisher = make(*fabric.device);
  wire::ControlBlock limits{};
  std::uint32_t row_events = 0;  // of strategy 1 in instrument 3
};

}  // namespace tickpath::risk::fed

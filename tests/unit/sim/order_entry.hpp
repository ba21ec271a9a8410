// The exchange's order entry: sessions in front of a matching core with a market of two symbols.
#pragma once

#include <memory>

#include "recorded.hpp"
#include "sim/market/market.hpp"
#include "sim/orders/order_gateway.hpp"
#include "tests/support/process.hpp"

namespace tickpath::sim {

class OrderEntry {
 protected:
  // What tests do not say otherwise.
  static GatewayOptions gateway_options(std::uint32_t order_ids_max = 4096) {
    GatewayOptions options;
    options.reports_pending_max = 1024;
    options.ledger_rows = 4;
    options.order_ids_max = order_ids_max;
    return options;
  }
  // Its stores are those that the last one left.
  void open_exchange(const GatewayOptions& options, std::uint16_t incarnation = 1) {
    close_exchange();
    gateway_ = std::make_unique<OrderGateway>(options, trace_);
    matcher_ =
        std::make_unique<Matcher>(MatcherOptions{.book = {.orders_max = 1024, .levels_max = 1024},
                                                 .order_ids_max = options.order_ids_max,
                                                 .incarnation = incarnation},
                                  *gateway_);
    market_ = std::make_unique<Market>(*matcher_);
    gateway_->connect(*matcher_, market_->symbols());
    market_->apply(directory(7, "ZAAA"));
    market_->apply(directory(8, "ZAAB"));
  }
  void close_exchange() {
    gateway_.reset();
    matcher_.reset();
    market_.reset();
  }

  test_support::Folder folder_;
  trace::TraceWriter trace_{{}};
  std::unique_ptr<OrderGateway> gateway_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<Market> market_;
};

}  // namespace tickpath::sim

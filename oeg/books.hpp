// What several parts of a gateway look at and change: open orders, positions, executions, market,
// strategies and counters. Datapath thread.
#pragma once

#include <cstdint>

#include "common/wire/order_id.hpp"
#include "oeg/executions.hpp"
#include "oeg/gateway_counters.hpp"
#include "oeg/gateway_options.hpp"
#include "oeg/instruments.hpp"
#include "oeg/ledger.hpp"
#include "oeg/strategy_slots.hpp"

namespace tickpath::oeg {

// Ids of what oeg asks for itself, and of trades that a person books.
class OwnIds {
 public:
  OwnIds() noexcept { begin(0); }
  // `incarnation` differs at every start.
  void begin(std::uint16_t incarnation) noexcept {
    last_ = wire::OrderId::make(wire::kOwnStrategyId, incarnation, 0);
  }
  std::uint64_t next() noexcept { return ++last_; }

 private:
  std::uint64_t last_ = 0;
};

struct Books {
  explicit Books(const GatewayOptions& options)
      : instruments(options.instruments_max),
        ledger(options.orders_max, options.positions_max),
        slots(options.strategies_max, options.report_queue),
        executions(options.executions_max) {}

  Instruments instruments;
  Ledger ledger;
  StrategySlots slots;
  Executions executions;  // booked, so that what repeats one is known
  OwnIds own_ids;
  GatewayCounters counters;
};

}  // namespace tickpath::oeg

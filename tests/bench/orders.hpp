// What the benchmarks of oeg ask of its gateway.
#pragma once

#include "common/wire/order_id.hpp"
#include "oeg/gateway.hpp"

namespace tickpath::oeg {

inline constexpr std::uint8_t kBenchStrategy = 1;

// Every limit set, and none of them broken.
inline GatewayOptions all_limits() {
  GatewayOptions options;
  options.orders_max = 1u << 16;
  options.limits.order_value_max = std::uint64_t{1} << 40;
  options.limits.position_value_max = std::uint64_t{1} << 50;
  options.limits.gross_value_max = std::uint64_t{1} << 60;
  options.limits.total_gross_value_max = std::uint64_t{1} << 60;
  options.limits.reference_basis_points = 1'000;
  options.limits.order_shares_max = 10'000;
  options.limits.position_shares_max = 1'000'000'000;
  options.limits.open_orders_max = 1'000'000;
  options.limits.messages_per_second_max = 100'000'000;
  options.limits.collar_basis_points = 500;
  return options;
}

inline void quote(Gateway& gateway, std::uint32_t instrument, const std::string& symbol,
                  std::uint32_t bid) {
  gateway.instruments().set_symbol(instrument, symbol);
  wire::BookUpdate update{};
  update.instrument_id = instrument;
  update.best_bid = bid;
  update.best_ask = bid + 100;
  update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
  gateway.instruments().update(update);
}

inline wire::OrderRequest bench_order(std::uint32_t counter, std::uint32_t instrument,
                                      std::int64_t price, std::uint32_t shares, Side side) {
  return {.order_id = wire::OrderId::make(kBenchStrategy, 1, counter),
          .trace_id = counter,
          .price = {price},
          .instrument_id = instrument,
          .shares = shares,
          .kind = wire::RequestKind::kNew,
          .side = side,
          .type = trading::OrderType::kLimit,
          .strategy_id = kBenchStrategy};
}

// Its ports, of which those to the fabric look at nothing.
struct NoFabric : VenuePort, StrategyPort, EventPort {
  using VenuePort::send;
  bool send(std::size_t, const wire::OrderReport&) noexcept override { return true; }
  void drop(std::size_t) noexcept override {}
  void publish(const wire::OrderEvent&) noexcept override {}
  void note_exception(const ExceptionNote&) noexcept override {}
  void store_position(std::size_t, const wire::PositionRow&) noexcept override {}

 protected:
  ~NoFabric() = default;
};

}  // namespace tickpath::oeg

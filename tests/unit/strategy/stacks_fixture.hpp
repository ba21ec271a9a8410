// An engine that trades on several stacks, venues or shards of one, and a plugin that keeps what it
// is told of them.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "strategy/plugin_file.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy::testing {

inline constexpr std::uint32_t kRoom = 64;  // instruments a stack

// Which venue a callback was about.
class Venued : public Scripted {
 public:
  using Strategy::can_send;
  using Strategy::event_venue;
  using Strategy::instruments_max;
  using Strategy::listing;
  using Strategy::position_everywhere;
  using Strategy::route;
  using Strategy::send;
  using Strategy::subscribe_at;
  using Strategy::venue_name;
  using Strategy::venue_of;
  using Strategy::venue_state;
  using Strategy::venues;
  void instrument(std::string_view symbol, Instrument id) override {
    Scripted::instrument(symbol, id);
    about.push_back(event_venue());
  }
  void gateway_state(bool up) override { gateways.emplace_back(event_venue(), up); }
  void feed_state(Instrument id, std::uint8_t state) override {
    Scripted::feed_state(id, state);
    about.push_back(event_venue());
  }
  std::vector<std::uint32_t> about;
  std::vector<std::pair<std::uint32_t, bool>> gateways;
};

// An engine with as many stacks as there are specs.
template <std::size_t Stacks>
class StacksTest : public ::testing::Test {
 protected:
  using Specs = std::array<std::pair<VenueSpec, wire::Shard>, Stacks>;
  explicit StacksTest(const Specs& specs)
      : engine({.instruments_max = kRoom, .orders_max = 16, .timers_max = 8}, ports_of(specs),
               trace, log) {
    Scripted::subscribe_to_all = true;
  }
  template <class Plugin = Venued>
  Venued& add(std::uint8_t id = 1) {
    static const tickpath_plugin plugin = plugin_boundary::describe<Plugin>("venued", "1");
    instance = &engine.add(plugin, {id, "", {}, "test.toml", 7});
    engine.start(*instance);
    for (std::size_t stack = 0; stack < ports.size(); ++stack) engine.on_gateway(id, true, stack);
    auto& made = static_cast<Venued&>(*Scripted::last_made);
    made.gateways.clear();
    return made;
  }
  void list(std::size_t stack, std::uint32_t id, const char* symbol) {
    wire::DirectoryEntry entry{};
    std::memset(entry.symbol, ' ', sizeof(entry.symbol));
    std::memcpy(entry.symbol, symbol, std::strlen(symbol));
    entry.instrument_id = id;
    engine.on_directory(entry, stack);
  }
  // Best prices with 200 bid and 300 asked for.
  void quote(std::size_t stack, std::uint32_t id, std::uint32_t bid, std::uint32_t ask,
             wire::TradingState trading = wire::TradingState::kTrading) {
    wire::BookUpdate update{.trace_id = ++sequence,
                            .exchange_time_ns = sequence * 1'000,
                            .instrument_id = id,
                            .best_bid = bid,
                            .best_ask = ask,
                            .best_bid_shares = 200,
                            .best_ask_shares = 300,
                            .kind = wire::UpdateKind::kAdd,
                            .side = Side::kBuy};
    update.set_states(wire::FeedState::kGood, trading);
    engine.on_update(update, stack);
  }
  void report(std::size_t stack, wire::ReportKind kind, std::uint64_t id, std::uint32_t instrument,
              std::uint32_t shares = 0, std::uint64_t target = 0) {
    wire::OrderReport made{.order_id = id,
                           .target_order_id = target,
                           .instrument_id = instrument,
                           .kind = kind,
                           .side = Side::kBuy,
                           .strategy_id = 1};
    if (kind == wire::ReportKind::kFill) {
      made.last_shares = made.cumulative_shares = shares;
      made.last_price = 1'000;
    }
    engine.on_report(1, made, stack);
  }

  void tell_position(std::size_t stack, std::uint32_t id, std::int64_t shares, std::int64_t cash) {
    wire::PositionReport held{};
    held.instrument_id = id;
    held.position_shares = shares;
    held.cash = cash;
    held.fills = 1;
    engine.on_position(1, held, stack);
  }

  std::vector<StackPorts> ports_of(const Specs& specs) {
    std::vector<StackPorts> all;
    for (std::size_t stack = 0; stack < Stacks; ++stack)
      all.push_back({&ports[stack], &images[stack], specs[stack].first, specs[stack].second});
    return all;
  }

  std::uint64_t sequence = 0;
  Instance* instance = nullptr;
  std::array<KeepingPort, Stacks> ports;
  std::array<HandMadeImages, Stacks> images;
  trace::TraceWriter trace{trace::TraceOptions{}};
  LogRing log{64};
  Engine engine;
};

}  // namespace tickpath::strategy::testing

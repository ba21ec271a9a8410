// The example plugins as the benchmarks of the strategy engine load them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "strategy/plugin_file.hpp"

namespace tickpath::bench {

inline const tickpath_plugin& example_plugin(const std::string& name) {
  const char* const bin = std::getenv("TICKPATH_BIN");
  const std::filesystem::path where = bin == nullptr ? "build/release/bin" : bin;
  return strategy::load_plugin(where.parent_path().string() + "/plugins/" + name + ".so");
}

inline strategy::PluginSpec example_spec(std::size_t number, config::Parameters parameters) {
  return {static_cast<std::uint8_t>(number), "", std::move(parameters), "bench", 1};
}

// As config/demo has it, but that no spread is wide enough: a quoter that never quotes.
inline strategy::PluginSpec quoter(std::size_t number, const std::string& symbols = "*") {
  return example_spec(number, {{"symbols", symbols},
                               {"order_shares", std::int64_t{100}},
                               {"position_max_shares", std::int64_t{500}},
                               {"edge_ticks", std::int64_t{0}},
                               {"skew_ticks", std::int64_t{3}},
                               {"move_ticks", std::int64_t{1}},
                               {"spread_min_ticks", std::int64_t{1'000'000}},
                               {"throttle", std::string("1s")}});
}

inline wire::DirectoryEntry listed(std::uint32_t instrument) {
  wire::DirectoryEntry entry{};
  std::snprintf(entry.symbol, sizeof(entry.symbol), "S%u", instrument);
  entry.instrument_id = instrument;
  return entry;
}

// The `sequence`-th update of so many instruments, in turns.
inline wire::BookUpdate update_of(std::uint64_t sequence, std::uint32_t instruments) noexcept {
  wire::BookUpdate update{};
  update.trace_id = update.exchange_time_ns = sequence;
  update.instrument_id = static_cast<std::uint32_t>(sequence * 7919 % instruments);
  update.kind = wire::UpdateKind::kAdd;
  update.best_bid = 1'000'000 + static_cast<std::uint32_t>(sequence % 64) * 100;
  update.best_ask = update.best_bid + 50'000;
  update.best_bid_shares = update.best_ask_shares = 100;
  update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
  return update;
}

}  // namespace tickpath::bench

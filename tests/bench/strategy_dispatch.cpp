// What the strategy engine costs a tick: the stamp, the quote, and the callbacks of the two example
// plugins, each with a wide spread so that none of them trades.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/base/cpu.hpp"
#include "strategy/engine.hpp"
#include "strategy/plugin_file.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace tickpath;

class NoOrders final : public strategy::OrderPort {
 public:
  bool send(const wire::OrderRequest&) noexcept override { return false; }
};
class NoImages final : public strategy::ImageSource {
 public:
  bool image(std::uint32_t, wire::BookImage&) noexcept override { return false; }
};

std::string plugin(const std::string& name) {
  const char* bin = std::getenv("TICKPATH_BIN");
  const std::filesystem::path where = bin == nullptr ? "build/release/bin" : bin;
  return where.parent_path().string() + "/plugins/" + name + ".so";
}

void add_examples(strategy::Engine& engine) {
  using Text = std::string;
  engine.start(engine.add(strategy::load_plugin(plugin("momentum")),
                          {1,
                           "",
                           {{"symbols", Text("*")},
                            {"order_shares", std::int64_t{100}},
                            {"position_max_shares", std::int64_t{300}},
                            {"average_updates", 20.0},
                            {"move_min_spreads", 0.5},
                            {"imbalance_min", 0.1},
                            {"spread_max_basis_points", 50.0},
                            {"cooldown", Text("1s")}},
                           "bench",
                           1}));
  engine.start(engine.add(strategy::load_plugin(plugin("quoter")),
                          {2,
                           "",
                           {{"symbols", Text("*")},
                            {"order_shares", std::int64_t{100}},
                            {"position_max_shares", std::int64_t{500}},
                            {"edge_ticks", std::int64_t{0}},
                            {"skew_ticks", std::int64_t{3}},
                            {"move_ticks", std::int64_t{1}},
                            {"spread_min_ticks", std::int64_t{1'000'000}},
                            {"throttle", Text("1s")}},
                           "bench",
                           1}));
}

void list_symbols(strategy::Engine& engine, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    wire::DirectoryEntry entry{};
    std::snprintf(entry.symbol, sizeof(entry.symbol), "S%u", i);
    entry.instrument_id = i;
    engine.on_directory(entry);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const std::size_t groups = quick ? 1'000 : 500'000;
  constexpr std::uint32_t kInstruments = 1'000;
  bench::print_environment("strategy: one book update through the engine to two plugins");
  NoOrders orders;
  NoImages images;
  trace::TraceWriter trace{trace::TraceOptions{}};
  strategy::LogRing log(64);
  strategy::Engine engine({}, orders, images, trace, log);
  add_examples(engine);
  list_symbols(engine, kInstruments);

  constexpr int kGroup = 10;  // one alone is shorter than the clock that would time it
  bench::Samples samples(groups);
  std::uint64_t sequence = 0;
  for (int pass = 0; pass < 2; ++pass) {
    samples.clear();
    for (std::size_t group = 0; group < groups; ++group) {
      const TscTicks start = tsc_now();
      for (int i = 0; i < kGroup; ++i) {
        wire::BookUpdate update{};
        update.trace_id = ++sequence;
        update.exchange_time_ns = sequence;
        update.instrument_id = static_cast<std::uint32_t>(sequence * 7919 % kInstruments);
        update.kind = wire::UpdateKind::kAdd;
        update.best_bid = 1'000'000 + static_cast<std::uint32_t>(sequence % 64) * 100;
        update.best_ask = update.best_bid + 50'000;
        update.best_bid_shares = update.best_ask_shares = 100;
        update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
        engine.on_update(update);
      }
      samples.add((tsc_now() - start).value);
    }
  }
  samples.print("ten updates");
  std::printf("one update, two plugins called: %.1f ns\n", samples.median_ns() / kGroup);
  return 0;
}

// What the strategy engine costs a tick: the stamp, the quote, and the callbacks of the two example
// plugins, each with a wide spread so that none of them trades.
#include <cstdio>
#include <string>

#include "common/base/cpu.hpp"
#include "strategy/engine.hpp"
#include "tests/bench/plugins.hpp"
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

void add_examples(strategy::Engine& engine) {
  engine.start(engine.add(bench::example_plugin("momentum"),
                          bench::example_spec(1, {{"symbols", std::string("*")},
                                                  {"order_shares", std::int64_t{100}},
                                                  {"position_max_shares", std::int64_t{300}},
                                                  {"average_updates", 20.0},
                                                  {"move_min_spreads", 0.5},
                                                  {"imbalance_min", 0.1},
                                                  {"spread_max_basis_points", 50.0},
                                                  {"cooldown", std::string("1s")}})));
  engine.start(engine.add(bench::example_plugin("quoter"), bench::quoter(2)));
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
  for (std::uint32_t id = 0; id < kInstruments; ++id) engine.on_directory(bench::listed(id));

  constexpr int kGroup = 10;  // one alone is shorter than the clock that would time it
  bench::Samples samples(groups);
  std::uint64_t sequence = 0;
  for (int pass = 0; pass < 2; ++pass) {
    samples.clear();
    for (std::size_t group = 0; group < groups; ++group) {
      const TscTicks start = tsc_now();
      for (int i = 0; i < kGroup; ++i) engine.on_update(bench::update_of(++sequence, kInstruments));
      samples.add((tsc_now() - start).value);
    }
  }
  samples.print("ten updates");
  std::printf("one update, two plugins called: %.1f ns\n", samples.median_ns() / kGroup);
  return 0;
}

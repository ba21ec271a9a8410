// What risk's monitor takes for one fill and for one quote, every limit set and none broken: with
// one venue, and with two, whose rows are netted by name.
//
// One sample a call; the cost of the measurement itself is printed beside it.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "risk/monitor.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::risk {
namespace {

constexpr std::uint32_t kInstruments = 1000;
constexpr std::uint32_t kStrategies = 4;

std::unique_ptr<Monitor> monitor_of(std::uint32_t venues) {
  MonitorOptions options{.instruments_max = kInstruments, .venues = venues};
  constexpr std::int64_t kFar = 1'000'000'000'000'000;
  options.strategy = {kFar, kFar, kFar, kFar, kFar, kFar, kFar};
  options.total = {kFar, kFar};
  auto monitor = std::make_unique<Monitor>(options);
  monitor->advance(1);
  for (std::uint32_t venue = 0; venue < venues; ++venue) {
    for (std::uint32_t id = 0; id < kInstruments; ++id) {
      wire::DirectoryEntry entry{.instrument_id = id};
      ("S" + std::to_string(id)).copy(entry.symbol, sizeof(entry.symbol));
      monitor->on_directory(entry, venue);
    }
    monitor->on_whole(venue);
  }
  return monitor;
}

wire::OrderEvent fill(std::mt19937& random, std::uint64_t id) {
  return {.order_id = id,
          .instrument_id = static_cast<std::uint32_t>(random() % kInstruments),
          .shares = 1 + static_cast<std::uint32_t>(random() % 100),
          .price = 1'000'000 + static_cast<std::uint32_t>(random() % 100),
          .event = wire::EventKind::kReported,
          .report_kind = wire::ReportKind::kFill,
          .side = random() % 2 == 0 ? Side::kBuy : Side::kSell,
          .strategy_id = static_cast<std::uint8_t>(1 + random() % kStrategies)};
}

wire::BookUpdate quote(std::mt19937& random) {
  const auto bid = 1'000'000 + static_cast<std::uint32_t>(random() % 100) * 100;
  wire::BookUpdate update{.instrument_id = static_cast<std::uint32_t>(random() % kInstruments),
                          .best_bid = bid,
                          .best_ask = bid + 100,
                          .kind = wire::UpdateKind::kAdd};
  update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
  return update;
}

void measure(std::uint32_t venues, std::size_t count) {
  const std::unique_ptr<Monitor> monitor = monitor_of(venues);
  std::mt19937 random(5);
  std::vector<std::uint32_t> numbers(std::size_t{venues} * kInstruments * (kStrategies + 1));
  bench::Samples fills(count);
  bench::Samples quotes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto venue = static_cast<std::uint32_t>(i % venues);
    wire::OrderEvent event = fill(random, i + 1);
    event.row_event = ++numbers[(venue * kInstruments + event.instrument_id) * (kStrategies + 1) +
                                event.strategy_id];
    const std::uint64_t begin = tsc_now().value;
    monitor->on_event(event, venue);
    fills.add(tsc_now().value - begin);
    const wire::BookUpdate update = quote(random);
    const std::uint64_t then = tsc_now().value;
    monitor->on_update(update, venue);
    quotes.add(tsc_now().value - then);
  }
  if (monitor->counters().orders.fills.get() != count ||
      monitor->counters().limits.kills.get() != 0)
    throw Error("not every fill was booked, or a limit broke: nothing was measured");
  const std::string note = std::to_string(venues) + (venues == 1 ? " venue" : " venues");
  fills.print("a fill", note);
  quotes.print("a quote, 4 rows", note);
}

int run(int argc, char** argv) {
  bench::print_environment("risk's monitor");
  const std::size_t count = bench::is_quick(argc, argv) ? 1'000 : 1'000'000;
  const auto venues = static_cast<std::uint32_t>(bench::option(argc, argv, "--venues", 0));
  for (const std::uint32_t each : {1u, 2u})
    if (venues == 0 || venues == each) measure(each, count);
  return 0;
}

}  // namespace
}  // namespace tickpath::risk

int main(int argc, char** argv) {
  return tickpath::bench::run_main(tickpath::risk::run, argc, argv);
}

// What all risk checks of one order cost: OrderChecks::check_new() with every limit set and none of
// them broken, over many instruments and ids, so that its tables are as cold as a burst leaves
// them.
//
// One sample an order; the cost of the measurement itself is printed beside it.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/bench/orders.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::oeg {
namespace {

constexpr double kBarNs = 100;
constexpr std::uint32_t kInstruments = 1000;

// Ports that accept everything: only the checks are measured.
struct Sink final : NoFabric, JournalPort {
  using NoFabric::send;
  fix::SendStatus send(const fix::NewOrderSingle&, fix::SendTimes&) override {
    return fix::SendStatus::kSent;
  }
  fix::SendStatus send(const fix::OrderCancelRequest&, fix::SendTimes&) override {
    return fix::SendStatus::kSent;
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest&, fix::SendTimes&) override {
    return fix::SendStatus::kSent;
  }
  fix::SendStatus send(const fix::OrderStatusRequest&, fix::SendTimes&) override {
    return fix::SendStatus::kSent;
  }
  bool up() const noexcept override { return true; }
  bool takes_orders() const noexcept override { return true; }
  bool behind_gap() const noexcept override { return false; }
  bool congested() const noexcept override { return false; }
  std::uint32_t next_seq() const noexcept override { return 1; }
  bool has_room() const noexcept override { return true; }
  bool has_room_for_changes() const noexcept override { return true; }
  bool has_room_for_reports() const noexcept override { return true; }
  bool has_room_for_own_cancels() const noexcept override { return true; }
  bool append(JournalRecord&) noexcept override { return true; }
};

std::vector<wire::OrderRequest> orders(std::size_t count) {
  std::mt19937 random(5);
  std::vector<wire::OrderRequest> requests;
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::int64_t price = 1'000'000 + static_cast<std::int64_t>(random() % 100);
    const auto instrument = static_cast<std::uint32_t>(random() % kInstruments);
    const auto shares = 1 + static_cast<std::uint32_t>(random() % 1000);
    requests.push_back(
        bench_order(i, instrument, price, shares, random() % 2 == 0 ? Side::kBuy : Side::kSell));
  }
  return requests;
}

int run(bool quick) {
  bench::print_environment("risk checks of one order");
  Sink sink;
  trace::TraceWriter trace{trace::TraceOptions{}};
  const auto gateway = std::make_unique<Gateway>(all_limits(), sink, sink, sink, sink, trace);
  StrategySlot& slot = *gateway->slots().assign(kBenchStrategy);
  gateway->on_strategy_connected(0);
  gateway->checks().set_risk_alive(true);
  for (std::uint32_t id = 0; id < kInstruments; ++id)
    quote(*gateway, id, "S" + std::to_string(id), 1'000'000);

  const std::vector<wire::OrderRequest> requests = orders(quick ? 1'000 : 1'000'000);
  bench::Samples samples(requests.size());
  std::size_t refused = 0;
  for (const wire::OrderRequest& request : requests) {
    std::uint32_t row = 0;
    const std::uint64_t begin = tsc_now().value;
    const trading::RejectReason reason = gateway->checks().check_new(slot, request, row);
    const std::uint64_t end = tsc_now().value;
    samples.add(end - begin);
    refused += reason != trading::RejectReason::kNone ? 1 : 0;
  }
  if (refused != 0) {
    std::fprintf(stderr, "%zu of %zu orders were refused: nothing was measured\n", refused,
                 requests.size());
    return 1;
  }
  samples.print("all checks", "1,000 instruments, limit orders, measurement included");
  bench::print_against("all checks, median", samples.median_ns(), kBarNs);
  return 0;
}

}  // namespace
}  // namespace tickpath::oeg

int main(int argc, char** argv) {
  return tickpath::oeg::run(tickpath::bench::is_quick(argc, argv));
}

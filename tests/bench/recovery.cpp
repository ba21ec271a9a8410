// What a standby's takeover spends on its gateway: recover() into the tables that lead, at the end
// of a long day. The table of orders is full, and as many executions are remembered as there is
// room for.
//
// One sample a takeover. Each has its own journal, opened on the files that the first one wrote, as
// a standby has it; opening it is no part of the sample.
#include "oeg/recovery.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include "oeg/config.hpp"
#include "tests/bench/orders.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::oeg {
namespace {

constexpr double kBarNs = 2e6;
constexpr std::uint32_t kInstruments = 1000;

struct Day {
  OegConfig config;
  std::uint32_t executions = 0;
};

struct Ports final : NoFabric {
  using NoFabric::send;
  fix::SendStatus send(const fix::NewOrderSingle&, fix::SendTimes&) override { return sent(); }
  fix::SendStatus send(const fix::OrderCancelRequest&, fix::SendTimes&) override { return sent(); }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest&, fix::SendTimes&) override {
    return sent();
  }
  fix::SendStatus send(const fix::OrderStatusRequest&, fix::SendTimes&) override { return sent(); }
  bool up() const noexcept override { return true; }
  bool takes_orders() const noexcept override { return true; }
  bool behind_gap() const noexcept override { return false; }
  bool congested() const noexcept override { return false; }
  std::uint32_t next_seq() const noexcept override { return seq; }
  fix::SendStatus sent() {
    ++seq;
    return fix::SendStatus::kSent;
  }
  std::uint32_t seq = 1;
};

Day day_of(bool quick, const std::string& journal) {
  Day day;
  day.config.gateway.orders_max = quick ? 64 : 1u << 14;
  day.config.gateway.executions_max = quick ? 1024 : 1u << 18;
  if (quick) day.config.gateway.positions_max = 1u << 12;
  day.config.gateway.limits = all_limits().limits;
  day.config.journal.path = journal;
  day.config.journal.records = quick ? 1u << 12 : 1u << 19;
  day.executions = day.config.gateway.executions_max;
  return day;
}

fix::ExecutionReport report_of(std::uint64_t order, std::uint32_t instrument, Side side) {
  fix::ExecutionReport report;
  report.cl_ord_id = order;
  report.symbol = fix::Symbol::from("S" + std::to_string(instrument));
  report.side = side;
  return report;
}

// Each order is accepted and partly filled, share by share. False: not all of it was booked.
bool trade(Gateway& gateway, const Day& day) {
  constexpr std::uint32_t kShares = 1000;
  const std::uint32_t orders = day.config.gateway.orders_max;
  std::uint32_t seq = 0;
  std::uint64_t execution = 0;
  for (std::uint32_t i = 1; i <= orders; ++i) {
    const wire::OrderRequest order =
        bench_order(i, i % kInstruments, 1'000'000, kShares, i % 2 == 0 ? Side::kBuy : Side::kSell);
    gateway.on_request(0, order);
    fix::ExecutionReport report = report_of(order.order_id, i % kInstruments, order.side);
    report.exec_id = ++execution + (std::uint64_t{1} << 32);
    report.leaves_qty = kShares;
    gateway.reports().on_execution_report(report, {++seq, false, {}});
    report.exec_type = fix::ExecType::kPartialFill;
    report.last_shares = 1;
    report.last_price = {1'000'000};
    for (std::uint32_t filled = 1; filled <= day.executions / orders; ++filled) {
      report.exec_id = ++execution + (std::uint64_t{1} << 32);
      report.cum_qty = filled;
      report.leaves_qty = kShares - filled;
      gateway.reports().on_execution_report(report, {++seq, false, {}});
    }
  }
  return gateway.ledger().open_orders() == orders &&
         gateway.counters().reports.fills.get() == day.executions &&
         gateway.counters().exceptions.get() == 0;
}

std::unique_ptr<Gateway> gateway_of(const Day& day, Ports& ports, JournalPort& journal,
                                    trace::TraceWriter& trace) {
  auto gateway =
      std::make_unique<Gateway>(day.config.gateway_options(), ports, ports, ports, journal, trace);
  (void)gateway->slots().assign(kBenchStrategy);
  return gateway;
}

bool write_day(const Day& day, Ports& ports, trace::TraceWriter& trace) {
  Journal journal(day.config.journal_options());
  const auto gateway = gateway_of(day, ports, journal, trace);
  gateway->on_strategy_connected(0);
  gateway->checks().set_risk_alive(true);
  for (std::uint32_t id = 0; id < kInstruments; ++id)
    quote(*gateway, id, "S" + std::to_string(id), 1'000'000);
  return trade(*gateway, day);
}

int run(bool quick) {
  bench::print_environment("recovery of a standby's gateway");
  const test_support::Folder folder;
  const Day day = day_of(quick, folder / "oeg.journal");
  Ports ports;
  trace::TraceWriter trace{trace::TraceOptions{}};
  if (!write_day(day, ports, trace)) {
    std::fprintf(stderr, "the day is not as it should be: nothing was measured\n");
    return 1;
  }
  JournalOptions options = day.config.journal_options();
  options.to_lead = true;
  bench::Samples samples(quick ? 2 : 20);
  for (std::size_t i = 0; i < (quick ? 2u : 20u); ++i) {
    Journal journal(options);
    const auto gateway = gateway_of(day, ports, journal, trace);
    const std::uint64_t begin = tsc_now().value;
    const RecoveryResult result = recover(*gateway, journal, ports.seq, 0);
    samples.add(tsc_now().value - begin);
    if (result.open_orders == day.config.gateway.orders_max) continue;
    std::fprintf(stderr, "%lu orders were recovered\n",
                 static_cast<unsigned long>(result.open_orders));
    return 1;
  }
  std::printf("%u open orders in %u instruments, %u executions\n", day.config.gateway.orders_max,
              kInstruments, day.executions);
  samples.print("recover()");
  bench::print_against("recover(), slowest", samples.percentile_ns(100), kBarNs);
  return 0;
}

}  // namespace
}  // namespace tickpath::oeg

int main(int argc, char** argv) {
  return tickpath::oeg::run(tickpath::bench::is_quick(argc, argv));
}

// The memory of a price store for a whole market's busiest hour: what
// common/stores/prices/DESIGN.md plans for trades and quotes of 8,000 instruments, filled as it
// assumes, against what it takes. An hour at half the rate goes before, so that rings have grown
// and wrapped. At the end every instrument's last hour is read by READ and counted: nothing younger
// may be missing.
//
//   price_memory [--instruments N] [--trades N] [--quotes N]   entries an instrument, on average
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/random.hpp"
#include "common/clock/clock.hpp"
#include "common/stores/prices/price_client.hpp"
#include "common/stores/prices/price_store.hpp"
#include "common/wire/directory.hpp"
#include "tests/bench/one_host.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace tickpath;
using wire::HistoryKind;

// Sizes for the busiest hour and 8,000 instruments (DESIGN.md, "Memory").
constexpr double kInstrumentsPlanned = 8'000;
constexpr double kTradesPlanned = 4.8e6;
constexpr double kQuotesPlanned = 2.5e7;
constexpr double kBusiestShare = 0.01;  // of either
constexpr std::uint64_t kHourNs = 3'600'000'000'000;
constexpr std::uint64_t kOpenNs = 34'200'000'000'000;
constexpr double kMegabyte = 1e6;

std::string symbol_name(std::uint32_t id) { return "S" + std::to_string(id); }

// Activity falls with the power of the rank at which the busiest has its share.
std::vector<double> weights(std::uint32_t instruments) {
  const double share = std::max(kBusiestShare, 1.5 / instruments);
  std::vector<double> of_rank(instruments);
  double low = 0;
  double high = 3;
  for (int i = 0; i < 60; ++i) {
    const double power = (low + high) / 2;
    double sum = 0;
    for (std::uint32_t rank = 0; rank < instruments; ++rank)
      sum += of_rank[rank] = std::pow(rank + 1, -power);
    (1 / sum < share ? low : high) = power;
  }
  return of_rank;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;  // the second figure
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Kept {  // entries of the last hour
  std::uint32_t trades = 0;
  std::uint32_t quotes = 0;
};

class Market {
 public:
  Market(prices::PriceStore& store, std::uint32_t instruments)
      : kept(instruments),
        store_(store),
        draw_(weights(instruments)),
        size_(instruments),
        trades_((kTradesPlanned * instruments) / kInstrumentsPlanned),
        quotes_((kQuotesPlanned * instruments) / kInstrumentsPlanned) {
    for (std::uint32_t id = 0; id < instruments; ++id)
      store.list(wire::symbol_word(symbol_name(id)), id);
  }

  // So much of the busiest hour's rate, evenly from `begin` on; each instrument at random.
  void hour(double rate, std::uint64_t begin_ns, bool is_last) {
    const auto count = static_cast<std::uint64_t>(rate * (trades_ + quotes_));
    for (std::uint64_t number = 0; number < count; ++number) {
      const auto passed = static_cast<double>(number) / static_cast<double>(count);
      const std::uint64_t now =
          begin_ns + static_cast<std::uint64_t>(passed * static_cast<double>(kHourNs));
      const std::uint32_t id = draw_.draw(random_);
      const bool trade = random_.chance(trades_ / (trades_ + quotes_));
      store_.on_update(update(id, trade, now));
      if (is_last) ++(trade ? kept[id].trades : kept[id].quotes);
    }
    store_.show_clock(begin_ns + kHourNs);
  }

  std::vector<Kept> kept;

 private:
  wire::BookUpdate update(std::uint32_t id, bool trade, std::uint64_t now) {
    wire::BookUpdate made{};
    made.trace_id = ++number_;
    made.exchange_time_ns = now;
    made.instrument_id = id;
    made.price = 100'0000;
    made.shares = 100;
    made.kind = trade ? wire::UpdateKind::kTrade : wire::UpdateKind::kAdd;
    made.best_bid = 100'0000;
    made.best_ask = 100'0100;
    if (!trade) ++size_[id];  // a trade leaves the quote as it was
    made.best_bid_shares = made.best_ask_shares = size_[id];
    return made;
  }

  prices::PriceStore& store_;
  Random random_{11};
  AliasTable draw_;
  std::vector<std::uint32_t> size_;  // of its quote
  double trades_;                    // of the busiest hour
  double quotes_;
  std::uint64_t number_ = 0;
};

// Lines that the rings have at the end, of one kind.
std::uint64_t lines_in_rings(const prices::PriceStore& store, HistoryKind kind) {
  const auto& info = *reinterpret_cast<const wire::StoreInfo*>(store.memory());
  const auto* rows = reinterpret_cast<const wire::PriceRow*>(store.memory() + info.rows_offset);
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < info.rows; ++row)
    sum += wire::RingHead::depth_of(rows[row].rings[static_cast<std::size_t>(kind)].location);
  return sum;
}

// Instruments of which not all of the last hour is there, by READ as any other program would.
std::uint64_t short_of(prices::PriceClient& client, const std::vector<Kept>& kept, HistoryKind kind,
                       std::uint64_t from_ns) {
  std::uint64_t missing = 0;
  std::vector<wire::HistoryLine> lines;
  for (std::uint32_t id = 0; id < kept.size(); ++id) {
    const std::uint32_t expected = kind == HistoryKind::kTrades ? kept[id].trades : kept[id].quotes;
    if (expected == 0) continue;
    lines.clear();
    const prices::RangeAnswer answer = client.range(
        symbol_name(id), {.kind = kind, .from_ns = from_ns}, lines, /*timeout_ms=*/10'000);
    TICKPATH_CHECK(answer.status == prices::PriceStatus::kOk, "the range is read");
    if (lines.size() != expected || answer.overwritten) ++missing;
  }
  return missing;
}

void print_kind(const char* name, const prices::PriceStore& store, HistoryKind kind,
                std::uint64_t younger, std::uint64_t missing) {
  const auto& info = *reinterpret_cast<const wire::StoreInfo*>(store.memory());
  const auto lines = static_cast<double>(info.lines[static_cast<std::size_t>(kind)]);
  const auto rings = static_cast<double>(lines_in_rings(store, kind));
  std::printf("%-8s %.0f MB, %.0f lines: %.1f %% in rings, %.1f %% younger than an hour\n", name,
              lines * sizeof(wire::HistoryLine) / kMegabyte, lines, 100 * rings / lines,
              100 * static_cast<double>(younger) / lines);
  std::printf("%-8s instruments that lack some of it: %llu\n", "",
              static_cast<unsigned long long>(missing));
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("memory of a price store, the busiest hour of a whole market");
  prices::StoreOptions options;
  options.instruments =
      static_cast<std::uint32_t>(bench::option(argc, argv, "--instruments", quick ? 80 : 8'000));
  options.trades = static_cast<std::uint32_t>(bench::option(argc, argv, "--trades", 1'500));
  options.quotes = static_cast<std::uint32_t>(bench::option(argc, argv, "--quotes", 7'800));
  // Not what is measured, and nothing of them is to be overwritten: no more than trades.
  options.bars_1s = options.trades;
  options.bars_1m = 128;
  const std::uint64_t before = resident_bytes();
  const auto device = rdma::open_device("shm", "");
  prices::PriceStore store(*device, options, options.instruments, "prices");
  Market market(store, options.instruments);
  const TscTicks start = tsc_now();
  market.hour(0.5, kOpenNs, false);
  market.hour(1, kOpenNs + kHourNs, true);
  const double per_update =
      static_cast<double>(clock::TickConverter().to_ns(tsc_now() - start)) /
      static_cast<double>(store.counters().trades.get() + store.counters().quotes.get());
  const std::uint64_t after = resident_bytes();

  const rdma::Grant grant = store.grant();
  const bench::Ends ends = bench::connect_ends(*device, {&grant, 1});
  prices::PriceClient client(*device, "client");
  client.attach(*ends.there, ends.there->extras()[0]);
  std::uint64_t trades = 0;
  std::uint64_t quotes = 0;
  for (const Kept& each : market.kept) {
    trades += each.trades;
    quotes += each.quotes;
  }
  const std::uint64_t from = kOpenNs + kHourNs;
  const std::uint64_t trades_short = short_of(client, market.kept, HistoryKind::kTrades, from);
  const std::uint64_t quotes_short = short_of(client, market.kept, HistoryKind::kQuotes, from);
  client.detach();

  std::printf("%u instruments, the busiest with %.2f %% of all\n", options.instruments,
              100.0 * (market.kept[0].trades + market.kept[0].quotes) /
                  static_cast<double>(trades + quotes));
  print_kind("trades", store, HistoryKind::kTrades, trades, trades_short);
  print_kind("quotes", store, HistoryKind::kQuotes, quotes, quotes_short);
  std::printf("planned  %.0f MB of both\n",
              options.instruments * 9'300.0 * sizeof(wire::HistoryLine) / kMegabyte);
  std::printf("store    %.0f MB with bars, rows and index; resident in memory %.0f MB\n",
              static_cast<double>(store.bytes()) / kMegabyte,
              static_cast<double>(after - before) / kMegabyte);
  std::printf(
      "moves of rings %llu; younger than an hour overwritten, at any time: %llu; an entry took "
      "%.0f "
      "ns\n",
      static_cast<unsigned long long>(store.counters().moves.get()),
      static_cast<unsigned long long>(store.counters().overwritten.get()), per_update);
  const bool kept = trades_short + quotes_short + store.counters().overwritten.get() == 0;
  std::printf("an hour of every instrument is kept at any time: %s\n", kept ? "met" : "NOT met");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(run, argc, argv); }

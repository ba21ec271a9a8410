// One thread writes as quickly as it can, others read: the client over the fabric, and this
// process's own memory. Entry i of a ring is a function of i, so that a reader can tell whether
// what it got is entry i, whole, and nothing else. A reader without the looks at the head that
// frame an access is shown to be caught by the same check.
//
// TICKPATH_STRESS_SECONDS: how long each test takes; less than half a second by default.
// TICKPATH_STRESS_READS: rows, or ranges of bars, that a test reads at least, however long it
// takes.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "common/rdma/shm/freedoms.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/prices/store_fixture.hpp"

namespace tickpath::prices::test {
namespace {

using wire::HistoryKind;

std::chrono::milliseconds duration() {
  const char* const text = std::getenv("TICKPATH_STRESS_SECONDS");
  return text == nullptr ? std::chrono::milliseconds(400) : std::chrono::seconds(std::atoi(text));
}

std::uint64_t reads_wanted() {
  const char* const text = std::getenv("TICKPATH_STRESS_READS");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

// The update of trade `number` of an instrument, from 1.
wire::BookUpdate numbered_trade(std::uint32_t id, std::uint64_t number) {
  wire::BookUpdate update =
      trade_of(id, number, kOpen + number * 1'000, static_cast<std::uint32_t>(number * 7 + id), 3);
  update.best_bid = static_cast<std::uint32_t>(number);
  update.best_ask = static_cast<std::uint32_t>(number * 5 + 1);
  update.best_bid_shares = static_cast<std::uint32_t>(number * 11);
  update.best_ask_shares = static_cast<std::uint32_t>(number * 13);
  return update;
}

bool is_trade_number(const wire::HistoryLine& line, std::uint32_t id, std::uint64_t number) {
  const auto trade = entry_of<wire::PriceTrade>(line);
  return line.number == number && trade.trace_id == number &&
         trade.price == static_cast<std::uint32_t>(number * 7 + id) && trade.shares == 3 &&
         trade.time_ns == kOpen + number * 1'000 && trade.kind == wire::UpdateKind::kTrade &&
         line.payload[4] == 0;
}

// As its price says.
std::uint32_t instrument_of(const wire::HistoryLine& line) {
  return entry_of<wire::PriceTrade>(line).price - static_cast<std::uint32_t>(line.number * 7);
}

bool is_quote_number(const wire::HistoryLine& line, std::uint64_t number) {
  const auto quote = entry_of<wire::PriceQuote>(line);
  return line.number == number && quote.trace_id == number &&
         quote.bid == static_cast<std::uint32_t>(number) &&
         quote.ask == static_cast<std::uint32_t>(number * 5 + 1) &&
         quote.bid_shares == static_cast<std::uint32_t>(number * 11) &&
         quote.ask_shares == static_cast<std::uint32_t>(number * 13);
}

// Everything in the row is of the same trade.
bool is_whole(const wire::LatestPrices& latest, std::uint32_t id) {
  const std::uint64_t number = latest.trade.trace_id;
  return latest.trade.price == static_cast<std::uint32_t>(number * 7 + id) &&
         latest.quote.trace_id == number &&
         latest.quote.bid_shares == static_cast<std::uint32_t>(number * 11) &&
         latest.day_bar.trades == number && latest.day_bar.volume == 3 * number &&
         latest.bar_1s.start_ns == latest.trade.time_ns - latest.trade.time_ns % kSecond &&
         latest.bar_1m.close == latest.trade.price;
}

// Instrument 0 is written all the time, the others one after the other: rings move from one size to
// the next until the pool is used up, and are overrun all the time from then on.
class Writing {
 public:
  static constexpr std::uint32_t kInstruments = 512;
  static constexpr std::uint64_t kTradesEach = 3'000;

  static StoreOptions options() {
    StoreOptions options;
    options.instruments = kInstruments;
    options.trades = options.quotes = 256;
    options.bars_1s = options.bars_1m = 16;
    return options;
  }
  explicit Writing(PriceStore& store) {
    for (std::uint32_t id = 0; id < kInstruments; ++id)
      store.list(wire::symbol_word(symbol_name(id)), id);
    thread_ = std::thread([this, &store] { run(store); });
  }
  ~Writing() {
    stop_.store(true);
    thread_.join();
  }
  // The instrument that is written besides 0.
  std::uint32_t current() const { return current_.load(); }

 private:
  void run(PriceStore& store) {
    std::uint64_t first = 0;
    for (std::uint32_t id = 1; !stop_.load(); id = id % (kInstruments - 1) + 1) {
      current_.store(id);
      const std::uint64_t from = written_[id];
      while (written_[id] < from + kTradesEach && !stop_.load()) {
        store.on_update(numbered_trade(id, ++written_[id]));
        if (written_[id] % 4 == 0) store.on_update(numbered_trade(0, ++first));
      }
    }
  }
  std::array<std::uint64_t, kInstruments> written_{};
  std::atomic<std::uint32_t> current_{1};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// What a process does that takes the freedoms of a device; as the environment says afterwards.
class Freedoms {
 public:
  explicit Freedoms(bool taken) {
    if (taken) rdma::detail::take_freedoms(rdma::detail::Freedoms{.seed = 5, .pause = 200});
  }
  ~Freedoms() {
    const char* const text = std::getenv("TICKPATH_SHM_FREEDOMS");
    rdma::detail::take_freedoms(
        text == nullptr ? std::nullopt : std::optional(rdma::detail::parse_freedoms(text)));
  }
};

struct Seen {
  std::uint64_t ranges = 0;
  std::uint64_t entries = 0;
  std::uint64_t wrong = 0;
  std::uint64_t untold = 0;  // entries that are missing although nobody said so
  std::uint64_t empty = 0;   // all were overwritten before they could be read
};

void check_range(const RangeAnswer& answer, HistoryKind kind, std::uint32_t id,
                 const std::vector<wire::HistoryLine>& lines, Seen& seen) {
  ++seen.ranges;
  seen.entries += lines.size();
  if (lines.empty()) ++seen.empty;
  if (answer.first != 0 && !answer.overwritten) ++seen.untold;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t number = answer.first + i + 1;
    if (!(kind == HistoryKind::kTrades ? is_trade_number(lines[i], id, number)
                                       : is_quote_number(lines[i], number)))
      ++seen.wrong;
  }
}

class PriceStress : public testing::TestWithParam<bool> {
 protected:
  Freedoms freedoms_{GetParam()};
};
std::string device_name(const testing::TestParamInfo<bool>& test) {
  return test.param ? "TakingEveryFreedom" : "AsTheyAre";
}
INSTANTIATE_TEST_SUITE_P(Devices, PriceStress, testing::Bool(), device_name);

TEST_P(PriceStress, EveryEntryThatIsHandedOutIsWholeAndNoneIsMissingUntold) {
  PriceStore store(*fabric().device, Writing::options(), Writing::kInstruments, "stress");
  Reading reading(store.grant());
  PriceClient client(*fabric().device, "client");
  client.attach(*reading.there, reading.there->extras()[0]);
  Seen seen;
  std::uint64_t rows = 0;
  std::uint64_t torn_rows = 0;
  {
    Writing writing(store);
    const auto end = std::chrono::steady_clock::now() + duration();
    // Longer where a busy machine lets nobody read.
    const auto over = [&] {
      const auto now = std::chrono::steady_clock::now();
      return now >= end && rows >= reads_wanted() &&
             (rows > 10 || now >= end + test_support::kPatience);
    };
    std::vector<wire::HistoryLine> lines;
    for (std::uint64_t round = 0; !over(); ++round) {
      const std::uint32_t id = round % 3 == 0 ? 0 : writing.current();
      const HistoryKind kind = round % 2 == 0 ? HistoryKind::kTrades : HistoryKind::kQuotes;
      const RangeAnswer answer = client.range(symbol_name(id), {.kind = kind}, lines, 10'000);
      if (answer.status == PriceStatus::kNothingYet || answer.status == PriceStatus::kTorn)
        continue;
      ASSERT_EQ(answer.status, PriceStatus::kOk) << to_string(answer.status);
      check_range(answer, kind, id, lines, seen);
      wire::LatestPrices latest;
      const PriceStatus got = client.get(symbol_name(id), latest, 10'000);
      if (got == PriceStatus::kTorn) continue;
      ASSERT_EQ(got, PriceStatus::kOk) << to_string(got);
      ++rows;
      torn_rows += is_whole(latest, id) ? 0 : 1;
    }
  }
  EXPECT_EQ(seen.wrong, 0u) << "of " << seen.entries << " entries";
  EXPECT_EQ(seen.untold, 0u) << "of " << seen.ranges << " ranges";
  EXPECT_EQ(torn_rows, 0u) << "of " << rows << " rows";
  EXPECT_GT(seen.entries, seen.ranges);
  EXPECT_GT(rows, 10u);
  EXPECT_GT(store.counters().moves.get(), 2u);
  RecordProperty("entries", static_cast<int>(seen.entries));
  RecordProperty("rows", static_cast<int>(rows));
  RecordProperty("tries_again", static_cast<int>(client.torn_reads()));
  std::printf("%llu rows, %llu ranges, %llu entries\n", static_cast<unsigned long long>(rows),
              static_cast<unsigned long long>(seen.ranges),
              static_cast<unsigned long long>(seen.entries));
  client.detach();
}

struct BarsSeen {
  std::uint64_t ranges = 0;
  std::uint64_t holes = 0;
};

// A trade a second, so that each is a bar of its own, for as many seconds as a day has, or until
// `end`.
void read_bars_of_a_day(BarsSeen& seen, std::chrono::steady_clock::time_point end) {
  PriceStore store(*fabric().device, Writing::options(), Writing::kInstruments, "bars");
  store.list(wire::symbol_word(symbol_name(1)), 1);
  Reading reading(store.grant());
  PriceClient client(*fabric().device, "client");
  client.attach(*reading.there, reading.there->extras()[0]);
  std::atomic<bool> stop{false}, over{false};
  std::thread writing([&] {
    auto next = std::chrono::steady_clock::now();
    for (std::uint64_t second = 1; second < 50'000 && !stop.load(); ++second) {
      store.on_update(trade_of(1, second, kOpen + second * kSecond, 10'0000, 100));
      next += std::chrono::microseconds(8);
      while (std::chrono::steady_clock::now() < next) {
      }
    }
    over.store(true);
  });
  std::vector<wire::HistoryLine> lines;
  while (!over.load() && (seen.ranges < reads_wanted() || std::chrono::steady_clock::now() < end)) {
    const RangeAnswer answer =
        client.range(symbol_name(1), {.kind = HistoryKind::kBars1s, .newest = 4}, lines, 10'000);
    if (answer.status != PriceStatus::kOk || lines.empty() || answer.current.trades == 0) continue;
    ++seen.ranges;
    const auto last = entry_of<wire::PriceBar>(lines.back());
    seen.holes += last.start_ns + kSecond < answer.current.start_ns ? 1 : 0;
  }
  stop.store(true);
  writing.join();
  client.detach();
}

// The range of all bars has every one up to the one that still grows, whichever words of a READ
// come first.
TEST_P(PriceStress, NoBarIsMissingBeforeTheOneThatGrows) {
  BarsSeen seen;
  const auto end = std::chrono::steady_clock::now() + duration();
  do {
    read_bars_of_a_day(seen, end);
  } while (seen.ranges < reads_wanted() || std::chrono::steady_clock::now() < end);
  EXPECT_EQ(seen.holes, 0u) << "of " << seen.ranges << " ranges";
  EXPECT_GT(seen.ranges, 0u);
  std::printf("%llu ranges of bars\n", static_cast<unsigned long long>(seen.ranges));
}

// READs the lines and believes their numbers.
class NaiveReader final : public link::OneSidedClient {
 public:
  static constexpr std::size_t kLines = 64;  // as many as the smallest ring has
  NaiveReader() : OneSidedClient(*fabric().device, sizeof(wire::HistoryLine) * kLines, "naive") {}
  void attach(link::Connection& connection, const rdma::RemoteRegion& remote) {
    use(connection);
    remote_ = remote;
  }
  // The lines from `offset` on.
  std::span<const wire::HistoryLine> read(std::uint64_t offset) {
    arrived_ = false;
    rdma::WorkRequest request = read_of(remote_, sizeof(wire::HistoryLine) * kLines);
    request.remote_address += offset;
    EXPECT_EQ(post(request), rdma::PostStatus::kOk);
    while (!arrived_) connection().poll();
    return {reinterpret_cast<const wire::HistoryLine*>(memory()), kLines};
  }

 private:
  void on_answer(bool success) noexcept override { arrived_ = success; }
  rdma::RemoteRegion remote_;
  bool arrived_ = false;
};

TEST(NaivePriceReader, IsCaughtByTheSameCheck) {
  if (link::test::over_network())
    GTEST_SKIP() << "whether a device takes its freedoms is its own affair";
  const Freedoms freedoms(true);
  PriceStore store(*fabric().device, Writing::options(), Writing::kInstruments, "stress");
  Reading reading(store.grant());
  NaiveReader naive;
  naive.attach(*reading.there, reading.there->extras()[0]);
  const auto& info = *reinterpret_cast<const wire::StoreInfo*>(store.memory());
  const auto* const rows =
      reinterpret_cast<const wire::PriceRow*>(store.memory() + info.rows_offset);
  std::uint64_t wrong = 0;
  Writing writing(store);
  const auto read_where_it_writes = [&] {
    const std::uint32_t id = writing.current();
    const wire::RingHead head = load_head(rows[id].rings[0]);
    const std::uint64_t depth = wire::RingHead::depth_of(head.location);
    if (depth == 0) return;
    const std::uint64_t line =
        wire::RingHead::line_of(head.location) +
        (head.written & (depth - 1)) / NaiveReader::kLines * NaiveReader::kLines;
    for (const wire::HistoryLine& each :
         naive.read(info.lines_offset[0] + line * sizeof(wire::HistoryLine)))
      if (each.number != 0 && !is_trade_number(each, instrument_of(each), each.number)) ++wrong;
  };
  (void)test_support::turn_until([&] { return wrong != 0; }, read_where_it_writes);
  EXPECT_NE(wrong, 0u);
}

// Reads the writer's memory by the same rules, in this process: for ThreadSanitizer above all.
TEST(LocalPriceReader, SeesWholeEntriesOnly) {
  PriceStore store(*fabric().device, Writing::options(), Writing::kInstruments, "stress");
  const auto& info = *reinterpret_cast<const wire::StoreInfo*>(store.memory());
  const auto* const rows =
      reinterpret_cast<const wire::PriceRow*>(store.memory() + info.rows_offset);
  const auto* const lines =
      reinterpret_cast<const wire::HistoryLine*>(store.memory() + info.lines_offset[0]);
  std::uint64_t wrong = 0;
  std::uint64_t entries = 0;
  {
    Writing writing(store);
    const auto end = std::chrono::steady_clock::now() + duration() / 2;
    std::vector<wire::HistoryLine> copy;
    for (std::uint64_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
      const std::uint32_t id = round % 3 == 0 ? 0 : writing.current();
      const wire::RingHead& head = rows[id].rings[0];
      const wire::RingHead before = load_head(head);
      const std::uint64_t depth = wire::RingHead::depth_of(before.location);
      const std::uint64_t begin = std::min(oldest_entry(before), before.written);
      copy.clear();
      for (std::uint64_t index = begin; index < before.written; ++index)
        copy.push_back(
            load_line(lines[wire::RingHead::line_of(before.location) + (index & (depth - 1))]));
      const WholeEntries whole =
          whole_entries(before.location, begin, before.written, before, load_head(head));
      for (std::uint64_t index = whole.begin; index < whole.end; ++index, ++entries)
        wrong += is_trade_number(copy[index - begin], id, index + 1) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << entries;
  EXPECT_GT(entries, 1'000u);
}

}  // namespace
}  // namespace tickpath::prices::test

// Several days in one stream, in every format that can hold them. A weekend and a change to
// daylight-saving time lie between the days, or a midnight. Symbols come and go. Every tool shows
// the same messages, times and prices for a day.
//
// LOBSTER has a file for each day and symbol, and no nights. ITCH has no dates: its days are
// numbered one by one.
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "common/feeds/recordings/deep_recording.hpp"
#include "tests/integration/market_day_files.hpp"
#include "tests/support/csv.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support::recorded_days {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::uint64_t kDayNs = 86'400ull * 1'000'000'000;

// "81:30:00.000000010": hours since the first midnight.
std::string time_text(std::uint64_t ns) {
  std::array<char, 32> text;
  const std::uint64_t seconds = ns / 1'000'000'000;
  std::snprintf(text.data(), text.size(), "%02llu:%02llu:%02llu.%09llu",
                static_cast<unsigned long long>(seconds / 3'600),
                static_cast<unsigned long long>(seconds / 60 % 60),
                static_cast<unsigned long long>(seconds % 60),
                static_cast<unsigned long long>(ns % 1'000'000'000));
  return text.data();
}

// Prices of 1/10,000.
long price_of(const json& number) { return std::lround(number.get<double>() * 10'000); }

class DaysOf : public ::testing::TestWithParam<DaysFormat> {
 protected:
  // From 0, as the tools count it.
  std::uint64_t number_of(std::size_t day) const {
    const std::uint64_t first = recording_.days[0].market.midnight_ns;
    return recording_.passes_days ? (recording_.days[day].market.midnight_ns - first) / kDayNs
                                  : day;
  }
  // Since the first midnight: when the day's market is quiet.
  std::uint64_t quiet_ns(std::size_t day) const {
    return number_of(day) * kDayNs + recording_.days[day].quiet_ns;
  }
  // The messages that a replay has sent by then.
  std::uint64_t messages_by(std::uint64_t time_ns) const {
    std::unique_ptr<itch::RecordingReader> reader;
    if (recording_.deep)
      reader = std::make_unique<iex::DeepRecording>(recording_.files);
    else
      reader = itch::open_recording(recording_.files);
    std::uint64_t count = 0;
    for (itch::RecordedMessage m; reader->next(m) == itch::ReadStatus::kMessage;)
      count += m.timestamp_ns <= time_ns ? 1 : 0;
    EXPECT_EQ(reader->damage(), "");
    return count;
  }
  json inspected(const std::string& files) const {
    const Finished finished = run({program("tickpath"), "inspect", "--json", files});
    EXPECT_THAT(finished, Ends(0));
    return json::parse(finished.output);
  }
  void expect_days(const json& told, bool dated) const {
    const json& each = told.at("each_day");
    ASSERT_EQ(each.size(), recording_.days.size()) << told.dump();
    for (std::size_t i = 0; i < each.size(); ++i) {
      const RecordedDay& day = recording_.days[i];
      const std::uint64_t midnight_ns = number_of(i) * kDayNs;
      EXPECT_EQ(each[i].at("day"), number_of(i) + 1);
      EXPECT_EQ(each[i].at("date"), dated ? day.market.date : "");
      EXPECT_EQ(each[i].at("first_ns"), midnight_ns + day.first_ns) << "day " << i + 1;
      EXPECT_EQ(each[i].at("last_ns"), midnight_ns + day.last_ns) << "day " << i + 1;
    }
    std::set<std::string> symbols;
    for (const RecordedDay& day : recording_.days)
      symbols.insert(day.market.symbols.begin(), day.market.symbols.end());
    EXPECT_EQ(told.at("symbols"), symbols);
    EXPECT_EQ(told.at("days"), number_of(each.size() - 1) + 1);
    EXPECT_EQ(told.at("time_reversals"), 0);
    EXPECT_EQ(told.at("crossed"), 0);
    EXPECT_EQ(told.at("undecodable"), 0);
    EXPECT_EQ(told.at("damage"), "");
  }
  std::vector<std::string> of_feed() const {
    if (!recording_.deep) return {};
    return {"--set", "sim:feed.protocol=iex_deep10", "--set", "mdh:feed.protocol=iex_deep10"};
  }

  PipelineFolder folder_;
  DaysRecording recording_ = GetParam().write(folder_.path());
};
INSTANTIATE_TEST_SUITE_P(Formats, DaysOf, ::testing::ValuesIn(formats_of_days()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(DaysOf, AreInspectedAlikeBeforeAndAfterTheyAreConverted) {
  const json before = inspected(recording_.files);
  expect_days(before, recording_.dated);
  const std::string converted = folder_ / "converted.itch50";
  ASSERT_THAT(run({program("tickpath"), "convert", recording_.files, converted}), Ends(0));
  const json after = inspected(converted);
  expect_days(after, false);
  if (recording_.deep) return;  // other messages
  EXPECT_EQ(after.at("messages"), before.at("messages"));
  EXPECT_EQ(after.at("by_type"), before.at("by_type"));
  for (std::size_t i = 0; i < recording_.days.size(); ++i)
    EXPECT_EQ(after.at("each_day")[i].at("messages"), before.at("each_day")[i].at("messages"));
}

// sim and mdh, by hand.
class ReplayedDays : public DaysOf {
 protected:
  void start() {
    const auto one = [&](const std::string& name, std::vector<std::string> settings) {
      if (recording_.deep) settings.push_back("feed.protocol=iex_deep10");
      return folder_.begin(name, settings);
    };
    mdh_ = one("mdh", {});
    sim_ = one("sim", {"replay.file=" + recording_.files, "replay.max_idle=0s",
                       "replay.max_rate=20000", "replay.from=" + time_text(quiet_ns(0))});
    // Its heartbeats are heard.
    until([&] { return counter("feed", "heartbeats") > 0; });
  }
  json asked(const std::string& name, const std::string& command) const {
    try {
      return control::admin_command(control::admin_path(folder_.run_dir(), name),
                                    {{"command", command}});
    } catch (const Error&) {
      return json::object();  // not up yet
    }
  }
  std::uint64_t counter(const std::string& group, const std::string& name) const {
    const json all = asked("mdh", "counters");
    if (!all.contains("counters") || !all.at("counters").contains(group)) return 0;
    return all.at("counters").at(group).value(name, std::uint64_t{0});
  }
  json replay() const { return asked("sim", "status").value("replay", json::object()); }
  void until(const std::function<bool()>& done) const {
    ASSERT_TRUE(turn_until(done, [] { std::this_thread::sleep_for(5ms); }))
        << replay().dump() << sim_->output() << mdh_->output();
  }
  void control(const std::vector<std::string>& action) const {
    std::vector<std::string> command{program("tickpath"), "replay"};
    command.insert(command.end(), action.begin(), action.end());
    command.insert(command.end(), {"--run-dir", folder_.run_dir()});
    EXPECT_THAT(run(command, folder_.path()), Ends(0));
  }
  Finished prices_of(const std::string& symbol) const {
    return run({program("tickpath"), "prices", symbol, "--json", "--run-dir", folder_.run_dir()});
  }
  // Every symbol that a day has named so far.
  void expect_prices(const RecordedDay& day) {
    named_.insert(day.market.symbols.begin(), day.market.symbols.end());
    for (const std::string& symbol : named_) {
      SCOPED_TRACE(symbol);
      const Finished finished = prices_of(symbol);
      if (!day.market.at_quiet.contains(symbol)) {
        expect_nothing(finished);
        continue;
      }
      ASSERT_THAT(finished, Ends(0));
      expect_symbol(json::parse(finished.output).at(0), day, day.market.at_quiet.at(symbol));
    }
  }
  static void expect_symbol(const json& row, const RecordedDay& day, const SymbolDay& truth) {
    ASSERT_TRUE(row.contains("trade") && row.contains("quote") && row.contains("day"))
        << row.dump();
    EXPECT_EQ(row.at("trade").at("time").at("ns"), day.open_ns + truth.last_trade_after_open_ns);
    EXPECT_EQ(price_of(row.at("trade").at("price")), truth.close);
    const json& bar = row.at("day");
    EXPECT_EQ(price_of(bar.at("open")), truth.open);
    EXPECT_EQ(price_of(bar.at("high")), truth.high);
    EXPECT_EQ(price_of(bar.at("low")), truth.low);
    EXPECT_EQ(price_of(bar.at("close")), truth.close);
    EXPECT_EQ(bar.at("volume"), truth.volume);
    EXPECT_EQ(bar.at("trades"), truth.trades);
    const json& quote = row.at("quote");
    EXPECT_EQ(quote.at("state"), "good");
    EXPECT_EQ(price_of(quote.at("bid").at("price")), truth.bid);
    EXPECT_EQ(quote.at("bid").at("shares"), truth.bid_shares);
    EXPECT_EQ(price_of(quote.at("ask").at("price")), truth.ask);
    EXPECT_EQ(quote.at("ask").at("shares"), truth.ask_shares);
  }
  // The symbol was there on another day. Databento's orders rest until the next one begins: their
  // end is an empty quote of that.
  static void expect_nothing(const Finished& finished) {
    if (finished.exit_code != 0) {
      EXPECT_THAT(finished, Ends(1, "nothing yet"));
      return;
    }
    const json row = json::parse(finished.output).at(0);
    EXPECT_FALSE(row.contains("trade") || row.contains("day")) << row.dump();
    EXPECT_TRUE(row.at("quote").at("bid").is_null()) << row.dump();
    EXPECT_TRUE(row.at("quote").at("ask").is_null()) << row.dump();
  }

  std::unique_ptr<Process> mdh_, sim_;
  std::set<std::string> named_;
};
INSTANTIATE_TEST_SUITE_P(Formats, ReplayedDays, ::testing::ValuesIn(formats_of_days()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ReplayedDays, HaveEachItsMessagesAndPricesWhereASeekLeads) {
  start();
  for (std::size_t day = 0; day < recording_.days.size(); ++day) {
    SCOPED_TRACE("day " + std::to_string(day + 1));
    if (day == 0)
      control({"start", "--no-wait"});
    else
      control({"seek", time_text(quiet_ns(day))});
    const std::uint64_t messages = messages_by(quiet_ns(day));
    until([&] { return replay().value("position_ns", std::uint64_t{0}) >= quiet_ns(day); });
    until([&] { return counter("feed", "messages") >= messages; });
    until([&] { return replay().value("messages_sent", std::uint64_t{0}) >= messages; });
    EXPECT_EQ(replay().at("position_ns"), quiet_ns(day));
    EXPECT_EQ(replay().at("messages_sent"), messages);
    EXPECT_EQ(counter("feed", "messages"), messages);
    EXPECT_EQ(replay().at("state"), "running");
    expect_prices(recording_.days[day]);
  }
  for (Process* process : {sim_.get(), mdh_.get()}) {
    process->signal(SIGTERM);
    EXPECT_THAT(process->wait(kPatience), Ends(0));
  }
}

// A share of each symbol and day is bought. On a feed of DEEP sim refuses all orders.
class TradedDays : public DaysOf {
 protected:
  void SetUp() override { folder_.trade_only_by("one_share_a_day"); }
  // "symbol price time-of-day" of each fill.
  std::multiset<std::string> fills() const {
    std::multiset<std::string> all;
    const std::string csv =
        run({program("tickpath"), "fills", "--run-dir", folder_ / "run1"}).output;
    for (const CsvRow& row : rows_of_csv(csv))
      all.insert(row.at("symbol") + " " + row.at("price") + " " + row.at("exchange_time"));
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, TradedDays, ::testing::ValuesIn(formats_of_days()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(TradedDays, AreInTheLedgerOfADeterministicReplay) {
  std::vector<std::string> command{program("tickpath"),
                                   "replay",
                                   "--deterministic",
                                   folder_.config_dir(),
                                   "--run-dir",
                                   folder_ / "run1",
                                   "--set",
                                   "sim:replay.file=" + recording_.files,
                                   "--set",
                                   "sim:replay.max_idle=100ms"};
  const std::vector<std::string> feed = of_feed();
  command.insert(command.end(), feed.begin(), feed.end());
  ASSERT_THAT(run(command, folder_.path(), kPatience), Ends(0, "everything is accounted for"));
  const json mdh = json::parse(read_file(folder_ / "run1/mdh.summary.json"));
  EXPECT_EQ(mdh.at("feed_messages"), messages_by(~std::uint64_t{0}));

  std::map<std::string, HeldPosition> expected, held;
  std::multiset<std::string> bought;
  for (const RecordedDay& day : recording_.days)
    for (const auto& [symbol, truth] : day.market.at_quiet) {
      if (recording_.deep) continue;
      expected[symbol].shares += 1;
      expected[symbol].cash -= truth.first_ask;
      std::array<char, 32> price;
      std::snprintf(price.data(), price.size(), "%u.%04u", truth.first_ask / 10'000,
                    truth.first_ask % 10'000);
      bought.insert(symbol + " " + price.data() + " " +
                    time_text(day.open_ns + truth.first_ask_after_open_ns));
    }
  const json ledger = json::parse(read_file(folder_ / "run1/sim.ledger.json"));
  for (const json& row : ledger.at("rows"))
    if (row.at("fills") != 0)
      held[row.at("symbol").get<std::string>()] = {row.at("position_shares").get<std::int64_t>(),
                                                   row.at("cash").get<std::int64_t>()};
  EXPECT_EQ(held, expected);
  EXPECT_EQ(fills(), bought);
  EXPECT_EQ(ledger.at("conservation"), json::array());
}

}  // namespace
}  // namespace tickpath::test_support::recorded_days

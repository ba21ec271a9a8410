// Several days in one stream: where each begins, and its times in every format.
#include "common/feeds/itch/trading_day.hpp"

#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tests/unit/itch/dbn_messages.hpp"

namespace tickpath::itch {
namespace {

using test::mbo;
using ::testing::ElementsAre;

constexpr std::uint64_t kHourNs = 3'600'000'000'000;
constexpr std::uint64_t kDayNs = TradingDay::kDayNs;

// Which of the events begin a day.
std::string days_of(std::string_view events) {
  TradingDay day;
  std::string begun;
  for (const char code : events) begun += day.on_event(code) == DayBreak::kDay ? code : '.';
  return begun;
}

TEST(TradingDay, AnotherBeginsBehindTheEndOfOneAndNowhereElse) {
  EXPECT_EQ(days_of("OSQMECOSQMEC"), "......O.....");
  EXPECT_EQ(days_of("OOS"), "...") << "a sender that began again";
  EXPECT_EQ(days_of("QCO"), "..O");
  EXPECT_EQ(days_of("EDO"), "..O") << "a midnight lies between";
  // A snapshot has the day's last event alone.
  EXPECT_EQ(days_of("MEQM"), "..Q.");
}

TEST(TradingDay, TimesGoOnOverMidnightsAndDays) {
  TradingDay day;
  const auto at = [&day](std::uint64_t hours) {
    const DayBreak what = day.on_time(hours * kHourNs);
    return std::pair(what == DayBreak::kMidnight, day.time_ns() / kHourNs);
  };
  EXPECT_EQ(at(22), std::pair(false, std::uint64_t{22}));
  EXPECT_EQ(at(23), std::pair(false, std::uint64_t{23}));
  EXPECT_EQ(at(1), std::pair(true, std::uint64_t{25}));
  EXPECT_EQ(at(20), std::pair(false, std::uint64_t{20})) << "so the one before was off";
  EXPECT_EQ(at(19), std::pair(false, std::uint64_t{19})) << "a clock that runs back a little";
  EXPECT_EQ(day.on_event(SystemEvent::kMidnight), DayBreak::kMidnight);
  EXPECT_EQ(at(19), std::pair(false, std::uint64_t{43})) << "a quiet day has passed";
  (void)day.on_event(SystemEvent::kEndOfMessages);
  EXPECT_EQ(day.on_event(SystemEvent::kStartOfMessages), DayBreak::kDay);
  EXPECT_EQ(at(3), std::pair(false, std::uint64_t{51}));
  EXPECT_EQ(at(16), std::pair(false, std::uint64_t{64})) << "a quiet morning is no mistake";
}

TEST(TradingDay, AMessageWithoutATimeIsOfTheTimeBefore) {
  TradingDay day;
  const auto at = [&day](std::uint64_t hours) {
    return std::pair(day.on_time(hours * kHourNs), day.time_ns() / kHourNs);
  };
  EXPECT_EQ(at(14), std::pair(DayBreak::kNone, std::uint64_t{14}));
  EXPECT_EQ(at(0), std::pair(DayBreak::kNone, std::uint64_t{14}));
  EXPECT_EQ(at(15), std::pair(DayBreak::kNone, std::uint64_t{15}));
  EXPECT_EQ(at(1), std::pair(DayBreak::kMidnight, std::uint64_t{25}));
  EXPECT_EQ(at(0), std::pair(DayBreak::kNone, std::uint64_t{25}));
  EXPECT_EQ(at(2), std::pair(DayBreak::kNone, std::uint64_t{26}));
}

TEST(TradingDay, EachGeneratedDayIsADayLater) {
  Generator generator({.symbols = 2, .messages = 900, .days = 3});
  std::uint64_t days = 0, reversals = 0, last_ns = 0;
  for (RecordedMessage message; generator.next(message) == ReadStatus::kMessage;) {
    days += message.begins_day ? 1 : 0;
    reversals += message.timestamp_ns < last_ns ? 1 : 0;
    last_ns = message.timestamp_ns;
    EXPECT_EQ(last_ns % kDayNs, timestamp_ns(message.bytes.data()));
  }
  EXPECT_EQ(days, 2u);
  EXPECT_EQ(reversals, 0u);
  EXPECT_EQ(last_ns / kDayNs, 2u);
}

// An order at each of the hours since the first midnight.
Bytes databento_at(const std::vector<double>& hours) {
  std::vector<test::MboMessage> records;
  for (const double hour : hours) {
    records.push_back(mbo('A', 'B', records.size() + 1, 100, 5));
    records.back().event_time_ns =
        test::kDbnMidnightNs + static_cast<std::uint64_t>(hour * static_cast<double>(kHourNs));
    records.back().receive_time_ns = records.back().event_time_ns;
  }
  return test::file_of(records);
}

void expect_same_when_converted(RecordingReader& original) {
  const test::Collected before = test::collect(original);
  const test::TemporaryFolder folder;
  {
    BinaryFileWriter writer(folder / "converted.itch50");
    for (const Bytes& message : before.messages) writer.write(message);
    writer.finish();
  }
  const test::Collected after = test::collect(*open_recording(folder / "converted.itch50"));
  EXPECT_EQ(after.messages, before.messages);
  EXPECT_EQ(after.times, before.times);
}

TEST(TradingDay, DatabentosDaysHaveTheSameTimesOnceConverted) {
  const std::vector<std::vector<double>> streams{
      {13.5, 20, 37.5, 44},               // regular hours, UTC
      {14.5, 21, 3 * 24 + 13.5, 92},      // over a weekend, and into daylight-saving time
      {13.5, 20, 3 * 24 + 14.5, 93},      // out of it
      {10, 34.5, 35, 24 * 9 + 35.5},      // what hardly ever trades
      {22, 23.9, 24.1, 44.9, 46, 48.01},  // a venue that trades around the clock
      {22, 24, 24, 24.1, 48},             // at midnight sharp
  };
  for (const auto& hours : streams) {
    const Bytes file = databento_at(hours);
    DbnReader reader(test_support::open_memory(file, "days.dbn"));
    expect_same_when_converted(reader);
  }
}

TEST(TradingDay, DatabentoTellsOfEachMidnight) {
  const Bytes file = databento_at({20, 3 * 24 + 13.5});
  DbnReader reader(test_support::open_memory(file, "weekend.dbn"));
  const test::Collected all = test::collect(reader);
  EXPECT_EQ(all.counts.at('S'), 3u);
  EXPECT_THAT(std::vector(all.times.end() - 4, all.times.end()),
              ElementsAre(kDayNs, 2 * kDayNs, 3 * kDayNs, 3 * kDayNs + 27 * kHourNs / 2));
}

}  // namespace
}  // namespace tickpath::itch

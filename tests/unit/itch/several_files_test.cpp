// Several recordings, played as one.
#include "common/feeds/recordings/several_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/dbn_messages.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::mbo;
using test_support::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class SeveralRecordings : public testing::Test {
 protected:
  static constexpr std::uint64_t kHourNs = 3'600'000'000'000;

  // System events at these hours.
  void write(const std::string& name, const std::vector<std::pair<std::uint64_t, char>>& events) {
    BinaryFileWriter writer(folder_ / name);
    for (const auto& [hour, code] : events)
      writer.write(
          test::encoded(SystemEvent{.header = {.timestamp = hour * kHourNs}, .event_code = code}));
    writer.finish();
  }
  std::string both(const std::string& a, const std::string& b) const {
    return folder_ / a + "," + folder_ / b;
  }
  test::Collected read(const std::string& a, const std::string& b) const {
    return test::collect(*open_recording(both(a, b)));
  }
  static std::vector<std::uint64_t> hours(const test::Collected& all) {
    std::vector<std::uint64_t> hours;
    for (const std::uint64_t time : all.times) hours.push_back(time / kHourNs);
    return hours;
  }
  test::TemporaryFolder folder_;
};

TEST_F(SeveralRecordings, OfDaysGoOnADayLater) {
  write("mon", {{4, 'O'}, {16, 'M'}});
  write("tue", {{4, 'O'}, {10, 'Q'}});
  EXPECT_THAT(hours(read("mon", "tue")), ElementsAre(4, 16, 16, 28, 34)) << "and Monday's end";
  const auto recording = open_recording(both("mon", "tue"));
  std::vector<bool> begins_day;
  for (RecordedMessage m; recording->next(m) == ReadStatus::kMessage;)
    begins_day.push_back(m.begins_day);
  EXPECT_THAT(begins_day, ElementsAre(false, false, false, true, false))
      << "a replay waits for no night";
  EXPECT_EQ(recording->file_bytes_total(), std::filesystem::file_size(folder_ / "mon") +
                                               std::filesystem::file_size(folder_ / "tue"));
}

// An extract ends where its writer stopped, without the end of its day.
TEST_F(SeveralRecordings, ADayWithoutItsEndIsEndedBeforeTheNextBegins) {
  write("mon", {{9, 'O'}, {10, 'Q'}});
  write("tue", {{9, 'O'}, {16, 'C'}});
  write("wed", {{9, 'O'}});
  const auto recording = open_recording(both("mon", "tue") + "," + folder_ / "wed");
  std::string events;
  std::vector<std::uint64_t> hours;
  for (RecordedMessage m; recording->next(m) == ReadStatus::kMessage;) {
    events += m.begins_day ? "|" : "";
    events += static_cast<char>(m.bytes.back());
    hours.push_back(m.timestamp_ns / kHourNs);
    EXPECT_EQ(timestamp_ns(m.bytes.data()), m.timestamp_ns % TradingDay::kDayNs);
  }
  EXPECT_EQ(events, "OQC|OC|O");
  EXPECT_THAT(hours, ElementsAre(9, 10, 10, 33, 40, 57));
}

// The second file is of later hours than the first, which ends its day.
TEST_F(SeveralRecordings, ADayBehindTheEndOfAnotherIsADayLaterWhateverItsHours) {
  write("mon", {{9, 'O'}, {10, 'C'}});
  write("tue", {{11, 'O'}, {12, 'C'}});
  EXPECT_THAT(hours(read("mon", "tue")), ElementsAre(9, 10, 35, 36));
}

TEST_F(SeveralRecordings, AMessageWithoutATimeDoesNotTellWhereAFileBegins) {
  write("morning", {{4, 'O'}, {10, 'Q'}});
  write("noon", {{0, 'S'}, {12, 'M'}});
  EXPECT_THAT(hours(read("morning", "noon")), ElementsAre(4, 10, 10, 12));
  write("tue", {{0, 'O'}, {0, 'S'}, {5, 'Q'}});
  EXPECT_THAT(hours(read("morning", "tue")), ElementsAre(4, 10, 10, 24, 24, 29));
}

TEST_F(SeveralRecordings, OfPartsOfADayGoOnWhereTheyAre) {
  write("morning", {{4, 'O'}, {10, 'Q'}});
  write("noon", {{12, 'M'}, {16, 'E'}});
  EXPECT_THAT(hours(read("morning", "noon")), ElementsAre(4, 10, 12, 16));
}

TEST_F(SeveralRecordings, InTheWrongOrderEndThere) {
  write("morning", {{4, 'O'}, {10, 'Q'}});
  write("noon", {{12, 'M'}, {16, 'E'}});
  const auto recording = open_recording(both("noon", "morning"));
  EXPECT_EQ(test::collect(*recording).status, ReadStatus::kEnd)
      << "the next day, as far as is known";
  write("later", {{5, 'Q'}});
  const auto wrong = open_recording(both("noon", "later"));
  EXPECT_EQ(test::collect(*wrong).status, ReadStatus::kDamaged);
  EXPECT_THAT(wrong->damage(), HasSubstr("later: begins before "));
}

TEST_F(SeveralRecordings, AreAllThereBeforeTheFirstIsPlayed) {
  write("mon", {{4, 'O'}});
  EXPECT_THAT(error_of([&] { open_recording(both("mon", "absent")); }),
              HasSubstr("absent: cannot open"));
  EXPECT_THAT(split_files("a,b,c"), ElementsAre("a", "b", "c"));
  write("a,b", {{4, 'O'}});
  EXPECT_THAT(split_files(folder_ / "a,b"), SizeIs(1)) << "a file of this name";
}

// LOBSTER has a file for each day, with the date in its name. A weekend lies between the first two.
class SeveralLobsterFiles : public SeveralRecordings {
 protected:
  SeveralLobsterFiles() {
    for (const char* name : {kFriday, kMonday, "AAPL_2012-06-26_message_1.csv"})
      test_support::write_file(folder_ / name, "34200,1,1,10,500,1\n");
    test_support::write_file(folder_ / "MSFT_2012-06-22_message_1.csv", "34201,1,1,10,500,1\n");
    test_support::write_file(folder_ / "AAPL.csv", "34200,1,1,10,500,1\n");
  }
  static constexpr const char* kFriday = "AAPL_2012-06-22_message_1.csv";
  static constexpr const char* kMonday = "AAPL_2012-06-25_message_1.csv";
};

TEST_F(SeveralLobsterFiles, AreDaysOfTheirDates) {
  const std::string three =
      both(kFriday, kMonday) + "," + folder_ / "AAPL_2012-06-26_message_1.csv";
  const auto recording = open_recording(three);
  std::string events;
  std::vector<std::uint64_t> orders;
  for (RecordedMessage m; recording->next(m) == ReadStatus::kMessage;) {
    const char type = static_cast<char>(m.bytes[0]);
    if (type == 'A') orders.push_back(m.timestamp_ns / kHourNs);
    if (type == 'S')
      events += std::string(m.begins_day ? "|" : "") + static_cast<char>(m.bytes.back());
  }
  EXPECT_EQ(recording->damage(), "");
  EXPECT_THAT(orders, ElementsAre(9, 72 + 9, 96 + 9));
  EXPECT_EQ(events, "OSQMEC|D|D|OSQMEC|OSQMEC") << "midnights of a weekend, and no wait for them";
  EXPECT_EQ(recording->midnight_ns(), 1'340'323'200'000'000'000u);
}

TEST_F(SeveralLobsterFiles, OfOneDateAreNotDaysBehindEachOther) {
  EXPECT_THAT(error_of([&] { open_recording(both(kFriday, "MSFT_2012-06-22_message_1.csv")); }),
              testing::AllOf(HasSubstr("MSFT_2012-06-22_message_1.csv: is of 2012-06-22, and "),
                             HasSubstr("AAPL_2012-06-22_message_1.csv before it of 2012-06-22"),
                             HasSubstr("a file a day, in the order of their dates")));
  EXPECT_THAT(error_of([&] { open_recording(both(kMonday, kFriday)); }),
              HasSubstr("in the order of their dates"));
}

TEST_F(SeveralLobsterFiles, HaveNoDatesWhereOneHasNone) {
  const auto recording = open_recording(both(kFriday, "AAPL.csv"), {.stock = "AAPL"});
  EXPECT_EQ(recording->midnight_ns(), 0u);
  EXPECT_EQ(test::collect(*recording).times.back() / kHourNs, 24u + 9u);
}

// Two days of Databento, in one file or two. Each day gives its ids anew, orders rest over the
// midnight, and the second day begins with a snapshot.
class SeveralDatabentoFiles : public SeveralRecordings {
 protected:
  using Records = std::vector<test::MboMessage>;
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  static test::MboMessage at(std::uint64_t day, std::uint64_t second, test::MboMessage record) {
    record.event_time_ns += day * TradingDay::kDayNs + second * kSecondNs;
    record.receive_time_ns = record.event_time_ns;
    return record;
  }
  static test::MboMessage of_snapshot(test::MboMessage record, bool last = false) {
    record.flags = dbn::kSnapshot | (last ? dbn::kLast : 0);
    return record;
  }
  // The same ids of instruments and orders on both days, and on the second other names.
  static inline const std::vector<dbn::Mapping> kMonday{{2024'10'04, 2024'10'05, 100, "AAA"},
                                                        {2024'10'04, 2024'10'05, 101, "BBB"},
                                                        {2024'10'04, 2024'10'06, 102, "CCC"}};
  static inline const std::vector<dbn::Mapping> kTuesday{{2024'10'05, 2024'10'06, 101, "AAA"},
                                                         {2024'10'05, 2024'10'06, 100, "BBB"}};
  static Records monday() {
    return {at(0, 0, mbo('A', 'B', 1, 10, 50, 100)), at(0, 1, mbo('A', 'B', 1, 20, 60, 101)),
            at(0, 2, mbo('A', 'B', 1, 30, 70, 102)), at(0, 3, mbo('A', 'B', 2, 30, 5, 102))};
  }
  static Records tuesday() {
    return {at(1, 0, of_snapshot(mbo('R', 'N', 0, 0, 0, 102))),
            at(1, 0, of_snapshot(mbo('A', 'B', 1, 30, 70, 102))),
            at(1, 0, of_snapshot(mbo('A', 'B', 2, 30, 5, 102), true)),
            at(1, 1, mbo('A', 'B', 1, 20, 30, 100)),
            at(1, 2, mbo('A', 'B', 1, 10, 20, 101)),
            at(1, 3, mbo('C', 'B', 1, 30, 70, 102))};
  }
  static Records joined(Records first, const Records& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  }
  void write_dbn(const std::string& name, const std::vector<dbn::Mapping>& mappings,
                 const Records& records) {
    test::Bytes bytes =
        test_support::encode_metadata({.dataset = "XNAS.ITCH", .mappings = mappings});
    for (const test::MboMessage& record : records) test_support::append_mbo(record, bytes);
    test::write_file(folder_ / name, bytes);
  }
  void write_csv(const std::string& name, const std::vector<dbn::Mapping>& mappings,
                 const Records& records) {
    std::string text =
        "ts_event,ts_recv,instrument_id,action,side,price,size,order_id,flags,symbol\n";
    for (const test::MboMessage& r : records) {
      const auto mapping = std::ranges::find(mappings, r.instrument, &dbn::Mapping::instrument);
      text += std::to_string(r.event_time_ns) + "," + std::to_string(r.receive_time_ns) + "," +
              std::to_string(r.instrument) + "," + r.action + "," + r.side + "," +
              std::to_string(r.price) + "," + std::to_string(r.size) + "," +
              std::to_string(r.order_id) + "," + std::to_string(r.flags) + "," + mapping->symbol +
              "\n";
    }
    test::write_file(folder_ / name, test::to_bytes(text));
  }
  static void expect_same(const test::Collected& several, const test::Collected& one) {
    EXPECT_EQ(several.status, ReadStatus::kEnd);
    EXPECT_EQ(several.messages, one.messages);
    EXPECT_EQ(several.times, one.times);
  }
};

TEST_F(SeveralDatabentoFiles, KeepOrdersAndLocates) {
  std::vector<dbn::Mapping> both_days = kMonday;
  both_days.insert(both_days.end(), kTuesday.begin(), kTuesday.end());
  write_dbn("one.dbn", both_days, joined(monday(), tuesday()));
  write_dbn("mon.dbn", kMonday, monday());
  write_dbn("tue.dbn", kTuesday, tuesday());
  const auto recording = open_recording(both("mon.dbn", "tue.dbn"));
  expect_same(test::collect(*recording), test::collect(*open_recording(folder_ / "one.dbn")));
  EXPECT_TRUE(recording->names().empty()) << "each symbol is listed by its name";
  EXPECT_THAT(recording->remarks(), HasSubstr("10 records of market by order in all files"));
  EXPECT_THAT(test::texts(*open_recording(both("mon.dbn", "tue.dbn"))),
              ElementsAre("R AAA", "R BBB", "R CCC", "A B 1 50@100000", "A B 2 60@200000",
                          "A B 3 70@300000", "A B 4 5@300000", "?", "D 1", "D 2", "A B 5 30@200000",
                          "A B 6 20@100000", "D 3"));
}

TEST_F(SeveralDatabentoFiles, AreTheSameOnceConverted) {
  write_dbn("mon.dbn", kMonday, monday());
  write_dbn("tue.dbn", kTuesday, tuesday());
  const test::Collected before = read("mon.dbn", "tue.dbn");
  BinaryFileWriter writer(folder_ / "converted.itch50");
  for (const test::Bytes& message : before.messages) writer.write(message);
  writer.finish();
  expect_same(before, test::collect(*open_recording(folder_ / "converted.itch50")));
}

TEST_F(SeveralDatabentoFiles, OfLinesKeepOrdersAndLocates) {
  std::vector<dbn::Mapping> names = kTuesday;
  names.push_back(kMonday.back());
  write_csv("mon.csv", kMonday, monday());
  write_csv("tue.csv", names, tuesday());
  const test::Bytes monday_lines = test::read_file(folder_ / "mon.csv");
  test::Bytes tuesday_lines = test::read_file(folder_ / "tue.csv");
  tuesday_lines.erase(tuesday_lines.begin(), std::ranges::find(tuesday_lines, std::byte{'\n'}) + 1);
  test::Bytes all = monday_lines;
  all.insert(all.end(), tuesday_lines.begin(), tuesday_lines.end());
  test::write_file(folder_ / "one.csv", all);
  expect_same(read("mon.csv", "tue.csv"), test::collect(*open_recording(folder_ / "one.csv")));
}

// The name of a product, which several futures have. The second one comes first on the second day.
TEST_F(SeveralDatabentoFiles, OfLinesDoNotPassANameOnThatSeveralHave) {
  const std::vector<dbn::Mapping> names{{0, 0, 100, "ES.FUT"}, {0, 0, 101, "ES.FUT"}};
  write_csv("one.csv", names,
            {at(0, 0, mbo('A', 'B', 1, 10, 50, 100)), at(1, 0, mbo('A', 'B', 2, 20, 60, 101)),
             at(1, 1, mbo('C', 'B', 1, 10, 20, 100))});
  EXPECT_THAT(
      test::texts(*open_recording(folder_ / "one.csv")),
      ElementsAre("R ES.FUT", "A B 1 50@100000", "?", "R #2T", "A B 2 60@200000", "X 1 20"));
}

// Half a snapshot is in the first file.
TEST_F(SeveralDatabentoFiles, ASnapshotGoesOnOverTheBorder) {
  Records first = joined(monday(), {tuesday()[0], tuesday()[1]});
  const Records all = tuesday();
  std::vector<dbn::Mapping> both_days = kMonday;
  both_days.insert(both_days.end(), kTuesday.begin(), kTuesday.end());
  write_dbn("one.dbn", both_days, joined(monday(), tuesday()));
  write_dbn("a.dbn", both_days, first);
  write_dbn("b.dbn", {}, {all.begin() + 2, all.end()});
  expect_same(read("a.dbn", "b.dbn"), test::collect(*open_recording(folder_ / "one.dbn")));
}

TEST_F(SeveralDatabentoFiles, DoNotMixWithOthers) {
  write_dbn("mon.dbn", kMonday, monday());
  write("tue", {{4, 'O'}});
  EXPECT_THAT(error_of([&] { open_recording(both("mon.dbn", "tue")); }),
              HasSubstr("tue: cannot be played behind "));
}

TEST_F(SeveralDatabentoFiles, InTheWrongOrderEndThere) {
  write_dbn("mon.dbn", kMonday, monday());
  write_dbn("tue.dbn", kTuesday, tuesday());
  const auto wrong = open_recording(both("tue.dbn", "mon.dbn"));
  EXPECT_EQ(test::collect(*wrong).status, ReadStatus::kDamaged);
  EXPECT_THAT(wrong->damage(), HasSubstr("mon.dbn: begins before "));
}

}  // namespace
}  // namespace tickpath::itch

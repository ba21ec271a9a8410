// Several recordings, played as one.
#include "sim/recordings/several_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/recordings/binary_file.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

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
  EXPECT_THAT(hours(read("mon", "tue")), ElementsAre(4, 16, 28, 34));
  const auto recording = open_recording(both("mon", "tue"));
  std::vector<bool> begins_day;
  for (RecordedMessage m; recording->next(m) == ReadStatus::kMessage;)
    begins_day.push_back(m.begins_day);
  EXPECT_THAT(begins_day, ElementsAre(false, false, true, false)) << "a replay waits for no night";
  EXPECT_EQ(recording->file_bytes_total(), std::filesystem::file_size(folder_ / "mon") +
                                               std::filesystem::file_size(folder_ / "tue"));
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

}  // namespace
}  // namespace tickpath::itch

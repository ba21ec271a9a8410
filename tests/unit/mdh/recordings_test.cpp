// Real Nasdaq recordings through the feed: nothing in them is unknown, malformed or contradictory.
#include <cstdlib>
#include <filesystem>

#include "common/feeds/recordings/recording.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

class Recordings : public FeedTest {
 protected:
  Recordings() : FeedTest(roomy()) {}
  static FeedOptions roomy() {
    FeedOptions options = small_options();
    options.instruments_max = 2'048;
    options.book = {.orders_max = 65'536, .levels_max = 16'384};
    return options;
  }
  static std::filesystem::path file(const char* name) {
    if (const char* folder = std::getenv("TICKPATH_DATA"))
      return std::filesystem::path(folder) / "itch" / name;
    const char* source = std::getenv("TICKPATH_SOURCE");
    return std::filesystem::path(source == nullptr ? "." : source) / "../shared/data/itch" / name;
  }
  // Returns how many messages there were.
  std::uint64_t replay(const std::filesystem::path& path) {
    const auto recording = itch::open_recording(path);
    itch::RecordedMessage message;
    while (recording->next(message) == itch::ReadStatus::kMessage) {
      send({Bytes(message.bytes.begin(), message.bytes.end())});
      crossed += last().best_bid != 0 && last().best_ask != 0 && last().best_bid > last().best_ask;
    }
    return next - 1;
  }
  std::uint64_t crossed = 0;
};

TEST_F(Recordings, EveryOrderOfAMorningOfAppleResolves) {
  const auto path = file("20200130_AAPL_10k.itch50");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not there: set TICKPATH_DATA to the recordings' folder";
  EXPECT_EQ(replay(path), 10'001u);
  const book::LevelBookSet& books = feed.books();
  for (std::size_t status = 1; status < book::kStatusCount; ++status)
    EXPECT_EQ(books.count(static_cast<book::Status>(status)), 0u)
        << book::to_string(static_cast<book::Status>(status));
  // A 4,759 F 2 D 4,083 E 849 X 6 U 7: each changed the book.
  EXPECT_EQ(books.count(book::Status::kOk), 4'759u + 2 + 4'083 + 849 + 6 + 7);
  EXPECT_EQ(feed.counters().malformed_messages.get(), 0u);
  EXPECT_EQ(crossed, 0u);
  EXPECT_EQ(feed.instruments().size(), 1u);
  EXPECT_EQ(feed.instruments().entry(0).name(), "AAPL");
  books.verify();
}

TEST_F(Recordings, TheStartOfADayListsItsInstruments) {
  const auto path = file("20191230_first1000.itch50");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not there: set TICKPATH_DATA to the recordings' folder";
  EXPECT_EQ(replay(path), 1'000u);
  EXPECT_EQ(feed.instruments().size(), 993u);
  EXPECT_EQ(sink.rows.size(), 993u);
  EXPECT_EQ(feed.counters().by_type['R'].get(), 993u);
  EXPECT_EQ(feed.counters().malformed_messages.get(), 0u);
  EXPECT_EQ(feed.counters().book.unlisted.get(), 0u);
}

}  // namespace
}  // namespace tickpath::mdh::test

// add_prices(), replayed_in(): what a recording says that things were worth.
#include "tools/report/prices.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/feeds/recordings/message_digest.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::report {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kRecordedSecondNs = 1'000'000'000;

class PricesOfARecording : public testing::Test {
 protected:
  PricesOfARecording() {
    put(itch::AddOrder{{}, 1, 'B', 100, "AAPL", 1'000'000}, kRecordedSecondNs);
    put(itch::AddOrder{{}, 2, 'S', 100, "AAPL", 1'000'200}, 2 * kRecordedSecondNs);
    put(itch::OrderReplace{{}, 2, 3, 100, 1'000'400}, 3 * kRecordedSecondNs + 1);
    put(itch::OrderDelete{{}, 1}, 4 * kRecordedSecondNs + 1);
    writer_->finish();
    replayed_.digest = itch::digest_text(digest_.value());
  }
  template <class Message>
  void put(Message message, std::uint64_t at_ns) {
    message.header.stock_locate = 7;
    message.header.timestamp = at_ns;
    std::byte bytes[itch::kMaxMessageBytes];
    const std::span<const std::byte> encoded(bytes, itch::encode(message, bytes));
    writer_->write(encoded);
    digest_.take(encoded);
    ++replayed_.messages;
  }

  test_support::Folder folder_;
  std::string path_ = folder_ / "a.itch50";
  std::unique_ptr<itch::BinaryFileWriter> writer_ = std::make_unique<itch::BinaryFileWriter>(path_);
  itch::MessageDigest digest_;
  Replayed replayed_{.venue = 2, .path = path_};
  const Grid grid_{.first = 0, .step = 1, .points = 7};
  PricePaths paths_;
};

TEST_F(PricesOfARecording, AreTheMiddleOfBidAndAskAtEachTime) {
  const std::set<Listing> asked{{2, "AAPL"}, {1, "AAPL"}, {2, "ZVZZT"}};
  EXPECT_EQ(add_prices(replayed_, {}, asked, grid_, paths_), "");
  ASSERT_EQ(paths_.size(), 1u) << "of its own venue, and what is in it";
  const std::vector<double>& path = paths_.at({2, "AAPL"});
  ASSERT_EQ(path.size(), grid_.points);
  for (const std::size_t point : {0, 1}) EXPECT_TRUE(std::isnan(path[point])) << point;
  EXPECT_DOUBLE_EQ(path[2], 100.01);
  EXPECT_DOUBLE_EQ(path[3], 100.01);
  EXPECT_DOUBLE_EQ(path[4], 100.02);
  EXPECT_DOUBLE_EQ(path[6], 100.02) << "without a bid the last one stands";
}

TEST_F(PricesOfARecording, OfAnotherFileAreNotBelieved) {
  replayed_.digest = "0123456789abcdef";
  EXPECT_THAT(add_prices(replayed_, {}, {{2, "AAPL"}}, grid_, paths_), HasSubstr("another one"));
  replayed_.path = folder_ / "gone.itch50";
  EXPECT_THAT(add_prices(replayed_, {}, {{2, "AAPL"}}, grid_, paths_), HasSubstr("gone.itch50"));
  replayed_.messages = kMessagesMax + 1;
  EXPECT_THAT(add_prices(replayed_, {}, {{2, "AAPL"}}, grid_, paths_), HasSubstr("more than"));
  EXPECT_TRUE(paths_.empty());
}

TEST_F(PricesOfARecording, AreFoundByTheLedgersOfARun) {
  EXPECT_TRUE(replayed_in({folder_.path()}, {}).empty());
  test_support::write_file(folder_ / "sim-2.ledger.json",
                           R"({"recording": "b.itch50", "recording_messages": 7,
                               "recording_digest": "ab"})");
  control::Summary summary;
  summary.name = "sim-2";
  summary.venue = 2;
  const auto found = replayed_in({folder_.path()}, {summary});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].venue, 2);
  EXPECT_EQ(found[0].path, "b.itch50");
  EXPECT_EQ(found[0].messages, 7u);
  test_support::write_file(folder_ / "sim-2.ledger.json", "{");
  EXPECT_THROW((void)replayed_in({folder_.path()}, {}), Error);
}

}  // namespace
}  // namespace tickpath::report

// LOBSTER files of few levels, made from a generated ITCH recording whose book is known: mdh's book
// of them is right in what they display.
#include <memory>

#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/lobster.hpp"
#include "tests/support/lobster_files.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

using test_support::LobsterFiles;
using test_support::LobsterWriter;

// What was displayed behind the last message of a time.
struct Displayed {
  std::uint64_t time_ns;
  LobsterWriter::Shown bids, asks;
};

class LobsterLevels : public FeedTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  LobsterLevels() : FeedTest(roomy_options()) {}
  void SetUp() override {
    itch::Generator recording({.symbols = 1, .messages = 12'000, .seed = 7, .halts = 2});
    LobsterWriter writer(GetParam());
    itch::RecordedMessage message;
    while (recording.next(message) == itch::ReadStatus::kMessage) {
      ASSERT_EQ(itch::decode(message.bytes, writer), itch::DecodeStatus::kOk);
      if (truth.empty() || truth.back().time_ns != message.timestamp_ns) truth.emplace_back();
      truth.back() = {message.timestamp_ns, writer.shown(true), writer.shown(false)};
    }
    files = writer.files();
    // The file begins with the first event, and ends with the last.
    while (truth.front().bids.empty() && truth.front().asks.empty()) truth.erase(truth.begin());
  }
  static std::unique_ptr<files::ByteSource> source(const std::string& text, const char* name) {
    return test_support::open_memory(std::as_bytes(std::span(text)), name);
  }
  // Replays the recording, and compares the book behind every time of the truth.
  void replay(itch::RecordingReader& recording) {
    auto next_truth = truth.begin();
    const auto compare_before = [&](std::uint64_t time_ns) {
      for (; next_truth != truth.end() && next_truth->time_ns < time_ns; ++next_truth)
        compare(*next_truth);
    };
    itch::RecordedMessage message;
    itch::ReadStatus status;
    while ((status = recording.next(message)) == itch::ReadStatus::kMessage) {
      compare_before(message.timestamp_ns);
      sink.updates.clear();
      send({Bytes(message.bytes.begin(), message.bytes.end())});
      for (const wire::BookUpdate& update : sink.updates)
        crossed_good +=
            update.best_bid != 0 && update.best_ask != 0 && update.best_bid >= update.best_ask &&
            update.feed_state() == wire::FeedState::kGood && !wire::gathers(update.trading_state());
    }
    EXPECT_EQ(status, itch::ReadStatus::kEnd) << recording.damage();
    compare_before(~std::uint64_t{0});
    feed.books().verify();
    EXPECT_EQ(feed.books().count(book::Status::kUnknownReference), 0u);
    std::printf("%zu levels: %zu times, best quote right %.3f %%, levels right %.3f %%; %s\n",
                GetParam(), truth.size(), percent(best), percent(all), recording.remarks().c_str());
  }
  double percent(std::size_t count) const {
    return 100.0 * static_cast<double>(count) / static_cast<double>(truth.size());
  }

  LobsterFiles files;
  std::vector<Displayed> truth;
  std::size_t best = 0, all = 0, crossed_good = 0;

 private:
  void compare(const Displayed& answer) {
    wire::BookImage image{};
    feed.fill_image(0, image);
    const std::size_t bids = agreeing(answer.bids, image.bids);
    const std::size_t asks = agreeing(answer.asks, image.asks);
    const std::size_t shown = std::min(GetParam(), wire::kImageLevels);
    best += bids >= 1 && asks >= 1;
    all += bids >= shown && asks >= shown;
  }
  static std::size_t agreeing(const LobsterWriter::Shown& answer, const auto& levels) {
    for (std::size_t i = 0; i < wire::kImageLevels; ++i) {
      const LobsterWriter::Level right = i < answer.size() ? answer[i] : LobsterWriter::Level{};
      if (levels[i].price != right.price || levels[i].shares != right.shares) return i;
    }
    return wire::kImageLevels;
  }
};

TEST_P(LobsterLevels, WithTheirOrderbookFileAreRightAfterEveryEvent) {
  itch::LobsterReader recording(source(files.messages, "messages"), "ZAAA",
                                source(files.orderbook, "orderbook"));
  replay(recording);
  EXPECT_GE(percent(best), 99.9);
  EXPECT_GE(percent(all), 99.9);
  EXPECT_EQ(crossed_good, 0u);
  EXPECT_EQ(recording.counts().dropped_events, 0u);
}

TEST_P(LobsterLevels, WithoutItNoCrossedQuoteIsToldAsGood) {
  itch::LobsterReader recording(source(files.messages, "messages"), "ZAAA");
  replay(recording);
  EXPECT_EQ(crossed_good, 0u);
  EXPECT_NE(recording.remarks().find("no orderbook file"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Levels, LobsterLevels, ::testing::Values(1, 5, 10, 30, 50));

}  // namespace
}  // namespace tickpath::mdh::test

// mdh's book against an independent answer: an hour of AAPL as LOBSTER published it, order by
// order, and LOBSTER's own 30-level book after each event.
#include <array>
#include <charconv>
#include <span>

#include "common/feeds/recordings/lobster.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/recordings.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"
#include "tests/unit/mdh/zip_member.hpp"

namespace tickpath::mdh::test {
namespace {

const std::filesystem::path kLobsterFolder = test_support::data_folder() / "lobster";
const std::filesystem::path kBookArchive = kLobsterFolder / "AAPL_2012-06-21_book_30.zip";

// Splits off the text up to `separator`.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::int64_t integer(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "34200.004241176": seconds with up to nine decimals.
std::uint64_t nanoseconds(std::string_view text) {
  const std::string_view seconds = take(text, '.');
  std::string fraction(text);
  fraction.resize(9, '0');
  return static_cast<std::uint64_t>(integer(seconds)) * 1'000'000'000 +
         static_cast<std::uint64_t>(integer(fraction));
}

// One row of LOBSTER's book: ask price, ask size, bid price, bid size, and so on by level.
struct Answer {
  std::uint64_t time_ns = 0;
  std::array<wire::ImageLevel, wire::kImageLevels> asks{};
  std::array<wire::ImageLevel, wire::kImageLevels> bids{};
};

Answer parse_row(std::uint64_t time_ns, std::string_view row) {
  Answer answer{time_ns, {}, {}};
  for (std::size_t i = 0; i < wire::kImageLevels; ++i)
    for (auto* side : {&answer.asks, &answer.bids}) {
      const auto price = static_cast<std::uint32_t>(integer(take(row, ',')));
      const auto shares = static_cast<std::uint32_t>(integer(take(row, ',')));
      (*side)[i] = {price, shares, 0};
    }
  return answer;
}

// Every `stride`-th row, moved on to the last row of the same time: only then does a time name one
// state of the book.
std::vector<Answer> sampled_answers(const std::filesystem::path& archive, std::size_t stride) {
  const test_support::ZipArchive zip(archive);
  const std::string message_text = zip.member("message_30.csv");
  const std::string book_text = zip.member("orderbook_30.csv");
  std::string_view messages = message_text;
  std::string_view rows = book_text;
  std::vector<Answer> answers;
  bool due = false;
  for (std::size_t number = 0; !messages.empty() && !rows.empty(); ++number) {
    std::string_view message = take(messages, '\n');
    const std::string_view row = take(rows, '\n');
    const std::string_view time = take(message, ',');
    due = due || number % stride == stride - 1;
    std::string_view following = messages;
    if (!due || take(following, ',') == time) continue;
    answers.push_back(parse_row(nanoseconds(time), row));
    due = false;
  }
  return answers;
}

std::size_t agreeing_levels(const Answer& answer, const wire::BookImage& image) {
  for (std::size_t i = 0; i < wire::kImageLevels; ++i)
    if (image.asks[i].price != answer.asks[i].price ||
        image.asks[i].shares != answer.asks[i].shares ||
        image.bids[i].price != answer.bids[i].price ||
        image.bids[i].shares != answer.bids[i].shares)
      return i;
  return wire::kImageLevels;
}

class LobsterBook : public FeedTest {
 protected:
  LobsterBook() : FeedTest(roomy_options()) {}

  // Replays the recording, and compares the book as it was at the time of each answer.
  void replay(itch::RecordingReader& recording, const std::vector<Answer>& answers) {
    samples = answers.size();
    auto next_answer = answers.begin();
    const auto compare_before = [&](std::uint64_t time_ns) {
      for (; next_answer != answers.end() && next_answer->time_ns < time_ns; ++next_answer)
        compare(*next_answer);
    };
    itch::RecordedMessage message;
    while (recording.next(message) == itch::ReadStatus::kMessage) {
      compare_before(message.timestamp_ns);
      sink.updates.clear();
      send({Bytes(message.bytes.begin(), message.bytes.end())});
    }
    compare_before(~std::uint64_t{0});
    feed.books().verify();
    EXPECT_EQ(recording.damage(), "");
    EXPECT_EQ(feed.books().count(book::Status::kUnknownReference), 0u);
    EXPECT_EQ(feed.counters().malformed_messages.get(), 0u);
    EXPECT_EQ(feed.state(), wire::FeedState::kGood);
    std::printf(
        "samples %zu: agreement at the best level %.2f %%, levels 1-5 %.2f %%, 1-10 %.2f %%; %s\n",
        samples, percent(best), percent(five), percent(ten), recording.remarks().c_str());
  }
  double percent(std::size_t count) const {
    return 100.0 * static_cast<double>(count) / static_cast<double>(samples);
  }

  std::size_t samples = 0, best = 0, five = 0, ten = 0;

 private:
  void compare(const Answer& answer) {
    const std::size_t levels = agreeing_levels(answer, image());
    best += levels >= 1;
    five += levels >= 5;
    ten += levels >= 10;
  }
};

TEST_F(LobsterBook, AgreesWithThirtyLevelsThatLobsterReconstructed) {
  const auto recorded = kLobsterFolder / "AAPL_2012-06-21_message_50.csv.gz";
  TICKPATH_NEED_DATA(recorded);
  TICKPATH_NEED_DATA(kBookArchive);
  const std::vector<Answer> answers = sampled_answers(kBookArchive, 20);
  ASSERT_GT(answers.size(), 4'200u);
  replay(*itch::open_recording(recorded), answers);
  EXPECT_GE(percent(best), 99.8);
  EXPECT_GE(percent(ten), 97.0);
}

TEST_F(LobsterBook, IsRightAtEveryLevelWithTheOrderbookFileBesideTheMessages) {
  TICKPATH_NEED_DATA(kBookArchive);
  const test_support::ZipArchive zip(kBookArchive);
  const std::string messages = zip.member("message_30.csv");
  const std::string book = zip.member("orderbook_30.csv");
  itch::LobsterReader recording(
      test_support::open_memory(std::as_bytes(std::span(messages)), "messages"), "AAPL",
      test_support::open_memory(std::as_bytes(std::span(book)), "orderbook"));
  replay(recording, sampled_answers(kBookArchive, 20));
  EXPECT_EQ(best, samples);
  EXPECT_EQ(ten, samples);
}

}  // namespace
}  // namespace tickpath::mdh::test

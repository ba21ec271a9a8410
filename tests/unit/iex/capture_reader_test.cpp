// Captures of an IEX feed: order, gaps, repetitions, damage, and what else lies in them.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/book/crossed_books.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/feeds/recordings/deep_recording.hpp"
#include "common/feeds/recordings/deep_to_itch.hpp"
#include "common/feeds/recordings/iex_capture_reader.hpp"
#include "mdh/book_handler.hpp"
#include "tests/support/deep_market.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::iex {
namespace {

using itch::test::Bytes;
using itch::test::Frame;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::uint64_t kTimeNs = 1'784'000'000'000'000'000;

Bytes segment_of(std::uint64_t sequence, const std::vector<std::string>& messages,
                 std::uint32_t session = 7, std::uint16_t protocol = kDeep10,
                 std::uint64_t later_ns = 0) {
  Bytes bytes(kSegmentHeaderBytes);
  for (const std::string& message : messages) {
    itch::test::put(bytes, static_cast<std::uint16_t>(message.size()));
    for (const char each : message) bytes.push_back(static_cast<std::byte>(each));
  }
  store_header({.protocol = protocol,
                .session = session,
                .payload_bytes = static_cast<std::uint16_t>(bytes.size() - kSegmentHeaderBytes),
                .message_count = static_cast<std::uint16_t>(messages.size()),
                .first_sequence_number = sequence,
                .send_time_ns = kTimeNs + sequence + later_ns},
               bytes.data());
  return bytes;
}

class IexCapture : public ::testing::Test {
 protected:
  ~IexCapture() override { std::filesystem::remove(path_); }

  void write(const std::vector<Bytes>& datagrams) {
    std::vector<Frame> frames;
    for (const Bytes& datagram : datagrams)
      frames.push_back(itch::test::udp_frame(kTimeNs, datagram));
    write_bytes(itch::test::pcap_file(frames));
  }
  void write_bytes(const Bytes& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  // The path of several captures, each in a file of its own. They are removed with the test.
  std::string write_files(const std::vector<std::vector<Bytes>>& files) {
    std::string paths;
    for (std::size_t at = 0; at < files.size(); ++at) {
      write(files[at]);
      const std::filesystem::path path = folder_ / (std::to_string(at) + ".pcap");
      std::filesystem::copy_file(path_, path, std::filesystem::copy_options::overwrite_existing);
      paths += (at == 0 ? "" : ",") + path.string();
    }
    return paths;
  }
  // "sequence:text" of each message.
  std::vector<std::string> read(CaptureReader& reader) {
    std::vector<std::string> all;
    for (CapturedMessage message; reader.next(message);) {
      EXPECT_GE(message.send_time_ns, kTimeNs);
      all.push_back(
          std::to_string(message.sequence) + ":" +
          std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()));
    }
    return all;
  }

  const test_support::Folder folder_;
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("tickpath_iex." + std::to_string(::getpid()) + ".pcap");
};

// A rebooted sender counts from 1 again; the venue's second line, or a repetition, has the same
// bytes.
TEST_F(IexCapture, ANumberingThatRestartsIsReadOn) {
  constexpr std::uint64_t kLaterNs = 1'000'000;
  const auto later = [](std::uint64_t sequence, const std::vector<std::string>& messages,
                        std::uint32_t session = 7, std::uint64_t times = 1) {
    return segment_of(sequence, messages, session, kDeep10, times * kLaterNs);
  };
  write({segment_of(1, {"a", "b"}), segment_of(3, {"c"}), later(1, {"a", "b"}),  // repeated late
         segment_of(1, {"x"}),  // not later: damage
         later(1, {"A", "B"}, 7, 2), later(1, {"A", "B"}, 7, 2), segment_of(3, {"c"}),
         later(3, {"C"}, 7, 2), later(1, {"s"}, 8, 3), later(4, {"D"}, 7, 2),
         later(2, {"t"}, 8, 3)});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  std::vector<std::string> all;
  for (CapturedMessage message; reader->next(message);)
    all.push_back((message.restart ? "restart " : "") + std::to_string(message.sequence) + ":" +
                  static_cast<char>(message.bytes[0]));
  EXPECT_THAT(all,
              ElementsAre("1:a", "2:b", "3:c", "restart 1:A", "2:B", "3:C", "restart 1:s", "2:t"));
  EXPECT_EQ(reader->counts().restarts, 2u);
  EXPECT_EQ(reader->counts().gaps, 0u);
  EXPECT_EQ(reader->counts().other_datagrams, 1u);
  EXPECT_NE(remarks_of(reader->counts()).find("2 restarts of the numbering"), std::string::npos);
}

// Both sessions are of one date. The tap lost the beginning of the second one.
TEST_F(IexCapture, AnotherSessionIsReadFromWhereItIsHeardOnceTheOneBeforeIsSilent) {
  constexpr std::uint64_t kSilenceNs = CaptureReader::kSessionSilenceNs;
  const auto second = [](std::uint64_t sequence, const std::string& text, std::uint64_t later_ns) {
    return segment_of(sequence, {text}, 8, kDeep10, later_ns);
  };
  write({segment_of(1, {"a", "b"}), segment_of(3, {"c"}),
         second(2, "B", kSilenceNs / 2),  // the other one may live
         second(3, "C", 2 * kSilenceNs), second(4, "D", 2 * kSilenceNs), segment_of(4, {"d"}),
         second(3, "C", 2 * kSilenceNs)});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b", "3:c", "3:C", "4:D"));
  EXPECT_EQ(reader->counts().restarts, 1u);
  EXPECT_EQ(reader->counts().gaps, 1u) << "1 and 2 of the second session";
  EXPECT_EQ(reader->counts().missing, 2u);
  EXPECT_EQ(reader->counts().repeated, 1u) << "of the second session alone";
  EXPECT_EQ(reader->counts().other_datagrams, 2u);
}

TEST_F(IexCapture, BooksBeginAnewWhereTheNumberingRestarts) {
  const auto text_of = [](const auto& message) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(message, reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  const auto level = [&](std::uint32_t size, Price price) {
    return text_of(
        BuyLevelUpdate{.flags = 1, .timestamp = 5, .symbol = "IBM", .size = size, .price = price});
  };
  write({segment_of(1, {level(100, 10), level(200, 11), level(0, 10)}),
         segment_of(1, {level(7, 12)}, 7, kDeep10, 1'000)});
  DeepRecording recording(path_);
  std::vector<std::pair<Price, std::uint32_t>> levels;
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage)
    (void)decode(message.bytes, [&](const auto& m) {
      if constexpr (std::is_same_v<std::decay_t<decltype(m)>, BuyLevelUpdate>)
        levels.emplace_back(m.price, m.size);
    });
  EXPECT_THAT(levels, ElementsAre(Pair(10, 100u), Pair(11, 200u), Pair(10, 0u), Pair(11, 0u),
                                  Pair(12, 7u)));
}

TEST_F(IexCapture, SeveralFilesAreOneCapture) {
  constexpr std::uint64_t kLaterNs = 1'000'000;
  const std::string paths = write_files(
      {{segment_of(1, {"a", "b"}), segment_of(3, {"c"})},
       {segment_of(3, {"c"}), segment_of(4, {"d"})},  // the two overlap
       {segment_of(70, {"s"}, 8, kDeep10, kLaterNs), segment_of(71, {"t"}, 8, kDeep10, kLaterNs)}});
  const auto reader = CaptureReader::open(paths);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b", "3:c", "4:d", "70:s", "71:t"));
  EXPECT_EQ(reader->counts().restarts, 1u) << "a session that was not captured from its start";
  EXPECT_EQ(reader->counts().gaps, 0u);
  EXPECT_EQ(reader->damage(), "");
}

TEST_F(IexCapture, SeveralFilesInTheWrongOrderEndThere) {
  const std::vector<Bytes> first{segment_of(1, {"a"})},
      same{segment_of(5, {"e"}, 7, kDeep10, 1'000)}, other{segment_of(5, {"e"}, 8, kDeep10, 1'000)};
  for (const auto& later : {same, other}) {
    const auto reader = CaptureReader::open(write_files({later, first}));
    ASSERT_NE(reader, nullptr);
    EXPECT_THAT(read(*reader), ElementsAre("5:e"));
    EXPECT_THAT(reader->damage(), ::testing::HasSubstr("1.pcap: begins before "));
  }
}

TEST_F(IexCapture, SeveralFilesAreAllThereBeforeTheFirstIsPlayed) {
  const std::string paths = write_files({{segment_of(1, {"a"})}});
  const auto error_of = [&](const std::string& other) {
    return test_support::error_of<files::RecordingError>(
        [&] { DeepRecording recording(paths + "," + other); });
  };
  EXPECT_THAT(error_of("absent"), ::testing::HasSubstr("absent: cannot open"));
  write_bytes(Bytes(100));
  EXPECT_THAT(error_of(path_), ::testing::HasSubstr(path_.string()));
}

// The first day lacks its end, and the night costs no time.
TEST_F(IexCapture, SeveralFilesAreDaysOfTheirDates) {
  const auto text_of = [](const auto& message) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(message, reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  const std::string level =
      text_of(BuyLevelUpdate{.flags = 1, .timestamp = 5, .symbol = "IBM", .size = 7, .price = 12});
  constexpr std::uint64_t kNightNs = 86'400'000'000'000;
  const std::string paths =
      write_files({{segment_of(1, {level})}, {segment_of(9, {level}, 8, kDeep10, kNightNs)}});
  DeepRecording recording(paths);
  std::string types;
  std::vector<std::uint64_t> days;
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    types += std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes[0]);
    days.push_back(message.timestamp_ns / kNightNs);
  }
  EXPECT_EQ(types, "88S|S8") << "the level goes, the day ends, another begins";
  EXPECT_THAT(days, ElementsAre(0, 0, 0, 1, 1));
  DeepToItch converted(paths);
  types.clear();
  while (converted.next(message) == itch::ReadStatus::kMessage)
    types += std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes[0]);
  EXPECT_EQ(types, "RADS|SRA");
}

// A weekend lies between two files; then a midnight passes within a session. As ITCH they are
// days of the same numbers, for each midnight is marked.
TEST_F(IexCapture, ConvertedToItchHasTheSameDays) {
  const auto level = [](std::uint32_t size) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(
        BuyLevelUpdate{.flags = 1, .timestamp = 5, .symbol = "IBM", .size = size, .price = 12},
        reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  constexpr std::uint64_t kDayNs = itch::TradingDay::kDayNs;
  const std::string paths = write_files({{segment_of(1, {level(7)})},
                                         {segment_of(1, {level(8)}, 8, kDeep10, 3 * kDayNs),
                                          segment_of(2, {level(9)}, 8, kDeep10, 4 * kDayNs)}});
  DeepToItch converted(paths);
  itch::BinaryFileWriter writer(folder_ / "converted.itch50");
  std::string events;
  std::vector<std::uint64_t> before, after;
  itch::RecordedMessage message;
  while (converted.next(message) == itch::ReadStatus::kMessage) {
    writer.write(message.bytes);
    if (static_cast<char>(message.bytes[0]) == 'S')
      events +=
          std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes.back());
    else
      before.push_back(message.timestamp_ns);
  }
  writer.finish();
  EXPECT_EQ(events, "CDD|OD");
  const auto recording = itch::open_recording(folder_ / "converted.itch50");
  while (recording->next(message) == itch::ReadStatus::kMessage)
    if (static_cast<char>(message.bytes[0]) != 'S') after.push_back(message.timestamp_ns);
  EXPECT_EQ(after, before);
  EXPECT_EQ(after.back() / kDayNs, 4u);
}

// The second session of a date is a day of its own, and does not take the next date's number.
TEST_F(IexCapture, TwoSessionsOfADateAreTwoDaysAlsoOnceConverted) {
  const auto text_of = [](const auto& message) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(message, reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  const std::vector<std::string> day{
      text_of(SystemEvent{.event = SystemEvent::kStartOfMessages}),
      text_of(BuyLevelUpdate{.flags = 1, .symbol = "IBM", .size = 7, .price = 12}),
      text_of(SystemEvent{.event = SystemEvent::kEndOfMessages})};
  constexpr std::uint64_t kDayNs = itch::TradingDay::kDayNs, kHourNs = kDayNs / 24;
  write({segment_of(1, day, 7), segment_of(1, day, 8, kDeep10, kHourNs),
         segment_of(1, day, 9, kDeep10, kDayNs)});
  DeepRecording recording(path_);
  std::vector<std::uint64_t> days;
  std::string types;
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    types += std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes[0]);
    if (message.begins_day) days.push_back(message.timestamp_ns / kDayNs);
  }
  // What rests goes behind the end, and the reader's own start is before that of the sender.
  EXPECT_EQ(types, "S8S8|SS8S8|SS8S");
  EXPECT_THAT(days, ElementsAre(1, 2));
  EXPECT_THAT(remarks_of(CaptureReader::open(path_)->counts()),
              ::testing::HasSubstr("0 gaps with 0 messages missing"));
  DeepToItch converted(path_);
  itch::BinaryFileWriter writer(folder_ / "converted.itch50");
  std::vector<std::uint64_t> before, after;
  while (converted.next(message) == itch::ReadStatus::kMessage) {
    writer.write(message.bytes);
    before.push_back(message.timestamp_ns);
  }
  writer.finish();
  const auto read_again = itch::open_recording(folder_ / "converted.itch50");
  while (read_again->next(message) == itch::ReadStatus::kMessage)
    after.push_back(message.timestamp_ns);
  EXPECT_EQ(after, before);
}

TEST_F(IexCapture, PacketsThatWereCutOrFragmentedAreTold) {
  std::vector<Frame> frames;
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence)
    frames.push_back(itch::test::udp_frame(kTimeNs, segment_of(sequence, {std::string(1, 'a')})));
  frames[1].bytes[14 + 6] = std::byte{0x20};  // more fragments follow
  frames[2].bytes.resize(60);
  write_bytes(itch::test::pcap_file(frames));
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "4:a"));
  EXPECT_THAT(remarks_of(reader->counts()),
              ::testing::AllOf(::testing::HasSubstr("1 packets were captured short"),
                               ::testing::HasSubstr("1 IP fragments were not put together")));
}

// Two days of a venue whose sender counts anew each morning.
TEST_F(IexCapture, ADayThatRestartsBehindTheEndOfAnotherBeginsOnceWithItsDirectory) {
  const auto text_of = [](const auto& message) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(message, reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  const auto level = [&](Timestamp time) {
    return text_of(
        BuyLevelUpdate{.flags = 1, .timestamp = time, .symbol = "IBM", .size = 7, .price = 12});
  };
  const std::string end =
      text_of(SystemEvent{.event = SystemEvent::kEndOfMessages, .timestamp = 6});
  const std::string start =
      text_of(SystemEvent{.event = SystemEvent::kStartOfMessages, .timestamp = 7});
  constexpr std::uint64_t kNightNs = 57'600'000'000'000;
  for (const bool has_start : {true, false}) {
    std::vector<std::string> second{start, level(8)};
    if (!has_start) second.erase(second.begin());
    write({segment_of(1, {level(5), end}), segment_of(1, second, 7, kDeep10, kNightNs)});
    DeepRecording recording(path_);
    std::string types;
    itch::RecordedMessage message;
    while (recording.next(message) == itch::ReadStatus::kMessage)
      types += std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes[0]);
    EXPECT_EQ(types, has_start ? "8S8|SS8" : "8S8|S8");
    DeepToItch converted(path_);
    types.clear();
    while (converted.next(message) == itch::ReadStatus::kMessage)
      types += std::string(message.begins_day ? "|" : "") + static_cast<char>(message.bytes[0]);
    EXPECT_EQ(types, has_start ? "RASD|SSRA" : "RASD|SRA");
  }
}

TEST_F(IexCapture, ConvertedToItchShowsTheSameBook) {
  test_support::DeepMarket market(5, 3);
  for (int i = 0; i < 2'000; ++i) market.event();
  market.end();
  std::vector<Bytes> segments;
  for (std::size_t i = 0; i < market.messages.size(); ++i) {
    const auto& message = market.messages[i];
    segments.push_back(segment_of(
        i + 1, {std::string(reinterpret_cast<const char*>(message.data()), message.size())}));
  }
  write(segments);
  DeepToItch recording(path_);
  book::LevelBookSet books({.orders_max = 4'096, .levels_max = 4'096});
  mdh::BookHandler handler(books);
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    ASSERT_EQ(itch::decode(message.bytes, handler), itch::DecodeStatus::kOk);
    ASSERT_EQ(handler.event().status, book::Status::kOk);
    const book::Locate locate = handler.event().locate;
    if (locate == 0) continue;
    const auto bid = books.best(locate, Side::kBuy);
    const auto ask = books.best(locate, Side::kSell);
    ASSERT_FALSE(book::is_crossed(bid.price, ask.price));
  }
  EXPECT_EQ(recording.damage(), "");
  for (std::size_t i = 0; i < 5; ++i) {
    const auto locate = static_cast<book::Locate>(i + 1);
    const test_support::DeepQuote quote = market.quote(i);
    EXPECT_EQ(books.best(locate, Side::kBuy),
              (book::Quote{static_cast<std::uint32_t>(quote.bid), quote.bid_shares}));
    EXPECT_EQ(books.best(locate, Side::kSell),
              (book::Quote{static_cast<std::uint32_t>(quote.ask), quote.ask_shares}));
  }
}

// The removal of a level at the end of the day often belongs to an event that nothing completes.
TEST_F(IexCapture, ConvertedToItchHasTheUpdatesOfEventsThatNeverCompleteAndCountsThem) {
  const auto text_of = [](const auto& message) {
    std::string text(kMaxMessageBytes, '\0');
    text.resize(encode(message, reinterpret_cast<std::byte*>(text.data())));
    return text;
  };
  const auto level = [&](std::uint8_t flags, std::uint32_t size, Price price) {
    return text_of(BuyLevelUpdate{
        .flags = flags, .timestamp = 5, .symbol = "IBM", .size = size, .price = price});
  };
  write({segment_of(1, {level(1, 100, 10), level(1, 200, 11), level(0, 0, 11),
                        text_of(SystemEvent{.event = SystemEvent::kEndOfMessages, .timestamp = 6}),
                        level(0, 70, 10)})});
  DeepToItch recording(path_);
  std::string types;
  itch::RecordedMessage message;
  book::LevelBookSet books({.orders_max = 16, .levels_max = 16});
  mdh::BookHandler handler(books);
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    types += static_cast<char>(message.bytes[0]);
    ASSERT_EQ(itch::decode(message.bytes, handler), itch::DecodeStatus::kOk);
  }
  EXPECT_EQ(types, "RAADSX") << "the day's end comes behind its last change";
  EXPECT_EQ(books.best(1, Side::kBuy), (book::Quote{10, 70}));
  EXPECT_NE(recording.remarks().find("2 changes of a level belonged to an event"),
            std::string::npos)
      << recording.remarks();
}

TEST_F(IexCapture, AReaderOfItchSaysWhichSettingItNeeds) {
  write({segment_of(1, {"a", "b"})});
  EXPECT_THAT(
      test_support::error_of<files::RecordingError>([&] { (void)itch::open_recording(path_); }),
      ::testing::HasSubstr("feed.protocol = \"iex_deep10\""));
}

TEST_F(IexCapture, IsReadInOrderWithItsGapsAndRepetitionsCounted) {
  write({segment_of(1, {"a", "b"}), segment_of(1, {"a", "b"}), segment_of(3, {}),
         segment_of(3, {"c"}), segment_of(2, {"b", "c", "d"}), segment_of(7, {"g"})});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b", "3:c", "4:d", "7:g"));
  EXPECT_EQ(reader->counts().segments, 6u);
  EXPECT_EQ(reader->counts().heartbeats, 1u);
  EXPECT_EQ(reader->counts().messages, 5u);
  EXPECT_EQ(reader->counts().repeated, 4u);
  EXPECT_EQ(reader->counts().gaps, 1u);
  EXPECT_EQ(reader->counts().missing, 2u);
  EXPECT_EQ(reader->counts().damaged, 0u);
}

TEST_F(IexCapture, WhatOneLineLostIsTakenFromTheOther) {
  write({segment_of(1, {"a"}), segment_of(2, {"b", "c"}), segment_of(5, {"e"}), segment_of(6, {}),
         segment_of(1, {"a"}), segment_of(6, {"f"}), segment_of(2, {"b", "c"}),
         segment_of(4, {"d"}), segment_of(5, {"e"}), segment_of(6, {"f"})});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b", "3:c", "4:d", "5:e", "6:f"));
  EXPECT_EQ(reader->counts().gaps, 0u);
  EXPECT_EQ(reader->counts().missing, 0u);
  EXPECT_EQ(reader->counts().repeated, 5u);
}

TEST_F(IexCapture, WhatNobodyHasIsAGapBehindWhichItGoesOn) {
  std::vector<Bytes> segments{segment_of(1, {"a"})};
  const std::uint64_t end = 4 + CaptureReader::kHeldSegmentsMax;
  for (std::uint64_t n = 4; n < end; ++n) segments.push_back(segment_of(n, {"x"}));
  segments.push_back(segment_of(2, {"b"}));  // too late
  segments.push_back(segment_of(end + 1, {"y"}));
  segments.push_back(segment_of(end + 5, {}));
  write(segments);
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  const std::vector<std::string> all = read(*reader);
  EXPECT_EQ(all.size(), 2 + CaptureReader::kHeldSegmentsMax);
  EXPECT_EQ(all.back(), std::to_string(end + 1) + ":y");
  EXPECT_EQ(reader->counts().gaps, 3u) << "2 and 3, one before the last message, three behind it";
  EXPECT_EQ(reader->counts().missing, 2u + 1u + 3u);
  EXPECT_EQ(reader->counts().repeated, 1u);
}

TEST_F(IexCapture, WhatWaitsIsDeliveredBeforeANumberingThatRestarts) {
  write({segment_of(1, {"a"}), segment_of(3, {"c"}), segment_of(1, {"A"}, 7, kDeep10, 1'000),
         segment_of(2, {"B"}, 7, kDeep10, 1'000)});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "3:c", "1:A", "2:B"));
  EXPECT_EQ(reader->counts().missing, 1u);
  EXPECT_EQ(reader->counts().restarts, 1u);
  // Also where the first number that is heard again is one that waits.
  write({segment_of(1, {"a"}), segment_of(3, {"c"}), segment_of(3, {"C"}, 7, kDeep10, 1'000)});
  EXPECT_THAT(read(*CaptureReader::open(path_)), ElementsAre("1:a", "3:c", "3:C"));
}

// Each channel has numbers of its own (IEX-TP 1.25, "Channel ID").
TEST_F(IexCapture, AnotherChannelOfTheSessionIsLeftOut) {
  Bytes other = segment_of(2, {"z"});
  other[4] = std::byte{1};
  write({segment_of(1, {"a"}), other, segment_of(2, {"b"})});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b"));
  EXPECT_EQ(reader->counts().other_datagrams, 1u);
}

TEST_F(IexCapture, TakesTheFirstSessionOfAKnownProtocolAndCountsTheRest) {
  write({Bytes(10), segment_of(1, {"x"}, 7, 0x8001), segment_of(5, {"a"}, 7, kTops16),
         segment_of(1, {"z"}, 8, kTops16), segment_of(6, {"b"}, 7, kTops16),
         segment_of(7, {"y"}, 7, kDeep10)});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->protocol(), kTops16);
  EXPECT_THAT(read(*reader), ElementsAre("5:a", "6:b"));
  EXPECT_EQ(reader->counts().gaps, 0u);  // a capture may begin anywhere
  EXPECT_EQ(reader->counts().other_datagrams, 4u);
}

TEST_F(IexCapture, GoesOnBehindADamagedSegment) {
  Bytes damaged = segment_of(2, {"b", "c"});
  damaged[kSegmentHeaderBytes + 3] = std::byte{99};  // the second message's length
  write({segment_of(1, {"a"}), damaged, segment_of(4, {"d"})});
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a", "2:b", "4:d"));
  EXPECT_EQ(reader->counts().damaged, 1u);
  EXPECT_EQ(reader->counts().missing, 1u);
}

TEST_F(IexCapture, SaysWhereTheFileIsCutShort) {
  Bytes file = itch::test::pcap_file({itch::test::udp_frame(kTimeNs, segment_of(1, {"a"})),
                                      itch::test::udp_frame(kTimeNs, segment_of(2, {"b"}))});
  file.resize(file.size() - 3);
  write_bytes(file);
  const auto reader = CaptureReader::open(path_);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(read(*reader), ElementsAre("1:a"));
  EXPECT_THAT(reader->damage(), ::testing::HasSubstr(path_.string() + ": packet 2"));
}

TEST_F(IexCapture, IsNotWhatHoldsNoSegment) {
  write({Bytes(10), itch::test::mold_packet(1, {Bytes(12)})});
  EXPECT_EQ(CaptureReader::open(path_), nullptr);
  write_bytes(Bytes(100));
  EXPECT_EQ(CaptureReader::open(path_), nullptr);
  write_bytes({});
  EXPECT_EQ(CaptureReader::open(path_), nullptr);
  EXPECT_THROW((void)CaptureReader::open("nowhere.pcap"), files::RecordingError);
}

}  // namespace
}  // namespace tickpath::iex

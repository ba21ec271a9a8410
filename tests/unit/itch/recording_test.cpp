#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test_support::error_of;
using testing::EndsWith;
using testing::HasSubstr;

Bytes delete_message(std::uint64_t reference) {
  return test::encoded(OrderDelete{.header = {.stock_locate = 1, .timestamp = 1000 + reference},
                                   .order_reference_number = reference});
}

void write_recording(const std::filesystem::path& path, std::uint64_t messages) {
  BinaryFileWriter writer(path);
  for (std::uint64_t i = 0; i < messages; ++i) writer.write(delete_message(i));
  writer.finish();
  EXPECT_EQ(writer.messages(), messages);
  EXPECT_EQ(writer.bytes(), messages * 21 + 2);
}

class BinaryFileFormats : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(PlainAndCompressed, BinaryFileFormats,
                         testing::Values("a.itch50", "a.itch50.gz", "a.itch50.zst"));

TEST_P(BinaryFileFormats, GiveBackWhatWasWritten) {
  const test::TemporaryFolder folder;
  const auto path = folder / GetParam();
  // More than the reader's and writer's buffers hold, so that messages straddle refills.
  constexpr std::uint64_t kMessages = 120'000;
  write_recording(path, kMessages);
  const auto reader = open_recording(path);
  EXPECT_EQ(reader->format(), RecordingFormat::kBinaryFile);
  RecordedMessage message;
  std::uint64_t count = 0;
  while (reader->next(message) == ReadStatus::kMessage) {
    ASSERT_EQ(message.bytes.size(), OrderDelete::kLength);
    ASSERT_EQ(decode_as<OrderDelete>(message.bytes.data()).order_reference_number, count);
    ASSERT_EQ(message.timestamp_ns, 1000 + count);
    ++count;
  }
  EXPECT_EQ(count, kMessages);
  EXPECT_EQ(reader->next(message), ReadStatus::kEnd);
  EXPECT_EQ(reader->damage(), "");
  EXPECT_EQ(reader->remarks(), "");
  EXPECT_EQ(reader->file_bytes_read(), reader->file_bytes_total());
}

TEST_P(BinaryFileFormats, KeepTheLongestMessage) {
  const test::TemporaryFolder folder;
  const auto path = folder / GetParam();
  Bytes longest(0xffff, std::byte{'x'});
  {
    BinaryFileWriter writer(path);
    writer.write(delete_message(1));
    for (int i = 0; i < 40; ++i) writer.write(longest);
    writer.finish();
  }
  const test::Collected all = test::collect(*open_recording(path));
  ASSERT_EQ(all.messages.size(), 41U);
  for (std::size_t i = 1; i < all.messages.size(); ++i) EXPECT_EQ(all.messages[i], longest);
}

// ITCH's times of day start anew at midnight and with another day; a recording's go on.
TEST(BinaryFile, TimesGoOnOverMidnightsAndDays) {
  const test::TemporaryFolder folder;
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  const auto event = [](std::uint64_t hours, char code) {
    return test::encoded(SystemEvent{.header = {.timestamp = hours * kHourNs}, .event_code = code});
  };
  {
    BinaryFileWriter writer(folder / "a");
    for (const auto& [hours, code] : std::vector<std::pair<std::uint64_t, char>>{
             {22, 'O'}, {23, 'S'}, {1, 'Q'}, {10, 'Q'}, {20, 'M'}, {1, 'E'}, {2, 'O'}, {3, 'S'}})
      writer.write(event(hours, code));
    writer.finish();
  }
  std::vector<std::uint64_t> hours;
  for (const std::uint64_t time : test::collect(*open_recording(folder / "a")).times)
    hours.push_back(time / kHourNs);
  EXPECT_THAT(hours, testing::ElementsAre(22, 23, 25, 34, 44, 49, 74, 75));
}

TEST(BinaryFile, IsCompressedOnlyWhenItsNameSaysSo) {
  const test::TemporaryFolder folder;
  write_recording(folder / "plain.itch50", 1000);
  write_recording(folder / "packed.itch50.gz", 1000);
  EXPECT_EQ(test::read_file(folder / "plain.itch50").size(), 21'002U);
  const Bytes packed = test::read_file(folder / "packed.itch50.gz");
  EXPECT_LT(packed.size(), 21'002U);
  EXPECT_EQ(test::to_hex(std::span(packed).first(2)), "1f8b");
}

TEST(BinaryFile, DeliversEverythingBeforeATruncationAndSaysWhereItIs) {
  const test::TemporaryFolder folder;
  const auto path = folder / "cut.itch50";
  write_recording(path, 10);
  const Bytes whole = test::read_file(path);
  for (std::size_t length = 4; length < whole.size() - 2; ++length) {
    test::write_file(path, std::span(whole).first(length));
    const auto reader = open_recording(path);
    const test::Collected all = test::collect(*reader);
    EXPECT_EQ(all.messages.size(), length / 21);
    const std::size_t rest = length % 21;
    if (rest == 0) {
      EXPECT_EQ(all.status, ReadStatus::kEnd);
      EXPECT_THAT(reader->remarks(), HasSubstr("no end-of-session marker"));
      continue;
    }
    EXPECT_EQ(all.status, ReadStatus::kDamaged);
    const std::string place = path + ": message " + std::to_string(length / 21 + 1) + " at byte " +
                              std::to_string(length - rest) + ": truncated: ";
    const std::string what =
        rest == 1 ? "1 of 2 bytes of the length" : std::to_string(rest - 2) + " of 19 bytes";
    EXPECT_EQ(reader->damage(), place + what);
    RecordedMessage message;
    EXPECT_EQ(reader->next(message), ReadStatus::kDamaged) << "stays damaged";
  }
}

TEST(BinaryFile, SaysWhereCompressedDataEndsTooEarly) {
  const test::TemporaryFolder folder;
  const auto path = folder / "cut.itch50.gz";
  write_recording(path, 100'000);
  Bytes packed = test::read_file(path);
  packed.resize(packed.size() / 2);
  test::write_file(path, packed);
  const auto reader = open_recording(path);
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.status, ReadStatus::kDamaged);
  EXPECT_GT(all.messages.size(), 30'000U);
  EXPECT_THAT(reader->damage(),
              HasSubstr("cut.itch50.gz: message " + std::to_string(all.messages.size() + 1) +
                        " at byte " + std::to_string(all.messages.size() * 21)));
  EXPECT_THAT(reader->damage(), EndsWith("unexpected end of compressed data"));
}

TEST(BinaryFile, SaysWhereCompressedDataIsWrong) {
  const test::TemporaryFolder folder;
  const auto path = folder / "wrong.itch50.gz";
  write_recording(path, 100'000);
  Bytes packed = test::read_file(path);
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i)
    packed[i] ^= std::byte{0xff};
  test::write_file(path, packed);
  const auto reader = open_recording(path);
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.status, ReadStatus::kDamaged);
  EXPECT_THAT(reader->damage(), HasSubstr("wrong.itch50.gz: message "));
}

TEST(BinaryFile, ReadsMessagesOfEveryLengthThroughTheSmallestBuffer) {
  Bytes framed;
  for (std::size_t length = 1; length <= 0xffff; length += 97) {
    framed.push_back(static_cast<std::byte>(length >> 8));
    framed.push_back(static_cast<std::byte>(length));
    framed.insert(framed.end(), length, static_cast<std::byte>(length));
  }
  framed.resize(framed.size() + 2);
  BinaryFileReader reader(test_support::open_memory(framed, "m"), kMaxFrameBytes);
  RecordedMessage message;
  std::size_t length = 1;
  for (; reader.next(message) == ReadStatus::kMessage; length += 97) {
    ASSERT_EQ(message.bytes.size(), length);
    ASSERT_EQ(message.bytes.front(), static_cast<std::byte>(length));
    ASSERT_EQ(message.bytes.back(), static_cast<std::byte>(length));
  }
  EXPECT_EQ(reader.damage(), "");
  EXPECT_GT(length, 0xffffU);
}

TEST(BinaryFile, RefusesDataBehindTheEndOfTheSession) {
  const test::TemporaryFolder folder;
  const auto path = folder / "more.itch50";
  write_recording(path, 2);
  Bytes content = test::read_file(path);
  content.push_back(std::byte{0});
  test::write_file(path, content);
  const auto reader = open_recording(path);
  EXPECT_EQ(test::collect(*reader).messages.size(), 2U);
  EXPECT_EQ(reader->damage(), path + ": message 3 at byte 42: data follows the end of the session");
}

TEST(BinaryFile, ReadsASessionWithoutMessages) {
  const test::TemporaryFolder folder;
  write_recording(folder / "none.itch50", 0);
  const test::Collected all = test::collect(*open_recording(folder / "none.itch50"));
  EXPECT_EQ(all.status, ReadStatus::kEnd);
  EXPECT_TRUE(all.messages.empty());
}

TEST(OpenRecording, RefusesWhatIsNoRecording) {
  const test::TemporaryFolder folder;
  const auto error_for = [&folder](const std::string& name, std::span<const std::byte> content) {
    test::write_file(folder / name, content);
    return error_of([&] { open_recording(folder / name); });
  };
  EXPECT_THAT(error_for("empty.itch50", {}), HasSubstr("empty.itch50: the file is empty"));
  EXPECT_THAT(error_for("text.txt", test::to_bytes("just some text")),
              HasSubstr("text.txt: is not a recording: it starts with no ITCH 5.0 message"));
  EXPECT_THAT(error_for("lobster.zip", test::from_hex("504b0304140000000800")),
              HasSubstr("lobster.zip: is a zip archive: unpack it"));
  EXPECT_THAT(error_for("lobster.7z", test::from_hex("377abcaf271c0004")),
              HasSubstr("lobster.7z: is a 7z archive: unpack it"));
  EXPECT_THAT(error_for("a.pcap", test::from_hex("d4c3b2a1020004000000")),
              HasSubstr("a.pcap: is no packet capture that can be read: truncated"));
  EXPECT_THAT(error_for("wrong_length.itch50", test::from_hex("000d44aabbcc")),
              HasSubstr("starts with no ITCH 5.0 message"));
  EXPECT_THAT(error_for("zeros.itch50", test::from_hex("0000530000000000")),
              HasSubstr("the length of the first message is 0, but its type, S, has 12 bytes"));
  EXPECT_THAT(error_of([&] { open_recording(folder / "absent.itch50"); }),
              EndsWith("absent.itch50: cannot open: No such file or directory"));
  EXPECT_THAT(error_of([&] { open_recording(folder / "."); }), HasSubstr("is a directory"));
}

TEST(BinaryFileWriter, SaysWhatTheDiskSays) {
  EXPECT_EQ(error_of([] { BinaryFileWriter writer("/absent/folder/a.itch50"); }),
            "/absent/folder/a.itch50: cannot create: No such file or directory");
  EXPECT_THAT(error_of([] {
                BinaryFileWriter writer("/dev/full");
                for (std::uint64_t i = 0; i < 200'000; ++i) writer.write(delete_message(i));
                writer.finish();
              }),
              EndsWith("/dev/full: cannot write: No space left on device"));
}

TEST(FrameCursor, StopsInsideEveryTruncationAndReadsNothingBehindTheEnd) {
  const Bytes frames = test::from_hex(
      "0003616263"
      "0001"
      "78"
      "0000");
  for (std::size_t length = 0; length < frames.size(); ++length) {
    const test::GuardedCopy copy{std::span<const std::byte>(frames).first(length)};
    FrameCursor cursor(copy.bytes());
    std::span<const std::byte> message;
    std::size_t count = 0;
    FrameStatus status;
    while ((status = cursor.next(message)) == FrameStatus::kMessage) ++count;
    EXPECT_EQ(status, FrameStatus::kIncomplete);
    EXPECT_EQ(count, length < 5 ? 0U : length < 8 ? 1U : 2U);
  }
}

}  // namespace
}  // namespace tickpath::itch

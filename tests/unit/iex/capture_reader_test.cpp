// Captures of an IEX feed: order, gaps, repetitions, damage, and what else lies in them.
#include "common/iex/capture_reader.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::iex {
namespace {

using itch::test::Bytes;
using itch::test::Frame;
using ::testing::ElementsAre;

constexpr std::uint64_t kTimeNs = 1'784'000'000'000'000'000;

Bytes segment_of(std::uint64_t sequence, const std::vector<std::string>& messages,
                 std::uint32_t session = 7, std::uint16_t protocol = kDeep10) {
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
                .send_time_ns = kTimeNs + sequence},
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

  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("tickpath_iex." + std::to_string(::getpid()) + ".pcap");
};

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

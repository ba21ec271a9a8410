// Bytes behind the data of a gzip file: each format's reader reports them.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/dbn_bytes.hpp"
#include "tests/unit/itch/capture_test_support.hpp"
#include "tests/unit/itch/dbn_messages.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test::mbo;
using testing::HasSubstr;

Bytes gzipped(std::span<const std::byte> content) {
  const test::TemporaryFolder folder;
  const auto sink = files::create_file(folder / "x.gz");
  sink->write(content);
  sink->close();
  return test::read_file(folder / "x.gz");
}

Bytes concatenated(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct WholeFile {
  Bytes bytes;
  std::uint64_t trailing;
  std::string error;
};

// Twice, with a rewind between, in pieces of a size that divides nothing.
WholeFile read_whole(const std::vector<Bytes>& parts) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "x.gz", concatenated(parts));
  const auto source = files::open_file(folder / "x.gz");
  WholeFile whole;
  for (int time = 0; time < 2; ++time) {
    source->rewind();
    whole.bytes.clear();
    std::array<std::byte, 7> piece;
    for (std::size_t got; (got = source->read(piece)) != 0;)
      whole.bytes.insert(whole.bytes.end(), piece.begin(),
                         piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  whole.trailing = source->trailing_bytes();
  whole.error = source->error();
  return whole;
}

TEST(GzipFiles, CountBytesBehindTheLastMemberUnlessTheyAreZero) {
  const Bytes one = test::to_bytes("one member, "), two = test::to_bytes("and another one");
  const auto of = [&](const Bytes& behind) {
    const WholeFile whole = read_whole({gzipped(one), gzipped(two), behind});
    EXPECT_EQ(whole.bytes, concatenated({one, two}));
    EXPECT_EQ(whole.error, "");
    return whole.trailing;
  };
  EXPECT_EQ(of({}), 0u);
  EXPECT_EQ(of(Bytes(1'000)), 0u) << "as tapes leave them";
  EXPECT_EQ(of(test::to_bytes("this is no gzip")), 15u);
  EXPECT_EQ(of(test::from_hex("00")), 0u);
  EXPECT_EQ(of(test::from_hex("1f")), 1u);
  EXPECT_EQ(of(test::from_hex("1f8c0800")), 4u);
  EXPECT_EQ(of(test::from_hex("000001")), 3u);
}

TEST(GzipFiles, WithAMemberThatIsCutOrWrongAreDamaged) {
  const Bytes one = test::to_bytes("one member");
  Bytes cut = gzipped(one), wrong = cut;
  cut.resize(cut.size() - 1);
  wrong[wrong.size() - 5] ^= std::byte{1};  // of the checksum
  EXPECT_EQ(read_whole({gzipped(one), cut}).error, "unexpected end of compressed data");
  EXPECT_EQ(read_whole({gzipped(one), wrong}).error, "incorrect data check");
  EXPECT_EQ(read_whole({gzipped(one), test::from_hex("1f8b")}).error,
            "unexpected end of compressed data");
}

// The remarks of a recording, compressed, with 5 bytes behind it that are none of it.
std::string remarks_of_gzipped(const std::string& name, std::span<const std::byte> content) {
  const test::TemporaryFolder folder;
  test::write_file(folder / name, concatenated({gzipped(content), test::to_bytes("trail")}));
  const auto reader = open_recording(folder / name);
  EXPECT_EQ(test::collect(*reader).status, ReadStatus::kEnd) << name << ": " << reader->damage();
  return reader->remarks();
}

TEST(GzipFiles, OfEveryFormatTellIt) {
  const auto tells = HasSubstr("5 bytes behind the gzip data are none of it, left out");
  const Bytes message = test::encoded(
      SystemEvent{.header = {.timestamp = 1'000}, .event_code = SystemEvent::kStartOfMessages});
  EXPECT_THAT(remarks_of_gzipped("x.itch50.gz", concatenated({test::from_hex("000c"), message})),
              tells);
  EXPECT_THAT(remarks_of_gzipped("x.dbn.gz", test::file_of({mbo('A', 'B', 1, 100, 5)})), tells);
  EXPECT_THAT(
      remarks_of_gzipped("x.csv.gz", test::to_bytes("ts_event,instrument_id,action,side,price,size,"
                                                    "order_id\n5,1,A,B,1.5,1,9\n")),
      tells);
  EXPECT_THAT(remarks_of_gzipped("A_2020-01-30_1_2_message_1.csv.gz",
                                 test::to_bytes("34200.5,1,11,100,1000000,1\n")),
              tells);
  EXPECT_THAT(
      remarks_of_gzipped("x.pcap.gz",
                         test::pcap_file({test::udp_frame(1, test::mold_packet(1, {message}))})),
      tells);
}

// RFC 8878, 3.1.2: of any of sixteen magic numbers, anywhere between the frames.
TEST(ZstandardFiles, SkippableFramesAreSkippedWhereverTheyAre) {
  const test::TemporaryFolder folder;
  const auto compressed = [&](std::span<const std::byte> content) {
    const auto sink = files::create_file(folder / "part.zst");
    sink->write(content);
    sink->close();
    return test::read_file(folder / "part.zst");
  };
  const Bytes message =
      concatenated({test::from_hex("000c"),
                    test::encoded(SystemEvent{.header = {.timestamp = 1'000}, .event_code = 'O'})});
  const Bytes empty = test::from_hex("502a4d1800000000"),
              three = test::from_hex("5f2a4d1803000000aabbcc");
  test::write_file(folder / "x.itch50.zst", concatenated({three, empty, compressed(message), three,
                                                          compressed(message), empty}));
  const auto reader = open_recording(folder / "x.itch50.zst");
  EXPECT_EQ(test::collect(*reader).messages.size(), 2u);
  EXPECT_EQ(reader->damage(), "");
}

TEST(GzipFiles, GarbageAtTheEndIsToldOfACaseAsRecorded) {
  const auto path = test_support::case_file("13-gzip-garbage-at-the-end/mmjunk.dbn.gz");
  TICKPATH_NEED_DATA(path);
  const auto reader = open_recording(path);
  EXPECT_EQ(test::collect(*reader).messages.size(), 7u);
  EXPECT_EQ(reader->damage(), "");
  EXPECT_THAT(reader->remarks(), HasSubstr("15 bytes behind the gzip data are none of it"));
}

}  // namespace
}  // namespace tickpath::itch

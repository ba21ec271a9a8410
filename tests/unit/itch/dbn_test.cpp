// Databento DBN, market by order: the format, and damage.
#include <algorithm>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/dbn_csv_reader.hpp"
#include "common/feeds/recordings/dbn_reader.hpp"
#include "tests/support/dbn_bytes.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/dbn_messages.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test::file_of;
using test::kDbnMidnightNs;
using test::mbo;
using test::MboMessage;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Dbn, ReadsAMarketByOrderRecordFieldByField) {
  const Bytes bytes = test::from_hex(
      "0ea00200"
      "0b000000"
      "0807060504030201"
      "1817161514131211"
      "00ca9a3b00000000"
      "64000000"
      "80"
      "07"
      "41"
      "42"
      "2827262524232221"
      "e8030000"
      "2a000000");
  ASSERT_EQ(bytes.size(), dbn::kMboBytes);
  const MboMessage message = dbn::load_mbo(bytes.data());
  EXPECT_EQ(message, (MboMessage{.publisher = 2,
                                 .instrument = 11,
                                 .event_time_ns = 0x0102030405060708,
                                 .order_id = 0x1112131415161718,
                                 .price = test::kDbnDollar,
                                 .size = 100,
                                 .flags = 0x80,
                                 .channel = 7,
                                 .action = 'A',
                                 .side = 'B',
                                 .receive_time_ns = 0x2122232425262728,
                                 .in_delta_ns = 1'000,
                                 .sequence = 42}));
  Bytes again(dbn::kMboBytes);
  test_support::store_mbo(message, again.data());
  EXPECT_EQ(again, bytes);
}

TEST(Dbn, ReadsTheMetadataOfEveryVersion) {
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    const Bytes file = file_of({mbo('A', 'B', 1, 100, 10)}, version);
    DbnReader reader(test_support::open_memory(file, "made.dbn"));
    EXPECT_EQ(reader.metadata().version, version);
    EXPECT_EQ(reader.metadata().dataset, "XNAS.ITCH");
    EXPECT_EQ(reader.metadata().symbols,
              (std::map<std::uint32_t, std::string>{{11, "AAPL"}, {12, "A VERY LONG SYMBOL"}}));
    EXPECT_THAT(texts(reader), ElementsAre("R AAPL", "R #C", "A B 1 10@1000000"));
    EXPECT_THAT(reader.remarks(), HasSubstr("version " + std::to_string(version)));
  }
}

TEST(Dbn, RefusesMetadataThatIsCutShortOrOfAnotherSchema) {
  const Bytes file =
      test_support::encode_metadata({.dataset = "XNAS.ITCH", .symbols = {{11, "AAPL"}}});
  for (std::size_t size = 3; size < file.size(); ++size) {
    const test::GuardedCopy cut(std::span<const std::byte>(file).first(size));
    EXPECT_THROW(DbnReader(test_support::open_memory(cut.bytes(), "cut.dbn")), RecordingError)
        << size;
  }
  const Bytes other = test_support::encode_metadata({.schema = 1});
  const std::string error = test_support::error_of<RecordingError>(
      [&] { DbnReader reader(test_support::open_memory(other, "mbp.dbn")); });
  EXPECT_THAT(error, HasSubstr("mbp.dbn"));
  EXPECT_THAT(error, HasSubstr("schema is mbp-1 (number 1); books of single orders are wanted"));
}

TEST(Dbn, PlaysUpToTheDamageAndSaysWhereItIs) {
  std::vector<MboMessage> messages;
  for (std::uint64_t i = 1; i <= 20; ++i) messages.push_back(mbo('A', 'B', i, 100, 5));
  const Bytes file = file_of(messages);
  const std::size_t begin = file.size() - 20 * dbn::kMboBytes;
  for (std::size_t size = begin; size <= file.size(); ++size) {
    const test::GuardedCopy cut(std::span<const std::byte>(file).first(size));
    DbnReader reader(test_support::open_memory(cut.bytes(), "cut.dbn"));
    const std::size_t whole = (size - begin) / dbn::kMboBytes;
    EXPECT_EQ(texts(reader).size(), whole == 0 ? 0 : whole + 2);
    if ((size - begin) % dbn::kMboBytes == 0) {
      EXPECT_EQ(reader.damage(), "");
      continue;
    }
    EXPECT_THAT(reader.damage(),
                HasSubstr("cut.dbn: record " + std::to_string(whole + 1) + " at byte " +
                          std::to_string(begin + whole * dbn::kMboBytes) + ": truncated: "));
  }
  Bytes wrong = file;
  wrong[begin + 3 * dbn::kMboBytes] = std::byte{1};
  DbnReader reader(test_support::open_memory(wrong, "wrong.dbn"));
  EXPECT_EQ(texts(reader).size(), 5u);
  EXPECT_THAT(reader.damage(), HasSubstr("wrong.dbn: record 4 at byte "));
  EXPECT_THAT(reader.damage(), HasSubstr("a length of 4 bytes"));
}

TEST(Dbn, SurvivesAnyDamage) {
  std::vector<MboMessage> messages;
  for (std::uint64_t i = 1; i <= 30; ++i)
    messages.push_back(
        mbo("ACMFTR"[i % 6], i % 2 == 0 ? 'A' : 'B', i % 5, i % 3 == 0 ? 100 : 101, 5));
  const Bytes file = file_of(messages);
  std::mt19937 random(8);
  for (int trial = 0; trial < 500; ++trial) {
    Bytes hurt = file;
    for (int i = 0; i < 4; ++i) hurt[random() % hurt.size()] = static_cast<std::byte>(random());
    try {
      DbnReader reader(test_support::open_memory(hurt, "hurt.dbn"));
      const test::Collected all = test::collect(reader);
      EXPECT_EQ(all.status == ReadStatus::kDamaged, !reader.damage().empty());
      EXPECT_TRUE(std::ranges::is_sorted(all.times));
    } catch (const RecordingError&) {
    }
  }
}

// Recorded files: a day whose book's snapshot has Sunday's times, and a live stream.
TEST(DbnRecordings, HaveTheTimesAndNamesThatTheirVenueGave) {
  const auto day = test_support::data_folder() / "dbn/ESM4_20240508_mbo.dbn.zst";
  const auto live = test_support::data_folder() / "dbn/live.dbn.zst";
  const auto levels = test_support::data_folder() / "dbn/GLBX.MDP3.mbp-10.dbn.zst";
  TICKPATH_NEED_DATA(day);
  const auto reader = open_recording(day);
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(reader->midnight_ns(), 1'715'126'400'000'000'000u) << "2024-05-08";
  EXPECT_LT(all.times.back(), 3'000'000'000u);
  EXPECT_EQ(timestamp_ns(all.messages.back().data()), all.times.back());
  EXPECT_THAT(reader->remarks(), HasSubstr("told at the time of the snapshot"));
  EXPECT_THAT(reader->remarks(), Not(HasSubstr("fills without their cancel")));
  TICKPATH_NEED_DATA(live);
  EXPECT_THAT(texts(*open_recording(live)), ::testing::Contains("R ESZ4"));
  TICKPATH_NEED_DATA(levels);
  EXPECT_THAT([&] { (void)open_recording(levels); },
              ::testing::ThrowsMessage<RecordingError>(HasSubstr("schema is mbp-10")));
}

// The lines of Databento's CSV, with and without "pretty" prices and times.
TEST(DbnCsv, IsReadAsItsDbnWouldBe) {
  const test::TemporaryFolder folder;
  const auto write = [&folder](const std::string& name, const std::string& text) {
    test::write_file(folder / name, test::to_bytes(text));
    return folder / name;
  };
  const auto plain = write(
      "plain.csv",
      "ts_recv,ts_event,rtype,publisher_id,instrument_id,action,side,price,size,channel_id,order_"
      "id,"
      "flags,ts_in_delta,sequence\n"
      "1715175000000001000,1715175000000000000,160,1,5602,A,B,5156250000000,3,0,900,128,7,1\n"
      "1715175000000002000,1715175000000001500,160,1,5602,A,A,5156500000000,4,0,901,128,7,2\n"
      "1715175000000003000,1715175000000002500,160,1,5602,C,B,5156250000000,3,0,900,128,7,3\r\n");
  const auto pretty = write(
      "pretty.csv.gz",
      "ts_recv,ts_event,instrument_id,action,side,price,size,order_id,symbol\n"
      "2024-05-08T13:30:00.000001000Z,2024-05-08T13:30:00Z,5602,A,B,5156.250000000,3,900,ESM4\n"
      "2024-05-08T13:30:00.000002Z,2024-05-08T13:30:00.0000015Z,5602,A,A,5156.5,4,901,ESM4\n"
      "2024-05-08T13:30:00.000003Z,2024-05-08T13:30:00.0000025Z,5602,C,B,5156.25,3,900,ESM4\n"
      "2024-05-08T13:30:00.000003Z,2024-05-08T13:30:00.0000025Z,9,N,N,,0,0,NQM4\n");
  constexpr std::uint64_t kTimeNs = (13 * 60 + 30) * 60'000'000'000ull;
  {
    const auto reader = open_recording(plain);
    EXPECT_EQ(reader->format(), RecordingFormat::kDatabentoCsv);
    EXPECT_THAT(texts(*reader),
                ElementsAre("R #4BM", "A B 1 3@51562500", "A S 2 4@51565000", "D 1"));
    EXPECT_EQ(reader->damage(), "");
    EXPECT_EQ(reader->midnight_ns(), 1'715'126'400'000'000'000u);
  }
  EXPECT_THAT(test::collect(*open_recording(plain)).times,
              ElementsAre(kTimeNs, kTimeNs, kTimeNs + 1'500, kTimeNs + 2'500));
  const auto reader = open_recording(pretty);
  EXPECT_THAT(texts(*reader),
              ElementsAre("R NQM4", "R ESM4", "A B 1 3@51562500", "A S 2 4@51565000", "D 1"));
  EXPECT_THAT(reader->remarks(), HasSubstr("4 records of market by order, times UTC"));
}

TEST(DbnCsv, SaysWhichColumnOrLineIsWrong) {
  const std::string header = "ts_event,instrument_id,action,side,price,size,order_id\n";
  const auto damage_of = [&header](const std::string& line) {
    const Bytes bytes = test::to_bytes(header + line + "\n");
    DbnCsvReader reader(test_support::open_memory(bytes, "x.csv"));
    EXPECT_EQ(test::collect(reader).status, ReadStatus::kDamaged) << line;
    return reader.damage();
  };
  EXPECT_THAT(damage_of("5,1,A,B,1.5,1"), HasSubstr("x.csv: line 2: not 7 fields"));
  EXPECT_THAT(damage_of("x,1,A,B,1.5,1,9"), HasSubstr("line 2: ts_event is \"x\""));
  EXPECT_THAT(damage_of("2024-13-08T13:30:00Z,1,A,B,1.5,1,9"), HasSubstr("ts_event is"));
  EXPECT_THAT(damage_of("5,-1,A,B,1.5,1,9"), HasSubstr("instrument_id is \"-1\""));
  EXPECT_THAT(damage_of("5,1,AA,B,1.5,1,9"), HasSubstr("action is \"AA\""));
  EXPECT_THAT(damage_of("5,1,A,,1.5,1,9"), HasSubstr("side is \"\""));
  EXPECT_THAT(damage_of("5,1,A,B,1.5e3,1,9"), HasSubstr("price is \"1.5e3\""));
  EXPECT_THAT(damage_of("5,1,A,B,99999999999999.5,1,9"), HasSubstr("price is"));
  const Bytes other = test::to_bytes("ts_event,instrument_id,action,side,price,size\n");
  EXPECT_THAT(test_support::error_of<RecordingError>(
                  [&] { DbnCsvReader reader(test_support::open_memory(other, "trades.csv")); }),
              HasSubstr("trades.csv: is Databento's CSV without the column order_id"));
}

TEST(Dbn, CompressedOrNotIsOpenedByItsContent) {
  const test::TemporaryFolder folder;
  const Bytes file = file_of({mbo('A', 'B', 1, 100, 5), mbo('C', 'B', 1, 100, 5)});
  for (const char* name : {"x.dbn", "x.dbn.zst", "x.dbn.gz"}) {
    const auto sink = files::create_file(folder / name);
    sink->write(file);
    sink->close();
    const auto reader = open_recording(folder / name);
    EXPECT_EQ(reader->format(), RecordingFormat::kDatabento);
    EXPECT_THAT(texts(*reader), ElementsAre("R AAPL", "R #C", "A B 1 5@1000000", "D 1")) << name;
  }
}

// RFC 8878, section 3.1.2: whoever wrote it may begin with bytes of its own, as pzstd does.
TEST(Dbn, IsOpenedBehindAFrameThatZstandardSkips) {
  const test::TemporaryFolder folder;
  const auto sink = files::create_file(folder / "x.dbn.zst");
  sink->write(file_of({mbo('A', 'B', 1, 100, 5)}));
  sink->close();
  const std::string frames = test_support::read_file(folder / "x.dbn.zst");
  const std::string skipped{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
  test_support::write_file(folder / "skipped.dbn.zst", skipped + frames);
  EXPECT_THAT(texts(*open_recording(folder / "skipped.dbn.zst")),
              ElementsAre("R AAPL", "R #C", "A B 1 5@1000000"));
}

TEST(Dbn, SaysWhereCompressedDataEndsTooEarly) {
  const test::TemporaryFolder folder;
  std::mt19937_64 random(4);
  std::vector<MboMessage> messages;
  for (int i = 0; i < 50'000; ++i) messages.push_back(mbo('A', 'B', random(), 100, 5));
  const Bytes file = file_of(messages);
  const auto sink = files::create_file(folder / "cut.dbn.zst");
  sink->write(file);
  sink->close();
  std::filesystem::resize_file(folder / "cut.dbn.zst",
                               std::filesystem::file_size(folder / "cut.dbn.zst") * 2 / 3);
  const auto reader = open_recording(folder / "cut.dbn.zst");
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.status, ReadStatus::kDamaged);
  EXPECT_GT(all.messages.size(), 1'000u);
  EXPECT_LT(all.messages.size(), 50'000u);
  EXPECT_THAT(reader->damage(), HasSubstr("cut.dbn.zst: record "));
  EXPECT_THAT(reader->damage(), HasSubstr("unexpected end of compressed data"));
}

}  // namespace
}  // namespace tickpath::itch

// Databento DBN, market by order: the format, what becomes of each action, and damage.
#include <algorithm>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/recordings/dbn_csv_reader.hpp"
#include "sim/recordings/dbn_reader.hpp"
#include "tests/support/dbn_bytes.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using dbn::MboMessage;
using test::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMidnightNs = 20'000ull * 86'400 * 1'000'000'000;
constexpr std::int64_t kDollar = 1'000'000'000;

MboMessage mbo(char action, char side, std::uint64_t order, double dollars, std::uint32_t size,
               std::uint32_t instrument = 11) {
  return {.publisher = 2,
          .instrument = instrument,
          .event_time_ns = kMidnightNs + 34'200'000'000'000,
          .order_id = order,
          .price = static_cast<std::int64_t>(dollars * kDollar),
          .size = size,
          .flags = 0x80,
          .action = action,
          .side = side,
          .receive_time_ns = kMidnightNs + 34'200'000'001'000};
}

Bytes file_of(const std::vector<MboMessage>& messages, std::uint8_t version = 3) {
  Bytes bytes =
      test_support::encode_metadata({.version = version,
                                     .dataset = "XNAS.ITCH",
                                     .symbols = {{11, "AAPL"}, {12, "A VERY LONG SYMBOL"}}});
  for (const MboMessage& message : messages) {
    bytes.resize(bytes.size() + dbn::kMboBytes);
    test_support::store_mbo(message, &bytes[bytes.size() - dbn::kMboBytes]);
  }
  return bytes;
}

// "A B 1 100@1000000": type and what it says, without header.
struct Describe {
  std::string text;
  void operator()(const StockDirectory& m) { text = "R " + std::string(m.stock.view()); }
  void operator()(const AddOrder& m) {
    text = std::string("A ") + m.buy_sell_indicator + " " +
           std::to_string(m.order_reference_number) + " " + std::to_string(m.shares) + "@" +
           std::to_string(m.price);
  }
  void operator()(const OrderExecuted& m) {
    text =
        "E " + std::to_string(m.order_reference_number) + " " + std::to_string(m.executed_shares);
  }
  void operator()(const OrderExecutedWithPrice& m) {
    text = "C " + std::to_string(m.order_reference_number) + " " +
           std::to_string(m.executed_shares) + "@" + std::to_string(m.execution_price);
  }
  void operator()(const OrderCancel& m) {
    text =
        "X " + std::to_string(m.order_reference_number) + " " + std::to_string(m.cancelled_shares);
  }
  void operator()(const OrderDelete& m) { text = "D " + std::to_string(m.order_reference_number); }
  void operator()(const OrderReplace& m) {
    text = "U " + std::to_string(m.original_order_reference_number) + " " +
           std::to_string(m.new_order_reference_number) + " " + std::to_string(m.shares) + "@" +
           std::to_string(m.price);
  }
  void operator()(const NonCrossTrade& m) {
    text = "P " + std::to_string(m.shares) + "@" + std::to_string(m.price);
  }
  void operator()(const auto&) { text = "?"; }
};

std::vector<std::string> texts(RecordingReader& reader) {
  std::vector<std::string> all;
  for (const Bytes& message : test::collect(reader).messages) {
    Describe describe;
    EXPECT_EQ(decode(message, describe), DecodeStatus::kOk);
    all.push_back(describe.text);
  }
  return all;
}
// Without the listing of the instruments that the metadata names.
std::vector<std::string> converted(const std::vector<MboMessage>& messages) {
  const Bytes file = file_of(messages);
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  std::vector<std::string> all = texts(reader);
  EXPECT_THAT(all, ::testing::IsSupersetOf({"R AAPL", "R #C"}));
  all.erase(all.begin(), all.begin() + 2);
  return all;
}

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
                                 .price = kDollar,
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

TEST(Dbn, AddsCancelsAndModifiesBecomeTheirMessages) {
  EXPECT_THAT(converted({mbo('A', 'B', 900, 100, 50), mbo('A', 'A', 901, 101.5, 70),
                         mbo('C', 'B', 900, 100, 20), mbo('M', 'A', 901, 101.5, 60),
                         mbo('M', 'A', 901, 101.5, 80), mbo('M', 'A', 901, 102, 80),
                         mbo('C', 'B', 900, 100, 30), mbo('M', 'B', 902, 99, 5)}),
              ElementsAre("A B 1 50@1000000", "A S 2 70@1015000", "X 1 20", "X 2 10",
                          "U 2 3 80@1015000", "U 3 4 80@1020000", "D 1", "A B 5 5@990000"));
}

TEST(Dbn, AFillExecutesAndTheCancelBehindItTakesNothingTwice) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 900, 100, 50), mbo('T', 'A', 0, 100, 20),
                 mbo('F', 'B', 900, 100, 20), mbo('C', 'B', 900, 100, 20),
                 mbo('F', 'B', 900, 99.5, 10), mbo('C', 'B', 900, 100, 25),  // 15 by its owner
                 mbo('F', 'B', 900, 100, 15), mbo('C', 'B', 900, 100, 15),
                 mbo('A', 'B', 900, 98, 1)}),  // the id may be used again
      ElementsAre("A B 1 50@1000000", "E 1 20", "C 1 10@995000", "X 1 15", "E 1 5",
                  "A B 2 1@980000"));
}

TEST(Dbn, AModifyBehindAFillSaysWhatRests) {
  EXPECT_THAT(converted({mbo('A', 'A', 900, 100, 50), mbo('F', 'A', 900, 100, 20),
                         mbo('M', 'A', 900, 100, 30), mbo('C', 'A', 900, 100, 30)}),
              ElementsAre("A S 1 50@1000000", "E 1 20", "D 1"));
}

TEST(Dbn, HiddenTradesAndClearedBooks) {
  EXPECT_THAT(
      converted({mbo('A', 'A', 900, 100, 50), mbo('A', 'B', 901, 99, 40), mbo('T', 'N', 0, 99.5, 7),
                 mbo('R', 'N', 0, 0, 0), mbo('C', 'B', 901, 99, 40), mbo('N', 'N', 0, 0, 0)}),
      ElementsAre("A S 1 50@1000000", "A B 2 40@990000", "P 7@995000", "D 1", "D 2"));
}

MboMessage of_snapshot(MboMessage message) {
  message.flags = dbn::kSnapshot;
  return message;
}

// Databento begins anew at midnight and after a loss. Whoever queues behind 1 and 2 stays there.
TEST(Dbn, AnOrderThatASnapshotShowsAgainKeepsItsPlace) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 100, 100), mbo('A', 'B', 902, 100, 200),
                 mbo('A', 'B', 903, 99, 10), mbo('A', 'A', 904, 110, 500),
                 of_snapshot(mbo('R', 'N', 0, 0, 0)), of_snapshot(mbo('A', 'B', 902, 100, 150)),
                 of_snapshot(mbo('A', 'B', 901, 100, 100)),
                 of_snapshot(mbo('A', 'A', 904, 110, 600)), of_snapshot(mbo('A', 'B', 905, 100, 5)),
                 mbo('C', 'B', 901, 100, 50)}),
      ElementsAre("A B 1 100@1000000", "A B 2 200@1000000", "A B 3 10@990000",
                  "A S 4 500@1100000",                                             // before
                  "X 2 50", "D 3", "D 4", "A S 5 600@1100000", "A B 6 5@1000000",  // the snapshot
                  "X 1 50"));
}

TEST(Dbn, ASnapshotWithNothingBehindItIsToldAllTheSame) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 100, 100), of_snapshot(mbo('R', 'N', 0, 0, 0)),
                 of_snapshot(mbo('A', 'B', 902, 99, 1)), of_snapshot(mbo('R', 'N', 0, 0, 0, 12)),
                 of_snapshot(mbo('A', 'B', 902, 98, 2, 12))}),
      ElementsAre("A B 1 100@1000000", "D 1", "A B 2 1@990000", "A B 3 2@980000"));
}

TEST(Dbn, InstrumentsHaveTheirOwnOrdersAndNames) {
  const Bytes file = file_of({mbo('A', 'B', 1, 100, 5), mbo('A', 'B', 1, 50, 6, 12),
                              mbo('C', 'B', 1, 100, 5), mbo('A', 'S', 2, 10, 1, 99)});
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  // Those of the metadata come first: whoever waits for one finds it.
  EXPECT_THAT(texts(reader), ElementsAre("R AAPL", "R #C", "A B 1 5@1000000", "A B 2 6@500000",
                                         "D 1", "R #2R", "A S 3 1@100000"));
  EXPECT_THAT(reader.names(), ElementsAre(std::pair("#C", "A VERY LONG SYMBOL")));
  EXPECT_THAT(reader.remarks(), HasSubstr("#C is A VERY LONG SYMBOL"));
}

TEST(Dbn, LeavesOutAndCountsWhatItchCannotSay) {
  MboMessage top = mbo('A', 'B', 1, 100, 5), other = mbo('A', 'B', 2, 100, 5);
  top.flags = dbn::kTopOfBook;
  other.publisher = 3;
  MboMessage unpriced = mbo('A', 'B', 3, 100, 5), fine = mbo('A', 'B', 4, 100.00005, 5);
  unpriced.price = dbn::kNoPrice;
  const Bytes file =
      file_of({mbo('A', 'B', 9, 100, 5), top, other, unpriced, mbo('A', 'B', 5, -1, 5),
               mbo('A', 'B', 6, 500'000, 5), fine, mbo('C', 'B', 7, 100, 5),
               mbo('A', 'B', 9, 101, 5), mbo('?', 'B', 9, 101, 5)});
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  EXPECT_THAT(texts(reader), ElementsAre("R AAPL", "R #C", "A B 1 5@1000000", "A B 2 5@1000000",
                                         "D 1", "A B 3 5@1010000"));
  EXPECT_EQ(reader.counts().not_by_order, 1u);
  EXPECT_EQ(reader.counts().other_publishers, 1u);
  EXPECT_EQ(reader.counts().unusable_prices, 3u);
  EXPECT_EQ(reader.counts().rounded_prices, 1u);
  EXPECT_EQ(reader.counts().unknown_orders, 1u);
  EXPECT_EQ(reader.counts().repeated_orders, 1u);
  EXPECT_EQ(reader.counts().unknown_actions, 1u);
  EXPECT_THAT(reader.remarks(), HasSubstr("1 of other venues left out"));
}

TEST(Dbn, TimesAreSinceMidnightAndNeverGoBack) {
  std::vector<MboMessage> messages{mbo('A', 'B', 1, 100, 5), mbo('A', 'B', 2, 100, 5),
                                   mbo('A', 'B', 3, 100, 5)};
  messages[1].event_time_ns -= 5'000;
  messages[2].event_time_ns = dbn::kNoTime;
  const Bytes file = file_of(messages);
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  EXPECT_THAT(test::collect(reader).times,
              ElementsAre(34'200'000'000'000, 34'200'000'000'000, 34'200'000'000'000,
                          34'200'000'000'000, 34'200'000'001'000));
  EXPECT_EQ(reader.counts().time_reversals, 1u);
  EXPECT_EQ(reader.midnight_ns(), kMidnightNs);
}

// A CME day file begins with a snapshot, whose orders came days ago; a week has more than the 78
// hours that ITCH's 48 bits of nanoseconds can say.
TEST(Dbn, TimesGoOnOverAnyNumberOfDays) {
  constexpr std::uint64_t kDayNs = 86'400'000'000'000;
  std::vector<MboMessage> messages;
  for (std::uint64_t i = 0; i < 8; ++i) messages.push_back(mbo('A', 'B', i + 1, 100, 5));
  for (MboMessage& message : messages) message.receive_time_ns = message.event_time_ns;
  messages[0].flags |= dbn::kSnapshot;
  messages[0].event_time_ns -= 3 * kDayNs;
  for (std::uint64_t i = 2; i < 8; ++i) {
    messages[i].event_time_ns += (i - 1) * kDayNs;
    messages[i].receive_time_ns = messages[i].event_time_ns;
  }
  messages[7].event_time_ns = messages[7].receive_time_ns += 500 * kDayNs;  // damage, not time
  const Bytes file = file_of(messages);
  DbnReader reader(test_support::open_memory(file, "week.dbn"));
  const test::Collected all = test::collect(reader);
  constexpr std::uint64_t kOpenNs = 34'200'000'000'000;
  EXPECT_THAT(all.times,
              ElementsAre(kOpenNs, kOpenNs, kOpenNs, kOpenNs, kOpenNs + kDayNs,
                          kOpenNs + 2 * kDayNs, kOpenNs + 3 * kDayNs, kOpenNs + 4 * kDayNs,
                          kOpenNs + 5 * kDayNs, kOpenNs + 5 * kDayNs));
  for (const Bytes& message : all.messages) EXPECT_EQ(timestamp_ns(message.data()), kOpenNs);
  EXPECT_EQ(reader.counts().snapshot_times, 1u);
  EXPECT_EQ(reader.counts().unusable_times, 1u);
  EXPECT_EQ(reader.midnight_ns(), kMidnightNs);
  EXPECT_THAT(reader.remarks(), HasSubstr("1 told at the time of the snapshot"));
}

// What a symbol mapping says in a stream of this version.
Bytes mapping(std::uint32_t instrument, const std::string& asked, const std::string& symbol,
              std::uint8_t version) {
  const std::size_t symbol_bytes = version == 1 ? 22 : 71;
  const std::size_t kind = version == 1 ? 0 : 1;
  Bytes bytes(version == 1 ? 80 : 176);
  bytes[0] = static_cast<std::byte>(bytes.size() / 4);
  bytes[1] = std::byte{dbn::kSymbolMapping};
  std::memcpy(&bytes[4], &instrument, sizeof(instrument));
  std::memcpy(&bytes[dbn::kHeaderBytes + kind], asked.data(), asked.size());
  std::memcpy(&bytes[dbn::kHeaderBytes + 2 * kind + symbol_bytes], symbol.data(), symbol.size());
  return bytes;
}

TEST(Dbn, SymbolMappingsInTheStreamNameTheirInstruments) {
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    Bytes file = test_support::encode_metadata({.version = version, .dataset = "GLBX.MDP3"});
    const auto append = [&file](const Bytes& record) {
      file.insert(file.end(), record.begin(), record.end());
    };
    const auto append_order = [&](std::uint64_t order, std::uint32_t instrument) {
      Bytes record(dbn::kMboBytes);
      test_support::store_mbo(mbo('A', 'B', order, 100, 5, instrument), record.data());
      append(record);
    };
    append(mapping(7, "ES.FUT", "ESZ4", version));
    append_order(1, 7);
    append(mapping(8, "NQZ4", "8", version));
    append(mapping(9, "bad\xff", "", version));
    append(mapping(10, "x", "ESZ4", version));  // taken
    append(mapping(7, "ES.FUT", "ESH5", version));
    append_order(2, 8);
    DbnReader reader(test_support::open_memory(file, "live.dbn"));
    EXPECT_THAT(texts(reader), ElementsAre("R ESZ4", "A B 1 5@1000000", "R NQZ4", "R #9", "R #A",
                                           "D 1", "R ESH5", "A B 2 5@1000000"));
    EXPECT_EQ(reader.counts().renamed, 1u);
    EXPECT_THAT(reader.names(), ElementsAre(std::pair("#9", "bad?"), std::pair("#A", "ESZ4")));
    EXPECT_THAT(reader.remarks(), HasSubstr("5 symbol mappings in the stream"));
  }
}

// Symbols with the prices of their orders.
struct PricesBySymbol {
  std::vector<std::pair<std::string, std::uint32_t>> adds;
  int deletes = 0;
  void operator()(const AddOrder& m) { adds.emplace_back(m.stock.view(), m.price / 10'000); }
  void operator()(const OrderDelete&) { ++deletes; }
  void operator()(const auto&) {}
};

// On the second day each instrument has the other one's name.
std::vector<MboMessage> swapped_days() {
  std::vector<MboMessage> messages{mbo('A', 'B', 1, 10, 5, 100), mbo('A', 'B', 2, 20, 5, 101),
                                   mbo('A', 'B', 3, 20, 5, 100), mbo('A', 'B', 4, 10, 5, 101)};
  for (MboMessage& message : std::span(messages).subspan(2)) {
    message.event_time_ns += 86'400'000'000'000;
    message.receive_time_ns += 86'400'000'000'000;
  }
  return messages;
}

TEST(Dbn, ANameIsThatOfItsDay) {
  Bytes file = test_support::encode_metadata({.dataset = "XNAS.ITCH",
                                              .mappings = {{2024'10'04, 2024'10'05, 100, "AAA"},
                                                           {2024'10'05, 2024'10'06, 101, "AAA"},
                                                           {2024'10'04, 2024'10'05, 101, "BBB"},
                                                           {2024'10'05, 2024'10'06, 100, "BBB"}}});
  for (const MboMessage& message : swapped_days()) {
    file.resize(file.size() + dbn::kMboBytes);
    test_support::store_mbo(message, &file[file.size() - dbn::kMboBytes]);
  }
  DbnReader reader(test_support::open_memory(file, "days.dbn"));
  PricesBySymbol told;
  for (const Bytes& message : test::collect(reader).messages)
    EXPECT_EQ(decode(message, told), DecodeStatus::kOk);
  EXPECT_THAT(told.adds, ElementsAre(std::pair("AAA", 10u), std::pair("BBB", 20u),
                                     std::pair("BBB", 20u), std::pair("AAA", 10u)));
  EXPECT_EQ(told.deletes, 2) << "what rested on the day before";
  EXPECT_TRUE(reader.names().empty());
}

// As lines of CSV name them, one after the other.
TEST(Dbn, WhoIsGivenANameTakesItFromAnother) {
  DbnOrders orders({});
  PricesBySymbol told;
  const char* const names[] = {"AAA", "BBB", "BBB", "AAA"};
  const std::vector<MboMessage> messages = swapped_days();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    orders.name(messages[i].instrument, names[i]);
    orders.take(messages[i]);
  }
  for (RecordedMessage message; orders.next(message);)
    EXPECT_EQ(decode(message.bytes, told), DecodeStatus::kOk);
  EXPECT_THAT(told.adds, ElementsAre(std::pair("AAA", 10u), std::pair("BBB", 20u),
                                     std::pair("BBB", 20u), std::pair("AAA", 10u)));
  EXPECT_EQ(told.deletes, 2);
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

// Orders as Databento's own books have them (trades and fills change nothing, cancels and modifies
// do), and as a book of the ITCH messages has them.
struct Book {
  using Level = std::pair<char, std::uint32_t>;
  void operator()(const AddOrder& m) {
    orders[m.order_reference_number] = {m.buy_sell_indicator, m.price, m.shares};
  }
  void operator()(const OrderExecuted& m) { take(m.order_reference_number, m.executed_shares); }
  void operator()(const OrderExecutedWithPrice& m) {
    take(m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderCancel& m) { take(m.order_reference_number, m.cancelled_shares); }
  void operator()(const OrderDelete& m) { ASSERT_EQ(orders.erase(m.order_reference_number), 1u); }
  void operator()(const OrderReplace& m) {
    auto old = orders.extract(m.original_order_reference_number);
    ASSERT_FALSE(old.empty());
    orders[m.new_order_reference_number] = {std::get<0>(old.mapped()), m.price, m.shares};
  }
  void operator()(const auto&) {}
  void take(std::uint64_t reference, std::uint32_t shares) {
    auto& rests = std::get<2>(orders.at(reference));
    ASSERT_GE(rests, shares);
    if ((rests -= shares) == 0) orders.erase(reference);
  }
  std::map<Level, std::uint64_t> levels() const {
    std::map<Level, std::uint64_t> sums;
    for (const auto& [reference, order] : orders)
      sums[{std::get<0>(order), std::get<1>(order)}] += std::get<2>(order);
    return sums;
  }
  std::map<std::uint64_t, std::tuple<char, std::uint32_t, std::uint32_t>> orders;
};

TEST(Dbn, ABookOfItsMessagesIsDatabentosBookAfterEveryEvent) {
  std::mt19937 random(12);
  DbnOrders orders({});
  Book itch, truth;
  const auto say = [&](const MboMessage& message) {
    orders.take(message);
    for (RecordedMessage converted_to; orders.next(converted_to);)
      ASSERT_EQ(decode(converted_to.bytes, itch), DecodeStatus::kOk);
  };
  std::uint64_t next_id = 1;
  for (int event = 0; event < 6'000; ++event) {
    const char side = random() % 2 == 0 ? 'B' : 'A';
    const auto dollars = static_cast<std::uint32_t>(90 + random() % 10);
    const auto size = static_cast<std::uint32_t>(1 + random() % 50);
    if (truth.orders.size() < 20 || random() % 3 == 0) {
      truth.orders[next_id] = {side == 'B' ? 'B' : 'S', dollars * 10'000, size};
      say(mbo('A', side, next_id++, dollars, size));
    } else {
      auto at = truth.orders.begin();
      std::advance(at, random() % truth.orders.size());
      auto& [its_side, its_price, rests] = at->second;
      const char own = its_side == 'B' ? 'B' : 'A';
      const std::uint32_t part = 1 + static_cast<std::uint32_t>(random() % rests);
      const double price = its_price / 10'000.0;
      switch (random() % 4) {
        case 0:
          say(mbo('M', own, at->first, dollars, size));
          its_price = dollars * 10'000;
          rests = size;
          break;
        case 1:  // a trade, as Nasdaq's are told
          say(mbo('T', own == 'B' ? 'A' : 'B', 0, price, part));
          say(mbo('F', own, at->first, price, part));
          say(mbo('C', own, at->first, price, part));
          rests -= part;
          break;
        case 2:  // and as CME's are, when something is left
          say(mbo('F', own, at->first, price, part));
          rests -= part;
          say(rests == 0 ? mbo('C', own, at->first, price, part)
                         : mbo('M', own, at->first, price, rests));
          break;
        default:
          say(mbo('C', own, at->first, price, part));
          rests -= part;
      }
      if (rests == 0) truth.orders.erase(at);
    }
    if (event % 100 == 99) {  // begun anew, and meanwhile some orders have gone
      say(of_snapshot(mbo('R', 'N', 0, 0, 0)));
      std::erase_if(truth.orders, [&](const auto&) { return random() % 8 == 0; });
      for (const auto& [id, order] : truth.orders) {
        const auto& [its_side, its_price, rests] = order;
        say(of_snapshot(mbo('A', its_side == 'B' ? 'B' : 'A', id, its_price / 10'000.0, rests)));
      }
      say(mbo('N', 'N', 0, 0, 0));
    }
    ASSERT_EQ(itch.levels(), truth.levels()) << event;
  }
  EXPECT_EQ(orders.counts().unknown_orders, 0u);
  EXPECT_GT(itch.orders.size(), 5u);
}

}  // namespace
}  // namespace tickpath::itch

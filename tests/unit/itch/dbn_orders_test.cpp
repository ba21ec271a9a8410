// What becomes of Databento's market by order: actions, snapshots, names, times.
#include "common/feeds/recordings/dbn_orders.hpp"

#include <array>
#include <random>
#include <span>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/dbn_reader.hpp"
#include "tests/unit/itch/dbn_messages.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test::converted;
using test::file_of;
using test::kDbnMidnightNs;
using test::mbo;
using test::MboMessage;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DbnOrders, AddsCancelsAndModifiesBecomeTheirMessages) {
  EXPECT_THAT(converted({mbo('A', 'B', 900, 100, 50), mbo('A', 'A', 901, 101.5, 70),
                         mbo('C', 'B', 900, 100, 20), mbo('M', 'A', 901, 101.5, 60),
                         mbo('M', 'A', 901, 101.5, 80), mbo('M', 'A', 901, 102, 80),
                         mbo('C', 'B', 900, 100, 30), mbo('M', 'B', 902, 99, 5)}),
              ElementsAre("A B 1 50@1000000", "A S 2 70@1015000", "X 1 20", "X 2 10",
                          "U 2 3 80@1015000", "U 3 4 80@1020000", "D 1", "A B 5 5@990000"));
}

TEST(DbnOrders, AFillExecutesAndTheCancelBehindItTakesNothingTwice) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 900, 100, 50), mbo('T', 'A', 0, 100, 20),
                 mbo('F', 'B', 900, 100, 20), mbo('C', 'B', 900, 100, 20),
                 mbo('F', 'B', 900, 99.5, 10), mbo('C', 'B', 900, 100, 25),  // 15 by its owner
                 mbo('F', 'B', 900, 100, 15), mbo('C', 'B', 900, 100, 15),
                 mbo('A', 'B', 900, 98, 1)}),  // the id may be used again
      ElementsAre("A B 1 50@1000000", "E 1 20", "C 1 10@995000", "X 1 15", "E 1 5",
                  "A B 2 1@980000"));
}

// The hidden part of an order, and one that rested before the recording began.
TEST(DbnOrders, AFillOfAnOrderThatIsNotInTheBookIsATradeAllTheSame) {
  EXPECT_THAT(converted({mbo('A', 'A', 900, 100.02, 50), mbo('T', 'B', 0, 100.01, 10),
                         mbo('F', 'A', 901, 100.01, 10), mbo('F', 'A', 900, 100.02, 50),
                         mbo('F', 'A', 900, 100.02, 7)}),
              ElementsAre("A S 1 50@1000200", "P 10@1000100", "E 1 50", "P 7@1000200"));
}

std::uint64_t lone_fills_of(const std::vector<MboMessage>& messages) {
  DbnOrders orders;
  for (const MboMessage& message : messages) orders.take(message);
  return orders.counts().lone_fills;
}
MboMessage inside_event(MboMessage message) {
  message.flags = 0;
  return message;
}

// Databento's book has those shares still, ours has not.
TEST(DbnOrders, FillsWhoseCancelDoesNotComeAreCounted) {
  const MboMessage first = mbo('A', 'B', 900, 100, 50), second = mbo('A', 'B', 901, 100, 50);
  const MboMessage fill = mbo('F', 'B', 900, 100, 20), cancel = mbo('C', 'B', 900, 100, 20);
  EXPECT_EQ(lone_fills_of({first, fill}), 1u);
  EXPECT_EQ(lone_fills_of({first, fill, second, cancel}), 1u) << "the owner's";
  EXPECT_EQ(lone_fills_of({first, fill, fill, cancel}), 1u);
  EXPECT_EQ(lone_fills_of({first, inside_event(fill), cancel}), 0u) << "one event";
  EXPECT_EQ(lone_fills_of({first, fill, cancel}), 0u) << "two events";
  EXPECT_EQ(lone_fills_of({first, second, fill, mbo('F', 'B', 901, 100, 50), cancel,
                           mbo('C', 'B', 901, 100, 50)}),
            0u);
  EXPECT_EQ(lone_fills_of({first, fill, mbo('M', 'B', 900, 100, 30)}), 0u);
  EXPECT_EQ(lone_fills_of({first, mbo('F', 'B', 902, 100, 20)}), 0u) << "in no book";
}

TEST(DbnOrders, AFillAloneIsToldOfACaseAsRecorded) {
  const auto path = test_support::case_file("11-databento-fill-alone/4445_d.dbn");
  TICKPATH_NEED_DATA(path);
  const auto reader = open_recording(path);
  EXPECT_EQ(test::collect(*reader).counts['E'], 1u);
  EXPECT_THAT(reader->remarks(), HasSubstr("1 fills without their cancel"));
}

TEST(DbnOrders, AFillOfMoreSharesThanItsOrderHasIsCutAndCounted) {
  DbnOrders orders;
  orders.take(mbo('A', 'B', 900, 100, 50));
  orders.take(mbo('F', 'B', 900, 100, 70));
  orders.take(mbo('C', 'B', 900, 100, 70));
  EXPECT_EQ(orders.counts().clamped_fills, 1u);
}

TEST(DbnOrders, AModifyBehindAFillSaysWhatRests) {
  EXPECT_THAT(converted({mbo('A', 'A', 900, 100, 50), mbo('F', 'A', 900, 100, 20),
                         mbo('M', 'A', 900, 100, 30), mbo('C', 'A', 900, 100, 30)}),
              ElementsAre("A S 1 50@1000000", "E 1 20", "D 1"));
}

TEST(DbnOrders, HiddenTradesAndClearedBooks) {
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
TEST(DbnOrders, AnOrderThatASnapshotShowsAgainKeepsItsPlace) {
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

// Orders that queue behind 901 stay there.
TEST(DbnOrders, AnOrderThatIsAddedAgainKeepsItsPlaceUnlessItMovesOrGrows) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 100, 50), mbo('A', 'B', 901, 100, 50),
                 mbo('A', 'B', 901, 100, 30), mbo('C', 'B', 901, 100, 10),
                 mbo('A', 'B', 901, 100, 40), mbo('A', 'B', 901, 99, 40),
                 mbo('A', 'A', 901, 99, 40)}),
      ElementsAre("A B 1 50@1000000", "X 1 20", "X 1 10",  // the same place
                  "D 1", "A B 2 40@1000000", "D 2", "A B 3 40@990000", "D 3", "A S 4 40@990000"));
}

// Another instrument trades on between the records of a snapshot.
TEST(DbnOrders, ASnapshotEndsWithARecordOfItsOwnInstrument) {
  EXPECT_THAT(converted({mbo('A', 'B', 901, 100, 100), mbo('A', 'B', 902, 100, 200),
                         of_snapshot(mbo('R', 'N', 0, 0, 0)),
                         of_snapshot(mbo('A', 'B', 901, 100, 100)), mbo('A', 'B', 1, 50, 5, 12),
                         of_snapshot(mbo('A', 'B', 902, 100, 200)), mbo('C', 'B', 901, 100, 40)}),
              ElementsAre("A B 1 100@1000000", "A B 2 200@1000000", "A B 3 5@500000", "X 1 40"));
}

// Nothing else may come of a quiet instrument for hours.
TEST(DbnOrders, ASnapshotThatSaysItIsWholeOrIsSilentEndsWithARecordOfAnother) {
  MboMessage last = of_snapshot(mbo('A', 'B', 901, 100, 100));
  last.flags |= dbn::kLast;
  EXPECT_THAT(converted({of_snapshot(mbo('R', 'N', 0, 0, 0)), last, mbo('A', 'B', 1, 50, 5, 12)}),
              ElementsAre("A B 1 100@1000000", "A B 2 5@500000"));
  MboMessage later = mbo('A', 'B', 1, 50, 5, 12);
  later.event_time_ns = later.receive_time_ns += 2'000'000'000;
  EXPECT_THAT(converted({of_snapshot(mbo('R', 'N', 0, 0, 0)),
                         of_snapshot(mbo('A', 'B', 901, 100, 100)), later}),
              ElementsAre("A B 1 100@1000000", "A B 2 5@500000"));
}

// An auction, and a trade within the market: hidden.
TEST(DbnOrders, ATradeWithoutASideIsACrossWhereContinuousTradingIsNot) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 99, 10), mbo('A', 'A', 902, 101, 10), mbo('T', 'N', 0, 100, 7),
                 mbo('T', 'N', 0, 99, 7), mbo('T', 'N', 0, 98, 7), mbo('T', 'N', 0, 102, 7)}),
      ElementsAre("A B 1 10@990000", "A S 2 10@1010000", "P 7@1000000", "P 7@990000", "Q 7@980000",
                  "Q 7@1020000"));
  EXPECT_THAT(converted({mbo('A', 'B', 901, 101, 10), mbo('A', 'A', 902, 101, 10),
                         mbo('T', 'N', 0, 101, 7), mbo('F', 'B', 901, 101, 7),
                         mbo('F', 'A', 902, 101, 7), mbo('F', 'A', 903, 101, 7)}),
              ElementsAre("A B 1 10@1010000", "A S 2 10@1010000", "Q 7@1010000", "C 1 7@1010000 N",
                          "C 2 7@1010000 N"))
      << "what the cross executes is in its own shares";
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 101, 10), mbo('A', 'A', 902, 101, 10), mbo('T', 'N', 0, 101, 7),
                 mbo('T', 'A', 0, 101, 7), mbo('F', 'B', 901, 101, 7)}),
      ElementsAre("A B 1 10@1010000", "A S 2 10@1010000", "Q 7@1010000", "E 1 7"))
      << "an order that came behind the cross";
}

TEST(DbnOrders, ASnapshotWithNothingBehindItIsToldAllTheSame) {
  EXPECT_THAT(
      converted({mbo('A', 'B', 901, 100, 100), of_snapshot(mbo('R', 'N', 0, 0, 0)),
                 of_snapshot(mbo('A', 'B', 902, 99, 1)), of_snapshot(mbo('R', 'N', 0, 0, 0, 12)),
                 of_snapshot(mbo('A', 'B', 902, 98, 2, 12))}),
      ElementsAre("A B 1 100@1000000", "D 1", "A B 2 1@990000", "A B 3 2@980000"));
}

TEST(DbnOrders, InstrumentsHaveTheirOwnOrdersAndNames) {
  const Bytes file = file_of({mbo('A', 'B', 1, 100, 5), mbo('A', 'B', 1, 50, 6, 12),
                              mbo('C', 'B', 1, 100, 5), mbo('A', 'S', 2, 10, 1, 99)});
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  // Instruments of the metadata come first, so that a program that waits for one finds it.
  EXPECT_THAT(texts(reader), ElementsAre("R AAPL", "R #C", "A B 1 5@1000000", "A B 2 6@500000",
                                         "D 1", "R #2R", "A S 3 1@100000"));
  EXPECT_THAT(reader.names(), ElementsAre(std::pair("#C", "A VERY LONG SYMBOL")));
  EXPECT_THAT(reader.remarks(), HasSubstr("#C is A VERY LONG SYMBOL"));
}

TEST(DbnOrders, LeavesOutAndCountsWhatItchCannotSay) {
  MboMessage top = mbo('A', 'B', 1, 100, 5), other = mbo('A', 'B', 2, 100, 5);
  top.flags = dbn::kTopOfBook;
  other.publisher = 3;
  MboMessage unpriced = mbo('A', 'B', 3, 100, 5), finer = mbo('A', 'B', 4, 100.00005, 5);
  unpriced.price = dbn::kNoPrice;
  const Bytes file = file_of(
      {mbo('A', 'B', 9, 100, 5), top, other, unpriced, mbo('A', 'B', 5, -1, 5),
       mbo('A', 'B', 10, 100, 0), mbo('A', 'N', 10, 100, 5), mbo('A', 'B', 6, 500'000, 5), finer,
       mbo('C', 'B', 7, 100, 5), mbo('A', 'B', 9, 101, 5), mbo('?', 'B', 9, 101, 5)});
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
  EXPECT_EQ(reader.counts().unusable_orders, 2u);
  EXPECT_THAT(reader.remarks(), HasSubstr("1 of other venues left out"));
}

// At so many hundred-thousandths of a dollar: currency futures have such ticks.
MboMessage fine(char action, char side, std::uint64_t order, std::int64_t price,
                std::uint32_t size) {
  MboMessage message = mbo(action, side, order, 1, size);
  message.price = price * 10'000;
  return message;
}

TEST(DbnOrders, PricesFinerThanItchHasAreRoundedAwayFromTheMarketAndNamed) {
  MboMessage last_of_snapshot = of_snapshot(fine('A', 'A', 4, 108'515, 9));
  last_of_snapshot.flags |= dbn::kLast;
  const Bytes file = file_of(
      {fine('A', 'B', 1, 108'500, 5), fine('A', 'A', 2, 108'505, 5), fine('A', 'B', 3, 108'495, 7),
       fine('F', 'A', 2, 108'505, 5), fine('C', 'A', 2, 108'505, 5), fine('M', 'B', 3, 108'495, 6),
       of_snapshot(mbo('R', 'N', 0, 0, 0)), of_snapshot(fine('A', 'B', 1, 108'500, 5)),
       of_snapshot(fine('A', 'B', 3, 108'495, 6)), last_of_snapshot, mbo('A', 'A', 5, 2, 1, 12)});
  DbnReader reader(test_support::open_memory(file, "fx.dbn"));
  EXPECT_THAT(texts(reader),
              ElementsAre("R AAPL", "R #C", "A B 1 5@10850", "A S 2 5@10851", "A B 3 7@10849",
                          "E 2 5", "X 3 1", "A S 4 9@10852", "A S 5 1@20000"));
  EXPECT_THAT(reader.remarks(),
              HasSubstr("prices rounded to 1/10,000, bids down and asks up: AAPL"));
}

TEST(DbnOrders, TimesAreSinceMidnightAndNeverGoBack) {
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
  EXPECT_EQ(reader.midnight_ns(), kDbnMidnightNs);
}

// A CME day file begins with a snapshot, whose orders came days ago. A week has more hours than
// the 78 that ITCH's 48 bits of nanoseconds can say.
TEST(DbnOrders, TimesGoOnOverAnyNumberOfDays) {
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
  std::vector<std::uint64_t> orders;
  for (std::size_t i = 0; i < all.messages.size(); ++i) {
    const bool midnight = message_type(all.messages[i].data()) == SystemEvent::kType;
    EXPECT_EQ(timestamp_ns(all.messages[i].data()), midnight ? 0 : kOpenNs);
    if (!midnight) orders.push_back(all.times[i]);
  }
  EXPECT_EQ(all.counts.at(SystemEvent::kType), 5u);
  EXPECT_THAT(orders, ElementsAre(kOpenNs, kOpenNs, kOpenNs, kOpenNs, kOpenNs + kDayNs,
                                  kOpenNs + 2 * kDayNs, kOpenNs + 3 * kDayNs, kOpenNs + 4 * kDayNs,
                                  kOpenNs + 5 * kDayNs, kOpenNs + 5 * kDayNs));
  EXPECT_EQ(reader.counts().snapshot_times, 1u);
  EXPECT_EQ(reader.counts().unusable_times, 1u);
  EXPECT_EQ(reader.midnight_ns(), kDbnMidnightNs);
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

TEST(DbnOrders, SymbolMappingsInTheStreamNameTheirInstruments) {
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    Bytes file = test_support::encode_metadata({.version = version, .dataset = "GLBX.MDP3"});
    const auto append = [&file](const Bytes& record) {
      file.insert(file.end(), record.begin(), record.end());
    };
    const auto append_order = [&](std::uint64_t order, std::uint32_t instrument) {
      test_support::append_mbo(mbo('A', 'B', order, 100, 5, instrument), file);
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

TEST(DbnOrders, ANameIsThatOfItsDay) {
  Bytes file = test_support::encode_metadata({.dataset = "XNAS.ITCH",
                                              .mappings = {{2024'10'04, 2024'10'05, 100, "AAA"},
                                                           {2024'10'05, 2024'10'06, 101, "AAA"},
                                                           {2024'10'04, 2024'10'05, 101, "BBB"},
                                                           {2024'10'05, 2024'10'06, 100, "BBB"}}});
  for (const MboMessage& message : swapped_days()) test_support::append_mbo(message, file);
  DbnReader reader(test_support::open_memory(file, "days.dbn"));
  PricesBySymbol told;
  for (const Bytes& message : test::collect(reader).messages)
    EXPECT_EQ(decode(message, told), DecodeStatus::kOk);
  EXPECT_THAT(told.adds, ElementsAre(std::pair("AAA", 10u), std::pair("BBB", 20u),
                                     std::pair("BBB", 20u), std::pair("AAA", 10u)));
  EXPECT_EQ(told.deletes, 2) << "what rested on the day before";
  EXPECT_TRUE(reader.names().empty());
}

// An order of each day, with the metadata's names of 100 and 101.
std::pair<std::vector<std::string>, std::string> told_with(
    const std::vector<dbn::Mapping>& mappings, const std::vector<MboMessage>& messages) {
  Bytes file = test_support::encode_metadata({.dataset = "XNAS.ITCH", .mappings = mappings});
  for (const MboMessage& message : messages) test_support::append_mbo(message, file);
  DbnReader reader(test_support::open_memory(file, "days.dbn"));
  std::vector<std::string> all = texts(reader);
  return {std::move(all), reader.remarks()};
}

// 100 is AAA on the first day alone, 101 on the second day alone.
TEST(DbnOrders, ANameOutsideItsIntervalIsNone) {
  const std::vector<dbn::Mapping> mappings{{2024'10'04, 2024'10'05, 100, "AAA"},
                                           {2024'10'05, 2024'10'06, 101, "BBB"}};
  const auto [told, remarks] = told_with(mappings, swapped_days());
  EXPECT_THAT(told, ElementsAre("R AAA", "A B 1 5@100000", "R #2T", "A B 2 5@200000",   // day 1
                                "?", "D 1", "D 2", "R BBB", "R #2S", "A B 3 5@200000",  // day 2
                                "A B 4 5@100000"));
  EXPECT_THAT(remarks, HasSubstr("2 instruments that have no name on their day"));
}

// The symbol goes to another number, and keeps its locate.
TEST(DbnOrders, ANameThatEndsGoesToTheNextInstrumentOfIt) {
  const std::vector<dbn::Mapping> mappings{{2024'10'04, 2024'10'05, 100, "AAA"},
                                           {2024'10'05, 2024'10'06, 101, "AAA"}};
  std::vector<MboMessage> days = swapped_days();
  days.erase(days.begin() + 1, days.begin() + 3);
  const auto [told, remarks] = told_with(mappings, days);
  EXPECT_THAT(told, ElementsAre("R AAA", "A B 1 5@100000", "?", "D 1", "A B 2 5@100000"));
  EXPECT_THAT(remarks, Not(HasSubstr("#")));
}

// All futures of a product are asked for by one name. The second one is first heard of on the
// second day, before the first one is.
TEST(DbnOrders, ANameThatIsStillSomeonesIsNotTakenByAnother) {
  const std::vector<dbn::Mapping> mappings{{2024'10'04, 2024'10'06, 100, "ES.FUT"},
                                           {2024'10'04, 2024'10'06, 101, "ES.FUT"}};
  std::vector<MboMessage> days = swapped_days();
  days.erase(days.begin() + 1, days.begin() + 3);
  const auto [told, remarks] = told_with(mappings, days);
  EXPECT_THAT(told, ElementsAre("R ES.FUT", "A B 1 5@100000", "?", "R #2T", "A B 2 5@100000"));
  EXPECT_THAT(remarks, HasSubstr("#2T is ES.FUT"));
}

// As lines of CSV name them: the second day has other numbers.
TEST(DbnOrders, ALineOfAnotherDayTakesTheNameFromWhoHadIt) {
  const std::vector<MboMessage> days = swapped_days();
  DbnOrders orders;
  orders.expect({{100, "AAA"}, {101, "AAA"}});
  PricesBySymbol told;
  orders.take(days[0], "AAA");
  orders.take(days[3], "AAA");
  for (RecordedMessage message; orders.next(message);)
    EXPECT_EQ(decode(message.bytes, told), DecodeStatus::kOk);
  EXPECT_THAT(told.adds, ElementsAre(std::pair("AAA", 10u), std::pair("AAA", 10u)));
  EXPECT_EQ(told.deletes, 1);
  EXPECT_TRUE(orders.names().empty());
}

// As a stream names them, one after the other.
TEST(DbnOrders, WhoIsGivenANameTakesItFromAnother) {
  DbnOrders orders;
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

// The orders of one book. Two are compared: Databento's own, which cancels and modifies change and
// fills do not, and that of the ITCH messages.
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

TEST(DbnOrders, ABookOfItsMessagesIsDatabentosBookAfterEveryEvent) {
  std::mt19937 random(12);
  DbnOrders orders;
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

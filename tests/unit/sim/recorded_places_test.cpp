// An order of ours that rests behind recorded ones keeps its place, whatever a recording says
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/dbn_reader.hpp"
#include "common/feeds/recordings/lobster.hpp"
#include "replayed_orders.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/recordings.hpp"
#include "tests/unit/itch/dbn_messages.hpp"

namespace tickpath::sim::recorded_places {
namespace {

using itch::test::mbo;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// An order of ours, of 100 shares, that comes at this time.
std::vector<LoggedReport> fills_at(itch::RecordingReader& recording, std::uint64_t time_ns,
                                   std::uint32_t price) {
  return fills_of(recording, {{time_ns, limit_order(1, Side::kBuy, 100, price)}});
}

// 300 shares are ahead at 10.00, and 50 of them are executed at 13:00:09.
TEST(RecordedPlaces, AreKeptOverADatabentoSnapshotOfACaseAsRecorded) {
  const std::filesystem::path folder = "14-databento-snapshot-and-our-place-in-the-queue";
  for (const char* const name : {"without_snapshot.dbn", "with_snapshot.dbn"}) {
    const auto path = test_support::case_file(folder / name);
    TICKPATH_NEED_DATA(path);
    constexpr std::uint64_t kOursNs = (13 * 3'600 + 3) * kSecondNs;
    EXPECT_THAT(fills_at(*itch::open_recording(path), kOursNs, 100'000), IsEmpty()) << name;
    EXPECT_THAT(fills_at(*itch::open_recording(path), kOursNs, 100'100),
                ElementsAre(Field(&LoggedReport::last_shares, 50u)))
        << name << ": the best bid";
  }
}

// Order 11 is ahead at 100.00; 40 shares of it are executed at 09:30:09, when its level has been
// out of the window and back.
TEST(RecordedPlaces, AreKeptOverALobsterWindowOfACaseAsRecorded) {
  const auto path = test_support::case_file(
      "15-lobster-window-and-our-place-in-the-queue/"
      "ZAAA_2012-06-21_34200000_57600000_message_1.csv");
  TICKPATH_NEED_DATA(path);
  constexpr std::uint64_t kOursNs = 34'203 * kSecondNs;
  EXPECT_THAT(fills_at(*itch::open_recording(path), kOursNs, 1'000'000), IsEmpty());
  EXPECT_THAT(fills_at(*itch::open_recording(path), kOursNs, 1'000'100),
              ElementsAre(Field(&LoggedReport::last_shares, 40u)));
  itch::LobsterReader alone(files::open_file(path), "ZAAA");
  EXPECT_THAT(fills_at(alone, kOursNs, 1'000'000), IsEmpty());
}

std::vector<itch::dbn::MboMessage> a_second_apart(std::vector<itch::dbn::MboMessage> messages,
                                                  std::uint64_t from_s = 0) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].event_time_ns += (from_s + i) * kSecondNs;
    messages[i].receive_time_ns = messages[i].event_time_ns;
  }
  return messages;
}

// One order ahead has gone, and another has fewer shares, by the time of the snapshot.
TEST(RecordedPlaces, MoveUpByWhatASnapshotShowsToBeGone) {
  std::vector<itch::dbn::MboMessage> messages{
      mbo('A', 'B', 1, 100, 100), mbo('A', 'B', 2, 100, 200), mbo('A', 'B', 3, 100, 300),
      mbo('R', 'N', 0, 0, 0),     mbo('A', 'B', 3, 100, 300), mbo('A', 'B', 2, 100, 40),
      mbo('T', 'A', 0, 100, 60),  mbo('F', 'B', 2, 100, 40),  mbo('C', 'B', 2, 100, 40),
      mbo('F', 'B', 3, 100, 20),  mbo('C', 'B', 3, 100, 20)};
  messages = a_second_apart(std::move(messages));
  for (std::size_t i = 3; i <= 5; ++i) messages[i].flags = itch::dbn::kSnapshot;
  const itch::test::Bytes file = itch::test::file_of(messages);
  itch::DbnReader reader(test_support::open_memory(file, "made.dbn"));
  EXPECT_THAT(fills_at(reader, 34'201 * kSecondNs + 1, 1'000'000),
              ElementsAre(Field(&LoggedReport::last_shares, 20u)))
      << "behind order 2, and ahead of order 3";
}

// The second file begins with what rests, and executes 60 of it: 100 were ahead of ours.
TEST(RecordedPlaces, AreKeptFromOneDatabentoFileToTheNext) {
  const test_support::Folder folder;
  std::vector<itch::dbn::MboMessage> second =
      a_second_apart({mbo('R', 'N', 0, 0, 0), mbo('A', 'B', 1, 100, 100), mbo('T', 'A', 0, 100, 60),
                      mbo('F', 'B', 1, 100, 60), mbo('C', 'B', 1, 100, 60)},
                     10);
  for (std::size_t i = 0; i < 2; ++i) second[i].flags = itch::dbn::kSnapshot;
  itch::test::write_file(
      folder / "a.dbn",
      itch::test::file_of(a_second_apart({mbo('A', 'B', 5, 99, 10), mbo('A', 'B', 1, 100, 100)})));
  itch::test::write_file(folder / "b.dbn", itch::test::file_of(second));
  const auto recording = itch::open_recording(folder / "a.dbn" + "," + folder / "b.dbn");
  EXPECT_THAT(fills_at(*recording, 34'205 * kSecondNs, 1'000'000), IsEmpty());
}

// Orders gather crossed; the auction at 99 is none that ours, which rest at 100, took part in.
TEST(DbnOrders, ATradeOfAnAuctionFillsNothing) {
  const itch::test::Bytes file = itch::test::file_of(
      a_second_apart({mbo('A', 'B', 1, 99, 10), mbo('A', 'A', 2, 101, 10),  // ours come here
                      mbo('A', 'B', 3, 102, 10), mbo('T', 'N', 0, 99, 10)}));
  itch::DbnReader reader(test_support::open_memory(file, "made.dbn"));
  EXPECT_THAT(fills_at(reader, 34'201 * kSecondNs + 1, 1'000'000), IsEmpty());
  std::vector<itch::dbn::MboMessage> filled = a_second_apart(
      {mbo('A', 'B', 1, 99, 10), mbo('A', 'A', 2, 101, 10), mbo('A', 'B', 3, 102, 10),
       mbo('T', 'N', 0, 99, 10), mbo('F', 'B', 1, 99, 10)});
  filled.back().event_time_ns -= kSecondNs;  // of the auction's event
  const itch::test::Bytes with_fill = itch::test::file_of(filled);
  itch::DbnReader again(test_support::open_memory(with_fill, "made.dbn"));
  EXPECT_THAT(fills_at(again, 34'201 * kSecondNs + 1, 1'000'000), IsEmpty());
}

// A bid and an offer that stand at the best prices all day. A print outside of the quotes would
// fill them past every order of their level.
TEST(GeneratedMarkets, FillAQuoteAtTheBestPriceByItsQueueAlone) {
  constexpr std::uint32_t kSymbols = 3;
  ReportLog log;
  Matcher matcher({.book = {.orders_max = 1u << 14, .levels_max = 1u << 14},
                   .live_orders_max = 1u << 6,
                   .order_ids_max = 1u << 6},
                  log);
  Market market(matcher);
  itch::Generator generator({.symbols = kSymbols, .messages = 60'000, .seed = 3});
  std::uint64_t messages = 0;
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage) {
    market.apply(message.bytes);
    if (++messages != 2'000) continue;  // behind the opening crosses
    for (std::uint32_t i = 0; i < 2 * kSymbols; ++i)
      matcher.enter({.order_id = i + 1,
                     .locate = 1 + i / 2,
                     .shares = 900'000,
                     .party = kAlice,
                     .side = i % 2 == 0 ? Side::kBuy : Side::kSell,
                     .type = OrderType::kPegged});
  }
  const auto shares_by = [&](FillSource source) {
    return matcher.counters().filled_shares[static_cast<std::size_t>(source)].get();
  };
  EXPECT_GT(shares_by(FillSource::kExecution), 10'000u);
  EXPECT_EQ(shares_by(FillSource::kTradeThrough), 0u);
}

}  // namespace
}  // namespace tickpath::sim::recorded_places

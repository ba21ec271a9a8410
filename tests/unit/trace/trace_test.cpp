#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "common/clock/clock.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/report.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::trace {
namespace {

class TraceTest : public testing::Test {
 protected:
  std::string path(const std::string& file) const { return folder_ / file; }
  TraceOptions options(const std::string& file, std::uint64_t capacity = 4096) const {
    return {path(file), capacity, "test", "shm", "yield", "cpu 0"};
  }

 private:
  test_support::Folder folder_;
};

// A tick at every hop 1,000 ticks apart, and an order it caused. The retired number 11, too: an old
// file may have it.
void stamp_order(TraceWriter& writer, std::uint64_t tick, std::uint64_t order,
                 std::uint64_t start) {
  std::uint64_t time = start;
  for (const HopInfo& each : kHops) {
    if (each.hop == Hop::kNone || each.optional) continue;
    if (each.hop == Hop::kOegEncoded) writer.stamp_at(static_cast<Hop>(11), order, {time += 1000});
    time += 1000;
    if (each.realtime_clock) continue;
    writer.stamp_at(each.hop, each.keyed_by_order ? order : tick, {time});
  }
  writer.link_order(order, tick);
}

// Numbered last, it happens before the order is sent; and an order of an oeg without a standby that
// lacks it lacks nothing.
TEST_F(TraceTest, ShowsTheReplicationOfAPairWhereItHappens) {
  {
    TraceWriter writer(options("a.trace"));
    for (const std::uint64_t order : {7u, 8u}) {
      writer.stamp_at(Hop::kOegSeen, order, {1'000});
      writer.stamp_at(Hop::kOegEncoded, order, {2'000});
      if (order == 7) writer.stamp_at(Hop::kOegReplicated, order, {5'000});
      writer.stamp_at(Hop::kOegSent, order, {9'000});
    }
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  const auto has = [&](Hop from, Hop to) {
    return std::ranges::any_of(analysis.hops, [&](const Interval& each) {
      return each.from == from && each.to == to && each.distribution.count == 1;
    });
  };
  EXPECT_TRUE(has(Hop::kOegEncoded, Hop::kOegReplicated));
  EXPECT_TRUE(has(Hop::kOegReplicated, Hop::kOegSent));
  for (const auto& [hop, count] : analysis.missing) EXPECT_NE(hop, Hop::kOegReplicated);
  EXPECT_LT(place(Hop::kOegEncoded), place(Hop::kOegReplicated));
  EXPECT_LT(place(Hop::kOegReplicated), place(Hop::kOegSent));
}

// A tool that watches has mapped what the program of before wrote.
TEST_F(TraceTest, AFileThatIsReadStaysWholeWhereItsProgramStartsAnew) {
  {
    TraceWriter first(options("a.trace"));
    first.stamp_at(Hop::kMdhRx, 7, {1'000});
  }
  const TraceFile mapped(path("a.trace"));
  const TraceWriter second(options("a.trace"));
  EXPECT_EQ(mapped.records()[0].time, 1'000u);
  EXPECT_EQ(TraceFile(path("a.trace")).records()[0].time, 0u);
}

// A file may have any number; each is a tick's, an order's, or is left out. A tick's hop that is
// numbered beyond the others once overran the row of its tick: AddressSanitizer would see it here.
TEST_F(TraceTest, EveryNumberThatAFileCanHoldHasItsPlaceOrIsLeftOut) {
  {
    TraceWriter writer(options("a.trace"));
    const clock::Pair now = clock::read_pair();
    for (unsigned number = 1; number < 256; ++number)
      for (const std::uint64_t id : {7u, 8u}) {
        const Hop hop = static_cast<Hop>(number);
        if (hop == Hop::kMdhKernelRx)
          writer.stamp_realtime(hop, id, now.realtime_ns);
        else if (hop != Hop::kOrderLink)
          writer.stamp_at(hop, id, {now.tsc.value + 1'000 * number + id});
      }
    writer.link_order(8, 7);
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  EXPECT_EQ(analysis.hops.size(), kHopCount - 2) << "from the first hop to the last";
  EXPECT_EQ(analysis.ticks, 2u);
  EXPECT_EQ(analysis.orders_complete, 1u);
  for (const HopInfo& each : kHops) {
    if (each.hop == Hop::kNone || each.hop == Hop::kSimSent) continue;
    EXPECT_FALSE(samples(files, Hop::kSimSent, each.hop).empty()) << each.name;
  }
}

TEST(Hops, ATicksHopNumberedBehindAnOrdersIsKeptWithTheTick) {
  constexpr auto kDecoded = static_cast<Hop>(19);
  constexpr auto kTable = std::to_array<HopInfo>({{Hop::kNone, "none", false, false},
                                                  {Hop::kMdhRx, "mdh.rx", false, false},
                                                  {kDecoded, "mdh.decoded", false, false},
                                                  {Hop::kOegSent, "oeg.sent", true, false}});
  static_assert(is_well_formed(kTable));
  static_assert(rows_by_number(kTable)[19] == 2 && tick_rows(kTable) == 3);
  static_assert(rows_by_number(kTable)[20] == 0, "not a hop");
}

TEST(Hops, ATableWithATicksHopBehindAnOrdersOrWithANumberTwiceIsRefused) {
  constexpr auto kBehind = std::to_array<HopInfo>({{Hop::kNone, "none", false, false},
                                                   {Hop::kOegSent, "oeg.sent", true, false},
                                                   {Hop::kMdhRx, "mdh.rx", false, false}});
  static_assert(!is_well_formed(kBehind));
  constexpr auto kTwice = std::to_array<HopInfo>({{Hop::kNone, "none", false, false},
                                                  {Hop::kMdhRx, "mdh.rx", false, false},
                                                  {Hop::kMdhRx, "mdh.again", false, false}});
  static_assert(!is_well_formed(kTwice));
}

TEST_F(TraceTest, JoinsAnOrderWithTheTickThatCausedIt) {
  const std::uint64_t hz = clock::tsc_hz();
  {
    TraceWriter writer(options("a.trace"));
    const clock::Pair now = clock::read_pair();
    stamp_order(writer, 7, 0x1'0000'0001, now.tsc.value);
    // The kernel saw the packet 500 us before now: realtime must land on the TSC line.
    writer.stamp_realtime(Hop::kMdhKernelRx, 7, now.realtime_ns - 500'000);
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  EXPECT_EQ(analysis.orders_complete, 1u);
  EXPECT_EQ(analysis.requests_sent, 1u);
  EXPECT_TRUE(analysis.missing.empty());
  const Interval& user_space = analysis.headline[1];
  ASSERT_EQ(user_space.distribution.count, 1u);
  // Ten hops of 1,000 ticks lie between mdh.rx and oeg.sent.
  const double expected_ns = 10'000 * 1e9 / static_cast<double>(hz);
  EXPECT_NEAR(static_cast<double>(user_space.distribution.p50), expected_ns, 2);
  const Interval& headline = analysis.headline[0];
  ASSERT_EQ(headline.distribution.count, 1u);
  const double since_kernel = 500'000 + 13'000 * 1e9 / static_cast<double>(hz);
  EXPECT_NEAR(static_cast<double>(headline.distribution.p50), since_kernel, 5'000);
}

// Two feeds have the same sequence numbers. sim and mdh say in their files' headers of which venue
// they are, a strategy of both in each stamp; an order at one venue may be caused by a tick at the
// other.
TEST_F(TraceTest, TicksOfTwoVenuesAreToldApartThoughTheirSequenceNumbersAreTheSame) {
  const clock::TickConverter converter;
  {
    std::uint64_t start = clock::read_pair().tsc.value;
    for (const std::uint8_t venue : {std::uint8_t{1}, std::uint8_t{2}}) {
      TraceOptions of_mdh = options("mdh-" + std::to_string(venue) + ".trace");
      of_mdh.venue = venue;
      TraceWriter mdh(of_mdh);
      mdh.stamp_at(Hop::kMdhRx, 7, {start + venue * 1'000'000});
    }
    TraceWriter strategy(options("strategy.trace"));
    TraceWriter oeg(options("oeg.trace"));
    for (const std::uint8_t venue : {std::uint8_t{1}, std::uint8_t{2}}) {
      const std::uint64_t order = 100 + venue;
      strategy.stamp_at(Hop::kStrategySeen, tick_id(venue, 7), {start + 4'000'000});
      strategy.link_order(order, tick_id(venue, 7));
      oeg.stamp_at(Hop::kOegSent, order, {start + 5'000'000});
    }
  }
  std::vector<TraceFile> files;
  for (const char* file : {"mdh-1.trace", "mdh-2.trace", "strategy.trace", "oeg.trace"})
    files.emplace_back(path(file));
  const Analysis analysis = analyse(files);
  EXPECT_EQ(analysis.ticks, 2u);
  const Interval& user_space = analysis.headline[1];
  ASSERT_EQ(user_space.distribution.count, 2u);
  const double tick_ns = 1e9 / static_cast<double>(clock::tsc_hz());
  EXPECT_NEAR(static_cast<double>(user_space.distribution.min), 3e6 * tick_ns, 10);
  EXPECT_NEAR(static_cast<double>(user_space.distribution.max), 4e6 * tick_ns, 10);
  const auto named = [&](const std::string& name) {
    return std::ranges::any_of(analysis.headline,
                               [&](const Interval& each) { return each.name == name; });
  };
  EXPECT_TRUE(named("tick-to-order, venue 1") && named("tick-to-order, venue 2"));
}

// The stamps of a file, made by hand.
class Stamped {
 public:
  explicit Stamped(const TraceOptions& options) : writer_(options) {}
  Stamped& at(Hop hop, std::uint64_t id, std::uint64_t time) {
    writer_.stamp_at(hop, id, {time});
    return *this;
  }
  Stamped& link(std::uint64_t order, std::uint64_t tick) {
    writer_.link_order(order, tick);
    return *this;
  }

 private:
  TraceWriter writer_;
};

class SeveralFiles : public TraceTest {
 protected:
  Stamped file(const std::string& name) {
    names_.push_back(name + ".trace");
    return Stamped(options(names_.back()));
  }
  Analysis analysed() const {
    std::vector<TraceFile> files;
    for (const std::string& name : names_) files.emplace_back(path(name));
    return analyse(files);
  }
  // The median of a row, in ticks; -1: there is none.
  static double median(const std::vector<Interval>& rows, Hop from, Hop to) {
    for (const Interval& row : rows)
      if (row.from == from && row.to == to)
        return std::round(static_cast<double>(row.distribution.p50) *
                          static_cast<double>(clock::tsc_hz()) / 1e9 / 1000) *
               1000;
    return -1;
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(SeveralFiles, AnOrderGoesWithWhatItsOwnStrategySaw) {
  file("mdh").at(Hop::kMdhPosted, 5, 1'000'000);
  file("strategy-1").at(Hop::kStrategySeen, 5, 1'100'000);
  file("strategy-2")
      .at(Hop::kStrategySeen, 5, 11'000'000)
      .at(Hop::kStrategyDecided, 77, 11'100'000)
      .link(77, 5);
  const Analysis analysis = analysed();
  EXPECT_EQ(median(analysis.hops, Hop::kStrategySeen, Hop::kStrategyDecided), 100'000);
  EXPECT_EQ(median(analysis.hops, Hop::kMdhPosted, Hop::kStrategySeen), 100'000);
}

TEST_F(SeveralFiles, NoTickHasTheTimesOfTwoMdhs) {
  file("mdh-1")
      .at(Hop::kMdhRx, 5, 1'000'000)
      .at(Hop::kMdhBook, 5, 9'000'000)
      .at(Hop::kMdhPosted, 5, 9'100'000);
  file("mdh-2")
      .at(Hop::kMdhRx, 5, 2'000'000)
      .at(Hop::kMdhBook, 5, 2'300'000)
      .at(Hop::kMdhPosted, 5, 2'400'000);
  file("strategy").at(Hop::kStrategySeen, 5, 2'500'000).link(77, 5);
  file("oeg").at(Hop::kOegSent, 77, 3'000'000);
  const Analysis analysis = analysed();
  EXPECT_EQ(median(analysis.hops, Hop::kMdhRx, Hop::kMdhBook), 8'000'000) << "all of the first";
  EXPECT_EQ(median(analysis.headline, Hop::kMdhRx, Hop::kOegSent), 1'000'000)
      << "the order went with the second, which posted first";
}

TEST_F(SeveralFiles, AnOrderGoesWithTheTickOfItsOwnSession) {
  const std::uint64_t later = clock::tsc_hz() * 3600;
  file("mdh").at(Hop::kMdhRx, 5, 1'000'000).at(Hop::kMdhRx, 5, later);
  file("strategy")
      .at(Hop::kStrategySeen, 5, 1'100'000)
      .at(Hop::kStrategySeen, 5, later + 100'000)
      .link(77, 5);
  file("oeg").at(Hop::kOegSent, 77, later + 1'000'000);
  EXPECT_EQ(median(analysed().headline, Hop::kMdhRx, Hop::kOegSent), 1'000'000);
}

// The strategy was not there in the first session. Its file is read first, too.
TEST_F(SeveralFiles, ATickOfTwoSessionsIsTwoTicks) {
  const std::uint64_t later = clock::tsc_hz() * 3600;
  file("a-strategy").at(Hop::kStrategySeen, 5, later + 400'000);
  file("mdh")
      .at(Hop::kMdhRx, 5, 1'000'000)
      .at(Hop::kMdhPosted, 5, 1'200'000)
      .at(Hop::kMdhRx, 5, later)
      .at(Hop::kMdhPosted, 5, later + 300'000);
  file("sim").at(Hop::kSimSent, 5, 900'000).at(Hop::kSimSent, 5, later - 100'000);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ticks, 2u);
  EXPECT_EQ(median(analysis.hops, Hop::kMdhPosted, Hop::kStrategySeen), 100'000);
  for (const Interval& row : analysis.hops) {
    EXPECT_EQ(row.distribution.count, row.to == Hop::kStrategySeen ? 1u : 2u) << row.name;
    EXPECT_LT(row.distribution.max, 1'000'000) << row.name;
  }
}

// Time between two hops is never taken for a change of sessions.
TEST_F(SeveralFiles, AStallOfSecondsShowsInEveryHop) {
  const std::uint64_t second = clock::tsc_hz();
  file("a-strategy").at(Hop::kStrategySeen, 5, second * 8);
  file("mdh").at(Hop::kMdhRx, 5, second * 4).at(Hop::kMdhPosted, 5, second * 6);
  file("sim").at(Hop::kSimSent, 5, second * 2);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ticks, 1u);
  ASSERT_EQ(analysis.hops.size(), 3u);
  for (const Interval& row : analysis.hops)
    EXPECT_NEAR(static_cast<double>(row.distribution.max), 2e9, 1e6) << row.name;
}

// Two sessions in one ring, or a strategy's morning beside the evening of the others.
TEST_F(SeveralFiles, TicksFarApartTakeNoMemoryForThoseBetween) {
  file("mdh").at(Hop::kMdhRx, 1, 1'000'000).at(Hop::kMdhRx, std::uint64_t{1} << 47, 2'000'000);
  EXPECT_EQ(analysed().ticks, 2u);
}

// oeg refuses within microseconds what a venue would take its time for.
TEST_F(SeveralFiles, TheTimeToAReportIsOfOrdersThatWereSent) {
  file("strategy")
      .at(Hop::kStrategyPosted, 77, 1'000'000)
      .at(Hop::kStrategyReportSeen, 77, 1'010'000)
      .at(Hop::kStrategyPosted, 78, 2'000'000)
      .at(Hop::kStrategyReportSeen, 78, 3'000'000);
  file("oeg").at(Hop::kOegSent, 78, 2'100'000);
  EXPECT_EQ(median(analysed().headline, Hop::kStrategyPosted, Hop::kStrategyReportSeen), 1'000'000);
}

TEST_F(TraceTest, GivesEverySampleBetweenTwoHopsInOrder) {
  const clock::TickConverter converter;
  {
    TraceWriter writer(options("a.trace"));
    const std::uint64_t now = clock::read_pair().tsc.value;
    const std::uint64_t took[] = {5'000'000, 3'000'000, 9'000'000, 1'000'000};
    for (const std::uint64_t order : {2u, 0u, 3u, 1u}) {  // stamped in another order than sent
      const std::uint64_t sent = now + order * 20'000'000;
      writer.stamp_at(Hop::kSimOrderRx, 100 + order, {sent + took[order]});
      writer.stamp_at(Hop::kOegSent, 100 + order, {sent});
    }
    writer.stamp_at(Hop::kOegSent, 200, {now});  // never received
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const auto got = samples(files, Hop::kOegSent, Hop::kSimOrderRx);
  ASSERT_EQ(got.size(), 4u);
  std::size_t index = 0;
  for (const std::uint64_t ticks : {5'000'000, 3'000'000, 9'000'000, 1'000'000})
    EXPECT_NEAR(static_cast<double>(got[index++]),
                static_cast<double>(converter.to_ns(TscTicks{ticks})), 2'000);
  EXPECT_THROW(samples(files, Hop::kSimOrderRx, Hop::kOegSent), Error);
}

TEST_F(TraceTest, CountsOrdersThatLackAHop) {
  {
    TraceWriter writer(options("a.trace"));
    writer.stamp(Hop::kMdhRx, 1);
    writer.stamp(Hop::kOegSent, 5);
    writer.link_order(5, 1);
    writer.stamp(Hop::kOegSent, 6);  // by no tick
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  EXPECT_EQ(analysis.orders_complete, 0u);
  EXPECT_EQ(analysis.requests_sent, 2u);
  EXPECT_EQ(analysis.orders_untriggered, 1u);
  EXPECT_FALSE(analysis.missing.empty());
}

TEST_F(TraceTest, KeepsTheNewestRecordsAndCountsTheOverwritten) {
  {
    TraceWriter writer(options("a.trace", 256));
    for (std::uint64_t id = 1; id <= 300; ++id) writer.stamp(Hop::kMdhRx, id);
  }
  const TraceFile file(path("a.trace"));
  EXPECT_EQ(file.overwritten(), 44u);
  std::uint64_t lowest = ~std::uint64_t{0};
  for (const Record& record : file.records()) {
    ASSERT_NE(record.key, 0u);
    lowest = std::min(lowest, record.key & kIdMask);
  }
  EXPECT_EQ(lowest, 45u);
}

// More than leave the memory at once, and a second time, when the first has released them.
TEST_F(TraceTest, VisitsEachRecordOfALargeFileOnce) {
  constexpr std::uint64_t kRecords = 1u << 19;
  {
    TraceWriter writer(options("a.trace", kRecords));
    for (std::uint64_t id = 1; id <= kRecords; ++id) writer.stamp(Hop::kMdhRx, id);
  }
  const TraceFile file(path("a.trace"));
  for (int pass = 0; pass < 2; ++pass) {
    std::uint64_t next = 1;
    file.for_each([&](const Record& record) { next += (record.key & kIdMask) == next ? 1 : 0; });
    EXPECT_EQ(next, kRecords + 1);
  }
}

TEST_F(TraceTest, StampsNowhereWhenTracingIsOff) {
  TraceWriter writer(TraceOptions{});
  for (std::uint64_t id = 1; id <= 1000; ++id) writer.stamp(Hop::kMdhRx, id);
  writer.add_sync_point();
}

TEST_F(TraceTest, AFileIsCompleteUpToTheLastWriteBehindWhateverHappensThen) {
  TraceWriter writer(options("a.trace", 256));
  const TraceFile file(path("a.trace"));
  const auto seen = [&] {
    return std::count_if(file.records().begin(), file.records().end(),
                         [](const Record& record) { return record.key != 0; });
  };
  EXPECT_EQ(seen(), 0);
  for (std::uint64_t id = 1; id <= 10; ++id) writer.stamp(Hop::kMdhRx, id);
  writer.write_behind();
  EXPECT_EQ(seen(), 10);
  EXPECT_EQ(file.header().written.load(), 10u);
  for (std::uint64_t id = 11; id <= 1'000; ++id) writer.stamp(Hop::kMdhRx, id);
  writer.write_behind();  // more than the ring holds
  EXPECT_EQ(seen(), 256);
  EXPECT_EQ(file.overwritten(), 744u);
  EXPECT_EQ(file.records()[1'000 & 255].key & kIdMask, 745u) << "the oldest that is kept";
  EXPECT_EQ(writer.problem(), "");
}

TEST_F(TraceTest, AFullDiskIsAnErrorThatSaysWhatToDoAndNotTheEndOfTheProgram) {
  const auto finished = test_support::on_a_small_disk(1024, [](const std::string& folder) {
    TraceOptions options{.path = folder + "/full.trace"};
    const std::string error =
        test_support::error_of<Error>([&] { const TraceWriter writer(options); });  // 16 MB
    std::puts(error.c_str());
  });
  if (IsSkipped()) return;
  EXPECT_EQ(finished.signal, 0);
  EXPECT_THAT(finished.output, ::testing::HasSubstr("cannot reserve 16 MB for the trace file"));
  EXPECT_THAT(finished.output, ::testing::HasSubstr("No space left"));
  EXPECT_THAT(finished.output, ::testing::HasSubstr("trace.capacity"));
}

// ulimit -f: the kernel's SIGXFSZ would end the process; programs ignore it (program.cpp).
TEST_F(TraceTest, AFileThatMayNotGrowIsToldAndItsStampsAreWrittenLater) {
  TraceWriter writer(options("a.trace", 256));
  const TraceFile file(path("a.trace"));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  writer.stamp(Hop::kMdhRx, 1);
  writer.write_behind();
  EXPECT_THAT(writer.problem(), ::testing::HasSubstr("cannot write the trace file"));
  EXPECT_EQ(file.records()[0].key, 0u);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  writer.write_behind();
  EXPECT_EQ(writer.problem(), "");
  EXPECT_NE(file.records()[0].key, 0u);
}

TEST_F(TraceTest, SyncPointsSpanTheRunHoweverMany) {
  {
    TraceWriter writer(options("a.trace"));
    for (int i = 0; i < 1000; ++i) writer.add_sync_point();
  }
  const TraceFile file(path("a.trace"));
  const auto points = file.sync_points();
  ASSERT_LE(points.size(), FileHeader::kSyncPointsMax);
  ASSERT_GE(points.size(), FileHeader::kSyncPointsMax / 2);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GE(points[i].tsc, points[i - 1].tsc);
}

TEST_F(TraceTest, RefusesWhatIsNoTraceFile) {
  EXPECT_THROW(TraceFile(path("absent.trace")), SystemError);
  std::ofstream(path("short.trace")) << "tktrace1";
  EXPECT_THROW(TraceFile(path("short.trace")), Error);
  std::ofstream(path("wrong.trace")) << std::string(8192, 'x');
  EXPECT_THROW(TraceFile(path("wrong.trace")), Error);
  { TraceWriter writer(options("cut.trace")); }
  std::filesystem::resize_file(path("cut.trace"), 8192);
  EXPECT_THAT(test_support::error_of<Error>([&] { TraceFile file(path("cut.trace")); }),
              ::testing::HasSubstr("truncated"));
}

TEST(Percentile, IsTheNearestRank) {
  std::vector<std::int64_t> values;
  for (int i = 1; i <= 1000; ++i) values.push_back(i);
  EXPECT_EQ(percentile(values, 50), 500);
  EXPECT_EQ(percentile(values, 99), 990);
  EXPECT_EQ(percentile(values, 99.9), 999);
  EXPECT_EQ(percentile(values, 100), 1000);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile({}, 50), 0);
}

TEST(TimeLine, InterpolatesBetweenPoints) {
  const TimeLine line({{1'000'000'000, 0}, {4'000'000'000, 1'000'000'000}}, 3'000'300'000);
  EXPECT_DOUBLE_EQ(line.ticks_per_ns(), 3.0);
  EXPECT_NEAR(line.tsc_of_realtime(500'000'000), 2.5e9, 1);
  EXPECT_NEAR(line.tsc_of_realtime(1'100'000'000), 4.3e9, 1);
}

TEST(TimeLine, LeavesOutWhatAStepOfTheClockWouldScale) {
  constexpr std::uint64_t kHz = 3'000'000'000;
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const std::int64_t step : {10 * kSecond, -5 * kSecond}) {
    std::vector<SyncPoint> points;
    for (std::int64_t second = 0; second < 20; ++second)
      points.push_back({static_cast<std::uint64_t>(second) * kHz,
                        (100 + second) * kSecond + (second < 10 ? 0 : step)});
    const TimeLine line(points, kHz);
    EXPECT_DOUBLE_EQ(line.ticks_per_ns(), 3.0) << step;
    EXPECT_EQ(line.clock_steps(), 1u);
    EXPECT_NEAR(line.tsc_of_realtime(102'500'000'000), 2.5 * kHz, 1) << step;
    EXPECT_NEAR(line.tsc_of_realtime(118'500'000'000 + step), 18.5 * kHz, 1) << step;
    EXPECT_TRUE(std::isnan(line.tsc_of_realtime((109 * 2 + 1) * kSecond / 2 + step / 2)));
  }
  const TimeLine two({{0, 0}, {30'000'000'000, 20'000'000'000}}, kHz);
  EXPECT_DOUBLE_EQ(two.ticks_per_ns(), 3.0);
}

// "posted" is stamped when the call has returned.
TEST_F(TraceTest, SaysWhyAHopIsBelowZeroAndOnlyWhereOneIs) {
  for (const bool quicker : {true, false}) {
    const std::string file = quicker ? "quicker.trace" : "later.trace";
    {
      TraceWriter writer(options(file));
      writer.stamp_at(Hop::kStrategyPosted, 7, {5'000'000});
      writer.stamp_at(Hop::kOegSeen, 7, {quicker ? 4'000'000u : 6'000'000u});
    }
    std::vector<TraceFile> files;
    files.emplace_back(path(file));
    const std::string text = to_text(analyse(files));
    EXPECT_EQ(text.find("a hop below zero") != std::string::npos, quicker) << text;
  }
}

TEST_F(TraceTest, ReportsCarryEveryRowInEachForm) {
  {
    TraceWriter writer(options("a.trace"));
    stamp_order(writer, 7, 0x1'0000'0001, 5'000'000);
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  for (const Interval& row : analysis.hops) {
    EXPECT_NE(to_text(analysis).find(row.name), std::string::npos);
    EXPECT_NE(to_json(analysis).find(row.name), std::string::npos);
    EXPECT_NE(to_csv(analysis).find(row.name), std::string::npos);
  }
  EXPECT_THAT(hops_picture(analysis.hops), testing::EndsWith("</svg>\n"));
  EXPECT_THAT(percentiles_picture(analysis.headline[1]), testing::EndsWith("</svg>\n"));
  EXPECT_THAT(scatter_picture({{1, 1, 0.5, 20'000}}), testing::EndsWith("</svg>\n"));
}

// A run that sent no order must not look like the fastest one.
TEST_F(TraceTest, WhatWasNeverMeasuredHasNoFigure) {
  {
    TraceWriter writer(options("a.trace"));
    writer.stamp_at(Hop::kMdhRx, 7, {5'000'000});
    writer.stamp_at(Hop::kMdhBook, 7, {5'001'000});
  }
  std::vector<TraceFile> files;
  files.emplace_back(path("a.trace"));
  const Analysis analysis = analyse(files);
  ASSERT_EQ(analysis.headline.front().distribution.count, 0u);
  EXPECT_EQ(to_text(analysis).find(" 0 ns"), std::string::npos) << to_text(analysis);
  EXPECT_THAT(to_csv(analysis), testing::HasSubstr(",0,,,,,,,,"));
  const auto json = nlohmann::json::parse(to_json(analysis));
  for (const char* key : {"min_ns", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns", "mean_ns"})
    EXPECT_TRUE(json["headline"][0][key].is_null()) << key;
  EXPECT_THAT(percentiles_picture(analysis.headline.front()), testing::HasSubstr("No order"));
  EXPECT_EQ(scatter_picture(analysis.orders), "");
}

}  // namespace
}  // namespace tickpath::trace

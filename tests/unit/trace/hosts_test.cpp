#include "common/trace/hosts.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/report.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::trace {
namespace {

constexpr std::uint64_t kHere = 0x1111'0000'0000'0001;
constexpr std::uint64_t kThere = 0x2222'0000'0000'0002;
constexpr std::uint64_t kBeyond = 0x3333'0000'0000'0003;

// The counter of `kThere` against that of `kHere`: shifted, and 40 ppm fast.
constexpr double kRate = 1 + 40e-6;
constexpr std::uint64_t kStart = 5'000'000'000'000;
constexpr std::uint64_t kThereStart = 900'000'000'000'000;

std::uint64_t there_of(std::uint64_t here) {
  const auto since = static_cast<double>(static_cast<std::int64_t>(here - kStart));
  return kThereStart + static_cast<std::uint64_t>(std::llround(since * kRate));
}

class Hosts : public testing::Test {
 protected:
  std::unique_ptr<TraceWriter> writer(const std::string& name, std::uint64_t host) {
    TraceOptions options{folder_ / (name + ".trace"), 4096, name, "shm", "yield", "cpu 0", host};
    names_.push_back(options.path);
    return std::make_unique<TraceWriter>(options);
  }
  std::vector<TraceFile> files() const {
    std::vector<TraceFile> opened;
    for (const std::string& name : names_) opened.emplace_back(name);
    return opened;
  }
  static std::uint64_t second() { return clock::tsc_hz(); }

 private:
  test_support::Folder folder_;
  std::vector<std::string> names_;
};

// Points once a second, each off by up to its stated error, as a probe on `kHere` reports them.
void measure(TraceWriter& writer, int seconds, std::uint64_t error_ns, std::uint32_t stream = 1) {
  std::mt19937_64 random(stream);
  const auto ticks = static_cast<std::int64_t>(static_cast<double>(error_ns) * 1e-9 *
                                               static_cast<double>(clock::tsc_hz()));
  std::uniform_int_distribution<std::int64_t> off(-ticks, ticks);
  for (int i = 0; i < seconds; ++i) {
    const std::uint64_t here = kStart + static_cast<std::uint64_t>(i) * clock::tsc_hz();
    writer.on_peer_time({kThere,
                         stream,
                         {here},
                         {there_of(here) + static_cast<std::uint64_t>(off(random))},
                         error_ns});
    writer.write_behind();  // as the control thread does all the while
  }
}

const Interval& row(const std::vector<Interval>& rows, Hop from, Hop to) {
  for (const Interval& each : rows)
    if (each.from == from && each.to == to) return each;
  throw Error("no such row");
}

TEST_F(Hosts, ShowAHopAcrossHostsWithItsError) {
  {
    const auto strategy = writer("strategy", kHere);
    const auto oeg = writer("oeg", kThere);
    measure(*strategy, 20, 1500);
    for (std::uint64_t order = 1; order <= 100; ++order) {
      // 30 us on the way, as the one true clock tells; between the measured seconds.
      const std::uint64_t sent = kStart + order * second() / 6;
      const std::uint64_t seen = sent + second() * 30 / 1'000'000;
      strategy->stamp_at(Hop::kStrategyPosted, order, {sent});
      oeg->stamp_at(Hop::kOegSeen, order, {there_of(seen)});
      oeg->stamp_at(Hop::kOegRiskPassed, order, {there_of(seen) + second() / 1'000'000});
    }
  }
  const Analysis analysis = analyse(files());
  ASSERT_EQ(analysis.hosts.size(), 2u);
  const Interval& across = row(analysis.hops, Hop::kStrategyPosted, Hop::kOegSeen);
  EXPECT_EQ(across.distribution.count, 100u);
  EXPECT_EQ(across.crossing, 100u);
  EXPECT_EQ(across.unmeasured, 0u);
  EXPECT_GE(across.error_ns, 1500);
  EXPECT_LE(across.error_ns, 1700);
  EXPECT_LE(std::abs(across.distribution.min - 30'000), across.error_ns);
  EXPECT_LE(std::abs(across.distribution.max - 30'000), across.error_ns);
  const Interval& within = row(analysis.hops, Hop::kOegSeen, Hop::kOegRiskPassed);
  EXPECT_EQ(within.crossing, 0u);
  EXPECT_EQ(within.error_ns, 0);
  EXPECT_NEAR(static_cast<double>(within.distribution.p50), 1000, 2);
  EXPECT_NE(to_text(analysis).find("+-1"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(analysis));
  EXPECT_EQ(json["hosts"].size(), 2u);
  bool shown = false;
  for (const auto& each : json["hops"])
    shown = shown || (each["to"] == "oeg.seen" && each["clock_error_ns"] == across.error_ns);
  EXPECT_TRUE(shown);
  EXPECT_NE(to_csv(analysis).find("clock_error_ns"), std::string::npos);
}

TEST_F(Hosts, AreNotSubtractedWithoutAMeasuredOffset) {
  {
    const auto strategy = writer("strategy", kHere);
    const auto oeg = writer("oeg", kThere);
    strategy->stamp_at(Hop::kStrategyDecided, 7, {kStart});
    strategy->stamp_at(Hop::kStrategyPosted, 7, {kStart + 1000});
    oeg->stamp_at(Hop::kOegSeen, 7, {kStart + 2000});  // tempting: it would look plausible
    oeg->stamp_at(Hop::kOegRiskPassed, 7, {kStart + 3000});
  }
  const Analysis analysis = analyse(files());
  const Interval& across = row(analysis.hops, Hop::kStrategyPosted, Hop::kOegSeen);
  EXPECT_EQ(across.distribution.count, 0u);
  EXPECT_EQ(across.unmeasured, 1u);
  // What lies within each host is shown all the same.
  EXPECT_EQ(row(analysis.hops, Hop::kStrategyDecided, Hop::kStrategyPosted).distribution.count, 1u);
  EXPECT_EQ(row(analysis.hops, Hop::kOegSeen, Hop::kOegRiskPassed).distribution.count, 1u);
  const std::string text = to_text(analysis);
  EXPECT_NE(text.find("was not measured"), std::string::npos) << text;
}

TEST_F(Hosts, AreJoinedThroughAThirdAndTheErrorsAdd) {
  {
    const auto here = writer("here", kHere);
    const auto also_here = writer("also_here", kHere);
    const auto there = writer("there", kThere);
    const auto beyond = writer("beyond", kBeyond);
    measure(*here, 10, 1000);
    // beyond measured there: its counter is there's plus a million.
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t at = there_of(kStart + static_cast<std::uint64_t>(i) * second());
      beyond->on_peer_time({kThere, 1, {at + 1'000'000}, {at}, 500});
    }
  }
  const auto opened = files();
  const HostClocks clocks(opened);
  ASSERT_EQ(clocks.hosts().size(), 3u);
  const std::size_t beyond = clocks.index_of(opened[3]);
  EXPECT_TRUE(clocks.comparable(beyond, clocks.index_of(opened[0])));
  const std::uint64_t moment = kStart + 3 * second() + second() / 2;
  const double placed =
      clocks.to_reference(beyond, static_cast<double>(there_of(moment) + 1'000'000));
  const double off_ns =
      std::abs(placed - static_cast<double>(moment)) / static_cast<double>(second()) * 1e9;
  const double stated = clocks.error_ns(beyond, placed);
  EXPECT_LE(off_ns, stated);
  EXPECT_GE(stated, 1500);
  EXPECT_LE(stated, 1900);
}

TEST_F(Hosts, UseTheMostPreciseOfSeveralConnections) {
  {
    const auto here = writer("here", kHere);
    const auto there = writer("there", kThere);
    measure(*here, 10, 90'000, 5);
    measure(*here, 10, 700, 6);
    measure(*here, 10, 40'000, 7);
  }
  const HostClocks clocks(files());
  EXPECT_LE(clocks.error_ns(1, static_cast<double>(kStart + 4 * second())), 750);
}

TEST_F(Hosts, AreLessSureTheFartherFromAMeasurement) {
  {
    const auto here = writer("here", kHere);
    const auto there = writer("there", kThere);
    measure(*here, 10, 1000);
  }
  const HostClocks clocks(files());
  const auto error_at = [&](double seconds) {
    return clocks.error_ns(1,
                           static_cast<double>(kStart) + seconds * static_cast<double>(second()));
  };
  EXPECT_LT(error_at(4), error_at(4.5));
  EXPECT_LT(error_at(9), error_at(19));
  EXPECT_LT(error_at(0), error_at(-10));
  // And the statement holds a minute later.
  const double later = static_cast<double>(kStart) + 69 * static_cast<double>(second());
  const double placed =
      clocks.to_reference(1, static_cast<double>(there_of(kStart + 69 * second())));
  EXPECT_LE(std::abs(placed - later) / static_cast<double>(second()) * 1e9, error_at(69));
}

TEST_F(Hosts, KeepPointsOfTheWholeRunWhenThePageIsFull) {
  {
    const auto here = writer("here", kHere);
    measure(*here, 2000, 100);
  }
  const auto opened = files();
  const auto clocks = opened[0].peer_clocks();
  ASSERT_EQ(clocks.size(), 1u);
  const auto& points = clocks[0].points;
  EXPECT_LE(points.size(), PeerClock::kPointsMax);
  EXPECT_GE(points.size(), PeerClock::kPointsMax / 3);
  EXPECT_LT(points.front().local, kStart + 100 * second());
  EXPECT_EQ(points.back().local, kStart + 1999 * second());
}

TEST_F(Hosts, CountPeersThatFindNoPage) {
  const auto here = writer("here", kHere);
  for (std::uint32_t stream = 0; stream < kPeerClocksMax + 3; ++stream)
    here->on_peer_time({kThere, stream, {1}, {1}, 1});
  here->write_behind();
  EXPECT_EQ(here->peer_times_lost(), 3u);
}

}  // namespace
}  // namespace tickpath::trace

#include "common/link/clock_exchange.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/unit/link/fabric.hpp"

namespace tickpath::link::test {
namespace {

// A clock of another host: ours, shifted and running at another rate.
struct OtherClock {
  std::int64_t offset_ticks = 0;
  double drift_ppm = 0;
  std::uint64_t base = tsc_now().value;

  TscTicks at(TscTicks ours) const {
    const auto since = static_cast<std::int64_t>(ours.value - base);
    const auto gained = static_cast<std::int64_t>(static_cast<double>(since) * drift_ppm * 1e-6);
    return {ours.value + static_cast<std::uint64_t>(offset_ticks + gained)};
  }
  static TscTicks read(const void* state) {
    return static_cast<const OtherClock*>(state)->at(tsc_after_loads());
  }
  clock::Source source() const { return {0x0a0b'0c0d, &OtherClock::read, this}; }
};

struct Reports final : clock::OffsetSink {
  void on_peer_time(const clock::PeerTime& time) noexcept override { times.push_back(time); }
  std::vector<clock::PeerTime> times;
};

class ClockExchange : public testing::Test {
 protected:
  void join(const std::vector<rdma::Grant>& grants) {
    fabric.meet(
        [&] { there = std::move(connect_tables(*fabric.device, fabric.endpoint, {}).connection); },
        [&](rdma::ConnectionRequest& request) {
          here = accept_tables(*fabric.device, request, {}, grants);
        });
    ASSERT_NE(there, nullptr);
  }
  void join(const ClockResponder& responder) {
    join({responder.ping_grant(), responder.answer_grant()});
  }
  ClockProbeOptions options() {
    return {.sink = &reports, .interval_ns = 200'000, .report_interval_ns = 5'000'000};
  }
  // One idle turn of a program that has the probe.
  void turn(ClockProbe& probe) {
    if (probe.step(now_ns())) there->poll();
  }

  Fabric fabric;
  Reports reports;
  std::unique_ptr<Connection> here;
  std::unique_ptr<Connection> there;
};

// Scenario: two programs on two hosts, each with its own polling thread, the responder's busy half
// of the time. Whatever the scheduler does to them, the truth lies within the stated error.
TEST_F(ClockExchange, RecoversOffsetAndDriftWithinTheStatedError) {
  for (const double drift_ppm : {0.0, 60.0, -60.0}) {
    OtherClock other{-987'654'321'000, drift_ppm};
    ClockResponder responder(*fabric.device, "other", other.source());
    join(responder);
    std::atomic<bool> stop{false};
    std::thread peer([&] {
      for (unsigned turn = 0; !stop.load(); ++turn) {
        if (turn % 2 == 0) responder.on_idle();
        std::this_thread::yield();
      }
    });
    reports.times.clear();
    ClockProbe probe(*fabric.device, options(), "probe");
    probe.attach(*there, there->extras(), now_ns());
    const bool enough = eventually([&] {
      turn(probe);
      return reports.times.size() >= 40;
    });
    stop = true;
    peer.join();
    ASSERT_TRUE(enough) << probe.counters().exchanges.get() << " exchanges";
    for (const clock::PeerTime& time : reports.times) {
      EXPECT_EQ(time.host, 0x0a0b'0c0du);
      const auto off = static_cast<double>(
          static_cast<std::int64_t>(time.peer.value - other.at(time.local).value));
      const double off_ns = std::abs(off) / static_cast<double>(clock::tsc_hz()) * 1e9;
      EXPECT_LE(off_ns, static_cast<double>(time.error_ns));
      // A bound that is never wrong but useless would pass the line above.
      EXPECT_LT(time.error_ns, 5'000'000u);
    }
    EXPECT_EQ(probe.estimator().contradictions(), 0u);
    probe.detach();
    there.reset();
    here.reset();
  }
}

TEST_F(ClockExchange, MeasuresNothingWithinOneHost) {
  ClockResponder responder(*fabric.device, "same");
  join(responder);
  ClockProbe probe(*fabric.device, options(), "probe");
  probe.attach(*there, there->extras(), now_ns());
  ASSERT_TRUE(eventually([&] {
    turn(probe);
    responder.on_idle();
    return probe.counters().same_host.get() == 1;
  }));
  for (int i = 0; i < 1000; ++i) {
    turn(probe);
    responder.on_idle();
  }
  EXPECT_EQ(responder.answered().get(), 0u);
  EXPECT_TRUE(reports.times.empty());
}

TEST_F(ClockExchange, GivesUpOnAPeerThatIsBusyAndTriesAgain) {
  OtherClock other{1'000'000};
  ClockResponder responder(*fabric.device, "other", other.source());
  join(responder);
  ClockProbeOptions impatient = options();
  impatient.answer_timeout_ns = 1'000'000;
  ClockProbe probe(*fabric.device, impatient, "probe");
  probe.attach(*there, there->extras(), now_ns());
  ASSERT_TRUE(eventually([&] {
    turn(probe);
    return probe.counters().unanswered.get() >= 2;
  }));
  EXPECT_EQ(probe.counters().exchanges.get(), 0u);
  ASSERT_TRUE(eventually([&] {
    turn(probe);
    responder.on_idle();
    return !reports.times.empty();
  }));
}

// Scenario: two probes share the responder's line and overwrite each other's pings.
TEST_F(ClockExchange, ServesTwoProbesWithoutMixingTheirPings) {
  OtherClock other{55'000'000'000, 25};
  ClockResponder responder(*fabric.device, "other", other.source());
  join(responder);
  const std::unique_ptr<Connection> here_first = std::move(here);
  const std::unique_ptr<Connection> there_first = std::move(there);
  join(responder);
  ClockProbeOptions eager = options();
  eager.answer_timeout_ns = 1'000'000;
  eager.interval_ns = 10'000;
  ClockProbe first(*fabric.device, eager, "first");
  ClockProbe second(*fabric.device, eager, "second");
  first.attach(*there_first, there_first->extras(), now_ns());
  second.attach(*there, there->extras(), now_ns());
  ASSERT_TRUE(eventually([&] {
    if (first.step(now_ns())) there_first->poll();
    if (second.step(now_ns())) there->poll();
    here_first->poll();
    here->poll();
    responder.on_idle();
    return first.counters().exchanges.get() > 200 && second.counters().exchanges.get() > 200;
  }));
  for (const ClockProbe* probe : {&first, &second}) {
    const TscTicks local = tsc_now();
    const auto estimate = probe->estimator().at(local);
    const auto off =
        static_cast<double>(static_cast<std::int64_t>(estimate.peer.value - other.at(local).value));
    EXPECT_LE(std::abs(off) / static_cast<double>(clock::tsc_hz()) * 1e9,
              static_cast<double>(estimate.error_ns));
    EXPECT_EQ(probe->estimator().contradictions(), 0u);
  }
}

TEST_F(ClockExchange, DoesNotUseAnAnswerThatWasHalfWritten) {
  const auto ping = fabric.device->allocate(8, rdma::kLocalWrite | rdma::kRemoteWrite, "ping");
  const auto shown =
      fabric.device->allocate(sizeof(ClockAnswer), rdma::kLocalWrite | rdma::kRemoteRead, "answer");
  join({{ping.get(), rdma::kRemoteWrite}, {shown.get(), rdma::kRemoteRead}});
  auto* const answer = reinterpret_cast<ClockAnswer*>(shown->data());
  *answer = {7, 1'000'000'000, 0, 0, 99, 0};
  answer->check = answer->check_word();
  answer->now = 100;  // and its check word has not landed yet
  ClockProbe probe(*fabric.device, options(), "probe");
  probe.attach(*there, there->extras(), now_ns());
  ASSERT_TRUE(eventually([&] {
    turn(probe);
    return probe.counters().torn.get() > 10;
  }));
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(ping->data()), 0u) << "it pinged on a torn answer";
  answer->check = answer->check_word();
  ASSERT_TRUE(eventually([&] {
    turn(probe);
    return *reinterpret_cast<std::uint64_t*>(ping->data()) != 0;
  }));
}

TEST_F(ClockExchange, IsSilentWithAPeerThatOffersNoClock) {
  OtherClock other;
  ClockResponder responder(*fabric.device, "other", other.source());
  join({responder.answer_grant()});
  ClockProbe probe(*fabric.device, options(), "probe");
  probe.attach(*there, there->extras(), now_ns());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(probe.step(now_ns()));
}

}  // namespace
}  // namespace tickpath::link::test

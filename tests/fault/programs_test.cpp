// Each program is stopped (SIGSTOP: no socket closes, nothing but its heartbeat tells) and killed
// in a running pipeline, and comes back. A row of the fault table each.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fault/fault_run.hpp"
#include "tests/fault/fault_table.hpp"

namespace tickpath::test_support {
namespace {

// The tests ask only that a fault is noticed at all: they run on any machine, loaded or not. The
// table says within what time it should have been, and was.
// Who watches a program, and where it tells when it lost it.
struct Watcher {
  std::string program;
  std::string group;
  std::string peer;
};

class Fault : public ::testing::Test {
 protected:
  void SetUp() override { run_.begin(); }
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", run_.logs().c_str());
  }

  // Does it to the program, and waits until all watchers have noticed: the longest time.
  double notice(const std::string& program, int number, const std::vector<Watcher>& watchers) {
    std::vector<std::uint64_t> before;
    for (const Watcher& watcher : watchers)
      before.push_back(run_.counter(watcher.program, watcher.group, watcher.peer + "_losses"));
    const std::int64_t done_ns = monotonic_ns();
    run_.signal(program, number);
    double longest = -1;
    for (std::size_t i = 0; i < watchers.size(); ++i) {
      const Watcher& watcher = watchers[i];
      if (!run_.wait_counter_above(watcher.program, watcher.group, watcher.peer + "_losses",
                                   before[i])) {
        ADD_FAILURE() << watcher.program << " did not notice";
        return -1;
      }
      const auto at_ns = static_cast<std::int64_t>(
          run_.counter(watcher.program, watcher.group, watcher.peer + "_lost_at_ns"));
      longest = std::max(longest, static_cast<double>(at_ns - done_ns) / 1e6);
    }
    return longest;
  }
  // Waits for `done` and tells how long it took since now.
  std::string back(const std::string& what, const std::function<bool()>& done) {
    const std::int64_t from_ns = monotonic_ns();
    const bool came = run_.wait_until(done);
    EXPECT_TRUE(came) << what;
    char text[64];
    std::snprintf(text, sizeof(text), " after %.0f ms",
                  static_cast<double>(monotonic_ns() - from_ns) / 1e6);
    return came ? what + text : "NOT: " + what;
  }
  std::string restart(const std::string& program, const std::string& what,
                      const std::function<bool()>& done) {
    run_.reap(program);
    run_.start(program, false);
    return back(what, done);
  }
  void finish(std::vector<FaultRow> rows, bool venue = true, bool strategy_life = true) {
    EXPECT_TRUE(run_.end());
    const std::string broken = run_.broken_books(venue, strategy_life);
    EXPECT_EQ(broken, "");
    for (FaultRow& row : rows) {
      EXPECT_GE(row.measured_ms, 0) << row.fault;
      row.books_hold = broken.empty();
      add_row(std::move(row));
    }
  }
  bool alive(const std::string& program, const std::string& group, const std::string& counter) {
    return run_.counter(program, group, counter) == 1;
  }
  bool ready(const std::string& program) {
    const nlohmann::json now = run_.status(program);
    return now.is_object() && now.value("state", "") == "ready";
  }
  bool risk_is_seen() {
    const nlohmann::json now = run_.status("oeg");
    return now.is_object() && now.value("risk_alive", false);
  }
  bool oeg_reads() {
    const nlohmann::json now = run_.status("oeg");
    return now.is_object() && now.value("state", "") == "ready" &&
           now.at("market").value("alive", false);
  }
  std::string feed_state() {
    const nlohmann::json now = run_.status("mdh");
    return now.is_object() ? now.at("feed").value("state", "?") : "?";
  }

  FaultRun run_;
};

const std::vector<Watcher> kOfMdh{
    {"strategy", "feed", "mdh"}, {"risk", "feed", "mdh"}, {"oeg", "market", "mdh"}};
const std::vector<Watcher> kOfOeg{{"strategy", "gateway", "oeg"}, {"risk", "orders", "oeg"}};
const std::vector<Watcher> kOfStrategy{{"oeg", "strategies", "strategy"}};
const std::vector<Watcher> kOfRisk{{"oeg", "risk", "risk"}};

TEST_F(Fault, AStoppedOrKilledMarketDataHandlerIsNoticedByAllReadersAndComesBack) {
  const auto all_read = [this] {
    return alive("strategy", "feed", "mdh_alive") && alive("risk", "feed", "mdh_alive") &&
           oeg_reads();
  };
  FaultRow stop{"mdh: SIGSTOP, SIGCONT", "strategy, risk, oeg", heartbeat_bound_ms()};
  stop.measured_ms = notice("mdh", SIGSTOP, kOfMdh);
  stop.others_do = "feed stale, quotes cancelled, no new orders without a market";
  run_.signal("mdh", SIGCONT);
  stop.came_back = back("all read again", all_read);

  FaultRow kill{"mdh: SIGKILL, restart", "strategy, risk, oeg", heartbeat_bound_ms()};
  kill.measured_ms = notice("mdh", SIGKILL, kOfMdh);
  kill.others_do = stop.others_do;
  kill.came_back = restart("mdh", "all read again", all_read) + ", books whole by a snapshot";
  // It has not seen the day from its start: a snapshot brings the books, and orders are sent again.
  EXPECT_TRUE(run_.wait_until([this] { return feed_state() == "good"; })) << feed_state();
  EXPECT_TRUE(run_.trades());
  finish({stop, kill});
}

TEST_F(Fault, AStoppedOrKilledStrategyLeavesNoOpenOrderAndGoesOnFromItsPositions) {
  const auto no_open = [this] {
    const nlohmann::json now = run_.status("risk");
    if (!now.is_object()) return false;
    for (const auto& each : now.at("strategies"))
      if (each.at("open_orders") != 0) return false;
    return true;
  };
  const auto up = [this] { return ready("strategy"); };
  FaultRow stop{"strategy: SIGSTOP, SIGCONT", "oeg", heartbeat_bound_ms()};
  stop.measured_ms = notice("strategy", SIGSTOP, kOfStrategy);
  stop.others_do = "oeg cancels its open orders, positions stay";
  EXPECT_TRUE(run_.wait_until(no_open)) << "open orders stay";
  run_.signal("strategy", SIGCONT);
  stop.came_back = back("trades again", [this] { return run_.trades(); });

  FaultRow kill{"strategy: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  kill.measured_ms = notice("strategy", SIGKILL, kOfStrategy);
  kill.others_do = stop.others_do;
  EXPECT_TRUE(run_.wait_until(no_open)) << "open orders stay";
  kill.came_back = restart("strategy", "ready with its positions", up);
  EXPECT_GT(run_.counter("strategy", "engine", "positions_adopted"), 0u);
  EXPECT_TRUE(run_.trades());
  finish({stop, kill}, true, false);
}

TEST_F(Fault, AStoppedOrKilledGatewayIsNoticedAndLosesNoOrder) {
  // All that will have to notice its next end have noticed its return.
  const auto up = [this] {
    return ready("oeg") && ready("strategy") && ready("risk") &&
           alive("risk", "orders", "oeg_alive");
  };
  FaultRow stop{"oeg: SIGSTOP, SIGCONT", "strategy, risk", heartbeat_bound_ms()};
  stop.measured_ms = notice("oeg", SIGSTOP, kOfOeg);
  stop.others_do = "strategies send nothing";
  run_.signal("oeg", SIGCONT);
  stop.came_back = back("trades again", [&] { return up() && run_.trades(); });

  FaultRow kill{"oeg: SIGKILL, restart", "strategy, risk", heartbeat_bound_ms()};
  kill.measured_ms = notice("oeg", SIGKILL, kOfOeg);
  kill.others_do = stop.others_do;
  kill.came_back =
      restart("oeg", "recovered from journal and FIX store, trades", [&] { return up(); });
  EXPECT_TRUE(run_.trades());
  finish({stop, kill}, true, false);
}

TEST_F(Fault, AStoppedOrKilledRiskMonitorStopsNewOrdersUntilItIsBack) {
  const auto refused = [this] { return run_.counter("oeg", "refused", "risk_absent"); };
  FaultRow stop{"risk: SIGSTOP, SIGCONT", "oeg", heartbeat_bound_ms()};
  std::uint64_t before = refused();
  stop.measured_ms = notice("risk", SIGSTOP, kOfRisk);
  stop.others_do = "oeg refuses new orders, cancels pass";
  EXPECT_TRUE(run_.wait_until([&] { return refused() > before; }));
  run_.signal("risk", SIGCONT);
  stop.came_back = back("trades again", [&] { return risk_is_seen() && run_.trades(); });

  FaultRow kill{"risk: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  before = refused();
  kill.measured_ms = notice("risk", SIGKILL, kOfRisk);
  kill.others_do = stop.others_do;
  EXPECT_TRUE(run_.wait_until([&] { return refused() > before; }));
  kill.came_back = restart("risk", "positions adopted from oeg, trades",
                           [&] { return risk_is_seen() && run_.trades(); });
  finish({stop, kill});
}

// sim is no peer on the fabric: mdh and oeg know it by its protocols, whose own bounds hold.
class VenueFault : public Fault {
 protected:
  static constexpr int kFixHeartbeatS = 1;       // demo: 10
  static constexpr const char* kSilence = "2s";  // demo: 3s; sim sends a heartbeat each second
  void SetUp() override {
    run_.configure("oeg", {"--set", "venue.heartbeat=" + std::to_string(kFixHeartbeatS)});
    run_.configure("mdh", {"--set", std::string("feed.silence_timeout=") + kSilence});
    Fault::SetUp();
  }
  bool logged_on() {
    const nlohmann::json now = run_.status("oeg");
    return now.is_object() && now.at("venue").value("logged_on", false);
  }
  double time_until(std::int64_t from_ns, const std::function<bool()>& done) {
    if (!run_.wait_until(done)) return -1;
    return static_cast<double>(monotonic_ns() - from_ns) / 1e6;
  }
};

TEST_F(VenueFault, AStoppedOrKilledExchangeMakesTheFeedStaleAndTheSessionReconnects) {
  const auto stale = [this] { return feed_state() == "stale"; };
  // mdh looks each turn; what it found is asked for over its admin socket.
  FaultRow feed{"sim: SIGSTOP, SIGCONT (feed)", "mdh", 2000 + heartbeat_bound_ms()};
  FaultRow fix{"sim: SIGSTOP, SIGCONT (FIX)", "oeg", kFixHeartbeatS * 2400.0 + 1000};
  std::int64_t from_ns = monotonic_ns();
  run_.signal("sim", SIGSTOP);
  feed.measured_ms = time_until(from_ns, stale);
  feed.others_do = "books stale, strategies told, quotes cancelled";
  fix.measured_ms = time_until(from_ns, [this] { return !logged_on(); });
  fix.others_do = "oeg refuses new orders (session_down)";
  run_.signal("sim", SIGCONT);
  fix.came_back = back("logged on, by sequence numbers", [this] { return logged_on(); });
  feed.came_back = back("feed good, trades", [&] { return !stale() && run_.trades(); });

  FaultRow kill{"sim: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  from_ns = monotonic_ns();
  run_.signal("sim", SIGKILL);
  kill.measured_ms = time_until(from_ns, [this] { return !logged_on(); });
  kill.others_do = "as above; the feed is stale after its silence";
  EXPECT_TRUE(run_.wait_until(stale));
  kill.came_back = restart("sim", "logged on, new feed session", [this] { return logged_on(); });
  finish({feed, fix, kill}, false);
}

}  // namespace
}  // namespace tickpath::test_support

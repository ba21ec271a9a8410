// Each program is stopped (SIGSTOP: no socket closes, nothing but its heartbeat tells) and killed
// in a running pipeline, and comes back. A row of the fault table each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fault/fault_run.hpp"
#include "tests/fault/fault_table.hpp"

namespace tickpath::test_support {
namespace {

// A program that watches another one, and where it tells when it lost it.
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
  void notice(FaultRow& row, const std::string& program, int number,
              const std::vector<Watcher>& watchers, const std::vector<Deed>& deeds) {
    std::vector<std::uint64_t> before;
    for (const Watcher& watcher : watchers)
      before.push_back(run_.counter(watcher.program, watcher.group, watcher.peer + "_losses"));
    const Lateness late;
    before_ = run_.counts(deeds);
    const std::int64_t done_ns = monotonic_ns();
    run_.signal(program, number);
    double longest = -1;
    for (std::size_t i = 0; i < watchers.size(); ++i) {
      const Watcher& watcher = watchers[i];
      if (!run_.wait_counter_above(watcher.program, watcher.group, watcher.peer + "_losses",
                                   before[i])) {
        ADD_FAILURE() << watcher.program << " did not notice";
        return;
      }
      const auto at_ns = static_cast<std::int64_t>(
          run_.counter(watcher.program, watcher.group, watcher.peer + "_lost_at_ns"));
      longest = std::max(longest, static_cast<double>(at_ns - done_ns) / 1e6);
    }
    row.measured_ms = longest;
    row.late_ms = late.ms();
  }
  // What the others have done since the fault, once no more orders are sent.
  std::string others_do(const std::vector<Deed>& deeds, const Deed& orders) {
    EXPECT_TRUE(run_.wait_until([&] {
      const auto now = run_.counts({orders});
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return run_.counts({orders}) == now;
    })) << "orders are sent on";
    return run_.done_since(deeds, before_) + ", then no order";
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
  void finish(std::vector<FaultRow> rows, Unharmed unharmed = {}) {
    EXPECT_TRUE(run_.end());
    const std::string broken = run_.broken_books(unharmed);
    EXPECT_EQ(broken, "");
    for (FaultRow& row : rows) {
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
  std::string feed_says(const char* what) {
    const nlohmann::json now = run_.status("mdh");
    return now.is_object() ? now.at("feed").value(what, "?") : "?";
  }
  std::string feed_state() { return feed_says("state"); }
  std::string feed_session() { return feed_says("session"); }

  FaultRun run_;
  std::vector<std::uint64_t> before_;  // what the others had done before the last fault
};

const Deed kOrdersSent{"orders sent", "oeg", "orders", "sent"};
const Deed kOrdersRefused{"refused", "oeg", "orders", "refused"};
const Deed kOrdersMade{"orders by strategies", "strategy", "engine", "orders"};
const std::vector<Deed> kWithoutMarket{
    kOrdersSent, kOrdersRefused, {"cancels and replacements", "oeg", "changes", "sent"}};
const std::vector<Deed> kWithoutStrategy{
    kOrdersSent,
    {"orders orphaned", "oeg", "strategies", "orphaned_orders"},
    {"cancels by oeg", "oeg", "changes", "own"}};
const std::vector<Deed> kWithoutOeg{kOrdersMade, {"reports", "strategy", "engine", "reports"}};
const std::vector<Deed> kWithoutRisk{kOrdersSent,
                                     {"refused (risk_absent)", "oeg", "refused", "risk_absent"},
                                     {"cancels and replacements", "oeg", "changes", "sent"}};
const std::vector<Deed> kWithoutSession{
    kOrdersSent, {"refused (session_down)", "oeg", "refused", "session_down"}};
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
  notice(stop, "mdh", SIGSTOP, kOfMdh, kWithoutMarket);
  stop.others_do = others_do(kWithoutMarket, kOrdersSent);
  run_.signal("mdh", SIGCONT);
  stop.came_back = back("all read again", all_read);

  FaultRow kill{"mdh: SIGKILL, restart", "strategy, risk, oeg", heartbeat_bound_ms()};
  notice(kill, "mdh", SIGKILL, kOfMdh, kWithoutMarket);
  kill.others_do = others_do(kWithoutMarket, kOrdersSent);
  kill.came_back = restart("mdh", "all read again", all_read);
  // The new mdh has not seen the day from its start: a snapshot brings the books, and orders are
  // sent again.
  EXPECT_TRUE(run_.wait_until([this] { return feed_state() == "good"; })) << feed_state();
  EXPECT_GT(run_.counter("mdh", "feed", "snapshot_orders"), 0u);
  kill.came_back += ", books by " + std::to_string(run_.counter("mdh", "feed", "snapshots")) +
                    " snapshot of " +
                    std::to_string(run_.counter("mdh", "feed", "snapshot_orders")) + " orders";
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
  notice(stop, "strategy", SIGSTOP, kOfStrategy, kWithoutStrategy);
  EXPECT_TRUE(run_.wait_until(no_open)) << "open orders stay";
  stop.others_do = others_do(kWithoutStrategy, kOrdersSent) + " and none open";
  run_.signal("strategy", SIGCONT);
  stop.came_back = back("trades again", [this] { return run_.trades(); });

  FaultRow kill{"strategy: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  notice(kill, "strategy", SIGKILL, kOfStrategy, kWithoutStrategy);
  EXPECT_TRUE(run_.wait_until(no_open)) << "open orders stay";
  kill.others_do = others_do(kWithoutStrategy, kOrdersSent) + " and none open";
  kill.came_back = restart("strategy", "ready", up);
  const std::uint64_t adopted = run_.counter("strategy", "engine", "positions_adopted");
  EXPECT_GT(adopted, 0u);
  kill.came_back += " with " + std::to_string(adopted) + " positions";
  EXPECT_TRUE(run_.trades());
  finish({stop, kill}, {.strategy = false});
}

TEST_F(Fault, AStoppedOrKilledGatewayIsNoticedAndLosesNoOrder) {
  // All that will have to notice its next end have noticed its return.
  const auto up = [this] {
    return ready("oeg") && ready("strategy") && ready("risk") &&
           alive("risk", "orders", "oeg_alive");
  };
  FaultRow stop{"oeg: SIGSTOP, SIGCONT", "strategy, risk", heartbeat_bound_ms()};
  notice(stop, "oeg", SIGSTOP, kOfOeg, kWithoutOeg);
  stop.others_do = others_do(kWithoutOeg, kOrdersMade);
  run_.signal("oeg", SIGCONT);
  stop.came_back = back("trades again", [&] { return up() && run_.trades(); });

  FaultRow kill{"oeg: SIGKILL, restart", "strategy, risk", heartbeat_bound_ms()};
  const std::uint64_t sent = run_.counter("oeg", "orders", "sent");
  notice(kill, "oeg", SIGKILL, kOfOeg, kWithoutOeg);
  kill.others_do = others_do(kWithoutOeg, kOrdersMade);
  kill.came_back = restart("oeg", "ready", up);
  const std::uint64_t recovered = run_.counter("oeg", "orders", "sent");
  EXPECT_GE(recovered, sent) << "its journal has lost orders";
  kill.came_back += ", counts on from " + std::to_string(recovered) + " orders sent";
  EXPECT_TRUE(run_.trades());
  finish({stop, kill}, {.oeg = false});
}

TEST_F(Fault, AStoppedOrKilledRiskMonitorStopsNewOrdersUntilItIsBack) {
  const auto refused = [this] { return run_.counter("oeg", "refused", "risk_absent"); };
  FaultRow stop{"risk: SIGSTOP, SIGCONT", "oeg", heartbeat_bound_ms()};
  std::uint64_t before = refused();
  notice(stop, "risk", SIGSTOP, kOfRisk, kWithoutRisk);
  EXPECT_TRUE(run_.wait_until([&] { return refused() > before; }));
  stop.others_do = others_do(kWithoutRisk, kOrdersSent);
  run_.signal("risk", SIGCONT);
  stop.came_back = back("trades again", [&] { return risk_is_seen() && run_.trades(); });

  FaultRow kill{"risk: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  before = refused();
  notice(kill, "risk", SIGKILL, kOfRisk, kWithoutRisk);
  EXPECT_TRUE(run_.wait_until([&] { return refused() > before; }));
  kill.others_do = others_do(kWithoutRisk, kOrdersSent);
  kill.came_back = restart("risk", "trades", [&] { return risk_is_seen() && run_.trades(); });
  const std::uint64_t adopted = run_.counter("risk", "reconcile", "adopted");
  EXPECT_GT(adopted, 0u);
  kill.came_back += ", " + std::to_string(adopted) + " positions adopted from oeg";
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
  // Since the fault that `late` was begun with.
  void time_until(FaultRow& row, std::int64_t from_ns, const Lateness& late,
                  const std::function<bool()>& done) {
    if (run_.wait_until(done)) row.measured_ms = ms_since(from_ns);
    row.late_ms = late.ms();
  }
};

TEST_F(VenueFault, AStoppedOrKilledExchangeMakesTheFeedStaleAndTheSessionReconnects) {
  const auto stale = [this] { return feed_state() == "stale"; };
  // mdh looks each turn; what it found is asked for over its admin socket.
  FaultRow feed{"sim: SIGSTOP, SIGCONT (feed)", "mdh", 2000 + heartbeat_bound_ms()};
  FaultRow fix{"sim: SIGSTOP, SIGCONT (FIX)", "oeg", kFixHeartbeatS * 2400.0 + 1000};
  const Lateness late;
  before_ = run_.counts(kWithoutMarket);
  std::int64_t from_ns = monotonic_ns();
  run_.signal("sim", SIGSTOP);
  time_until(feed, from_ns, late, stale);
  feed.others_do = others_do(kWithoutMarket, kOrdersSent);
  before_ = run_.counts(kWithoutSession);
  time_until(fix, from_ns, late, [this] { return !logged_on(); });
  fix.others_do = others_do(kWithoutSession, kOrdersSent);
  run_.signal("sim", SIGCONT);
  fix.came_back = back("logged on, by sequence numbers", [this] { return logged_on(); });
  feed.came_back = back("feed good, trades", [&] { return !stale() && run_.trades(); });

  FaultRow kill{"sim: SIGKILL, restart", "oeg", heartbeat_bound_ms()};
  before_ = run_.counts(kWithoutSession);
  from_ns = monotonic_ns();
  run_.signal("sim", SIGKILL);
  time_until(kill, from_ns, late, [this] { return !logged_on(); });
  EXPECT_TRUE(run_.wait_until(stale));
  kill.others_do = others_do(kWithoutSession, kOrdersSent) + ", feed stale after " +
                   std::to_string(static_cast<long>(ms_since(from_ns))) + " ms";
  const std::string session = feed_session();
  kill.came_back = restart("sim", "logged on", [this] { return logged_on(); });
  EXPECT_TRUE(run_.wait_until([&] { return feed_session() != session; })) << session;
  kill.came_back += ", feed session " + session + " became " + feed_session();
  finish({feed, fix, kill}, {.sim = false});
}

}  // namespace
}  // namespace tickpath::test_support

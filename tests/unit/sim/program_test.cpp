// sim as a program: started, traded with over TCP, watched on multicast and stopped.
#include <functional>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control/admin_client.hpp"
#include "common/control/json.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/fix/session.hpp"
#include "common/net/multicast.hpp"
#include "common/wire/order_id.hpp"
#include "recorded.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::sim {
namespace {

using test_support::Ends;

using control::Json;
using test_support::Process;
using namespace std::chrono_literals;

// Away from the demo's, so that a test does not meet a pipeline that runs beside it.
constexpr std::uint16_t kOrderPort = 17'712;
constexpr const char* kGroup = "239.255.7.29:17734";

struct ReportsOnly final : fix::Handler {
  std::size_t count = 0;
  void on_execution_report(const fix::ExecutionReport&, const fix::MessageInfo&) noexcept override {
    ++count;
  }
};

const sockaddr_in kOrderAddress = net::Endpoint{INADDR_LOOPBACK, kOrderPort}.to_sockaddr();

int connect_to_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const at = reinterpret_cast<const sockaddr*>(&kOrderAddress);
  if (::connect(socket, at, sizeof kOrderAddress) == 0) return socket;
  ::close(socket);
  return -1;
}

class SimProgram : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::string& recording,
                                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{test_support::program("sim"),
                                 test_support::source("config/demo/sim.toml"),
                                 "--run-dir",
                                 folder_ / "run",
                                 "--set",
                                 "replay.file=" + recording,
                                 "--set",
                                 "feed.group=" + std::string(kGroup),
                                 "--set",
                                 "orders.session.0.listen=127.0.0.1:" + std::to_string(kOrderPort),
                                 "--set",
                                 "feed.snapshot.listen=\"\"",
                                 "--set",
                                 "replay.settle=50ms"};
    for (const std::string& option : more) all.insert(all.end(), {"--set", option});
    return all;
  }
  // Under the allocation guard where so asked; until the program is ready.
  void start(const std::string& recording, const std::vector<std::string>& more,
             const std::map<std::string, std::string>& environment = {}) {
    sim_ = std::make_unique<Process>(command(recording, more), "", environment);
    until("admin socket",
          [&] { return std::filesystem::exists(control::admin_path(folder_ / "run", "sim")); });
    until("ready", [&] {
      try {
        return admin({{"command", "ready"}}).value("ready", false);
      } catch (const Error&) {
        return false;  // bound, not listening yet
      }
    });
  }
  // sim goes on for a minute after the recording, so that there is time to trade.
  void start_and_replay(const std::vector<std::string>& more = {},
                        const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> all{"replay.pace=max", "replay.settle=1min"};
    all.insert(all.end(), more.begin(), more.end());
    start(market(), all, environment);
    admin({{"command", "start"}});
    until_replayed();
  }
  Json replay() { return admin({{"command", "status"}})["replay"]; }
  void until_replayed() {
    until("end of replay", [&] { return replay()["state"] == "ended"; });
  }
  // What it wrote until then.
  std::string stop(int signal = SIGTERM) {
    sim_->signal(signal);
    const test_support::Finished finished = sim_->wait(test_support::kPatience);
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    return finished.output;
  }
  // What the guard saw, where there is one: allocations, but not of the datapath thread.
  void expect_guarded() {
    if (guarded().empty()) return;
    std::istringstream line(test_support::read_file(folder_ / "guard"));
    std::string pid, program;
    std::uint64_t allocations = 0, session = 0, violations = 1;
    line >> pid >> program >> allocations >> session >> violations;
    EXPECT_EQ(violations, 0u);
    EXPECT_GT(allocations, 0u);
  }
  // The allocation guard, where it is built (not under sanitizers).
  std::map<std::string, std::string> guarded() {
    const std::string guard =
        std::filesystem::path(test_support::program("sim")).parent_path().parent_path() /
        "tests/liballoc_guard.so";
    if (!std::filesystem::exists(guard)) return {};
    return {{"LD_PRELOAD", guard}, {"TICKPATH_ALLOC_GUARD_FILE", folder_ / "guard"}};
  }
  std::string market() {
    std::vector<Bytes> messages{directory(7, "ZAAA")};
    for (std::uint64_t i = 0; i < 50; ++i)
      messages.push_back(add(7, "ZAAA", i + 1, Side::kSell, 10, 10'000, kOpenNs + i));
    write_recording(folder_ / "market.itch50", messages);
    return folder_ / "market.itch50";
  }
  Json admin(const Json& request) {
    return control::admin_command(control::admin_path(folder_ / "run", "sim"), request);
  }
  void until(const char* what, const std::function<bool()>& done) {
    ASSERT_TRUE(test_support::wait_until(done)) << what;
  }
  Json summary() { return Json::parse(test_support::read_file(folder_ / "run/sim.summary.json")); }
  void trade(std::uint32_t orders);

  test_support::Folder folder_;
  std::unique_ptr<Process> sim_;
  ReportsOnly seen_;
  std::chrono::steady_clock::duration trade_took_{};  // from the first order to the last report
};

// Logs on, buys one share with each order, and logs out.
void SimProgram::trade(std::uint32_t orders) {
  fix::SessionOptions options{
      .sender = "TICKPATH", .target = "SIM", .store_path = folder_ / "oeg.fixstore"};
  fix::Session oeg(options);
  const int socket = connect_to_port();
  ASSERT_GE(socket, 0);
  ASSERT_TRUE(oeg.attach(socket));
  const auto poll_until = [&](const char* what, const std::function<bool()>& done) {
    until(what, [&] {
      oeg.poll(seen_);
      return done();
    });
  };
  poll_until("logon", [&] { return oeg.logged_on(); });
  const auto began = std::chrono::steady_clock::now();
  for (std::uint32_t i = 1; i <= orders; ++i) {
    fix::NewOrderSingle order{.cl_ord_id = wire::OrderId::make(3, 1, i),
                              .price = {10'000},
                              .order_qty = 1,
                              .symbol = fix::Symbol::from("ZAAA")};
    ASSERT_TRUE(fix::accepted(oeg.send(order)));
  }
  poll_until("fills", [&] { return seen_.count == 2 * orders; });
  trade_took_ = std::chrono::steady_clock::now() - began;
  oeg.logout("done");
  poll_until("logout", [&] { return !oeg.connected(); });
}

TEST_F(SimProgram, ReplaysOnCommandTradesAndLeavesABalancedSummary) {
  net::UdpMulticastReceiver feed({.group = net::parse_endpoint(kGroup), .interface = "127.0.0.1"});
  start(market(), {"replay.pace=max"}, guarded());
  EXPECT_EQ(replay()["state"], "waiting");
  admin({{"command", "start"}});
  until("end of replay", [&] { return replay()["messages_sent"] == 51; });
  // Whoever trades before the day is over trades with what the recording left.
  EXPECT_EQ(replay()["messages_total"], 51);
  stop();
  EXPECT_EQ(summary()["feed_messages"], 51);

  std::array<std::byte, 2048> buffer;
  net::Datagram datagram;
  std::uint64_t received = 0;
  bool ended = false;
  while (feed.receive(buffer, datagram) == net::IoStatus::kOk) {
    const itch::mold::PacketHeader header = itch::mold::load_header(datagram.bytes.data());
    received += header.messages();
    ended |= header.is_end_of_session();
  }
  EXPECT_EQ(received, 51u);
  EXPECT_TRUE(ended);
}

TEST_F(SimProgram, TakesTheTimeOfItsLatencyModelsEachWay) {
  net::UdpMulticastReceiver feed({.group = net::parse_endpoint(kGroup), .interface = "127.0.0.1"});
  start(market(), {"replay.pace=max", "replay.settle=1min", "latency.market_data.model=fixed",
                   "latency.market_data.delay=300ms", "latency.order_entry.model=fixed",
                   "latency.order_entry.delay=150ms", "latency.reports.model=fixed",
                   "latency.reports.delay=200ms"});
  std::array<std::byte, 2048> buffer;
  net::Datagram datagram;
  // Heartbeats of a session without messages may come before.
  const auto message_came = [&] {
    return feed.receive(buffer, datagram) == net::IoStatus::kOk &&
           itch::mold::load_header(datagram.bytes.data()).messages() > 0;
  };
  const auto began = std::chrono::steady_clock::now();
  admin({{"command", "start"}});
  until("market data", message_came);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
  trade(1);
  EXPECT_GE(trade_took_, 350ms);
  stop();
}

TEST_F(SimProgram, FillsOrdersOverTcpWithoutAllocatingOnItsDatapathThread) {
  start_and_replay({}, guarded());
  trade(100);
  stop(SIGINT);
  const Json all = summary();
  EXPECT_EQ(all["orders"]["received"], 100);
  EXPECT_EQ(all["orders"]["accepted"], 100);
  EXPECT_EQ(all["reports"]["sent"], 200);
  EXPECT_EQ(all["reports"]["fills"], 100);
  ASSERT_EQ(all["positions"].size(), 1u);
  EXPECT_EQ(all["positions"][0]["symbol"], "ZAAA");
  EXPECT_EQ(all["positions"][0]["shares"], 100);
  EXPECT_EQ(all["positions"][0]["cash"], -1'000'000);
  EXPECT_EQ(all["details"]["conservation_broken"], 0);
  EXPECT_EQ(all["details"]["taken_shares"], 100);
  expect_guarded();
}

TEST_F(SimProgram, PublishesItsOrdersAndAHaltByHandWithoutAllocatingOnItsDatapathThread) {
  net::UdpMulticastReceiver feed({.group = net::parse_endpoint(kGroup), .interface = "127.0.0.1"});
  start_and_replay({"matching.publish=true"}, guarded());
  trade(100);
  EXPECT_THROW(admin({{"command", "halt_symbol"}}), Error);
  EXPECT_THROW(admin({{"command", "halt_symbol"}, {"symbol", "NOSUCH"}}), Error);
  admin({{"command", "halt_symbol"}, {"symbol", "ZAAA"}});
  admin({{"command", "resume_symbol"}, {"symbol", "ZAAA"}});
  until("both states", [&] { return replay()["messages_sent"] == 51 + 100 + 2; });
  stop(SIGINT);
  EXPECT_EQ(summary()["details"]["conservation_broken"], 0);

  std::array<std::byte, 2048> buffer;
  net::Datagram datagram;
  std::map<char, int> types;
  bool ended = false;
  while (feed.receive(buffer, datagram) == net::IoStatus::kOk) {
    itch::mold::PacketCursor packet(datagram.bytes);
    ended |= packet.header().is_end_of_session();
    for (std::span<const std::byte> m; packet.next(m);) ++types[itch::message_type(m.data())];
  }
  EXPECT_EQ(types, (std::map<char, int>{{'R', 1}, {'A', 50}, {'E', 100}, {'H', 2}}));
  EXPECT_TRUE(ended);
  expect_guarded();
}

TEST_F(SimProgram, WaitsByParkingAndStillReplaysOnTime) {
  std::vector<Bytes> messages;
  for (std::uint64_t i = 0; i < 20; ++i)
    messages.push_back(add(7, "ZAAA", i + 1, Side::kSell, 10, 10'000, kOpenNs + i * 10'000'000));
  write_recording(folder_ / "slow.itch50", messages);
  start(folder_ / "slow.itch50", {"replay.start=immediate", "datapath.wait=park",
                                  "datapath.park_timeout=1s", "datapath.hang_after=10s"});
  until_replayed();
  stop();
  EXPECT_EQ(summary()["feed_messages"], 20);
  // A parked thread that waited for its time-out each time would be seconds behind.
  EXPECT_LT(summary()["details"]["lag_p50_ns"].get<std::uint64_t>(), 500'000'000u);
}

TEST_F(SimProgram, ReplaysADamagedRecordingUpToTheDamageAndSaysSo) {
  const std::string recording = market();
  truncate_file(recording, 2 + 5);
  start(recording, {"replay.start=immediate", "replay.pace=max"});
  until_replayed();
  const std::string output = stop();
  EXPECT_NE(output.find("damaged"), std::string::npos) << output;
  EXPECT_NE(output.find("message 51"), std::string::npos) << output;
  EXPECT_EQ(summary()["details"]["recording_damage"], 1);
  EXPECT_EQ(summary()["feed_messages"], 50);
}

TEST_F(SimProgram, ConnectionsThatSayNothingKeepNobodyOutAndEndWithIt) {
  start_and_replay();
  std::vector<int> idle;
  for (int i = 0; i < 5; ++i) idle.push_back(connect_to_port());
  trade(10);
  stop();
  EXPECT_EQ(summary()["orders"]["accepted"], 10);
  for (const int socket : idle) ::close(socket);
}

TEST_F(SimProgram, StrangersThatComeAgainAndAgainDoNotFillTheLog) {
  start_and_replay();
  for (int i = 0; i < 500; ++i) {
    const int socket = connect_to_port();
    ASSERT_GE(socket, 0);
    ASSERT_GT(::send(socket, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    ::close(socket);
  }
  trade(10);
  stop();
  std::istringstream log(test_support::read_file(folder_ / "run/sim.log"));
  int told = 0;
  for (std::string line; std::getline(log, line);)
    told += line.find("session TICKPATH") == std::string::npos ? 0 : 1;
  EXPECT_GT(told, 0);
  EXPECT_LT(told, 200);
}

TEST_F(SimProgram, ABusyPortIsOneClearError) {
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(taken, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* const at = reinterpret_cast<const sockaddr*>(&kOrderAddress);
  ASSERT_EQ(::bind(taken, at, sizeof kOrderAddress), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  const test_support::Finished finished = test_support::run(command(market()));
  ::close(taken);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.output.find("127.0.0.1:17712"), std::string::npos) << finished.output;
  EXPECT_NE(finished.output.find("Address already in use"), std::string::npos) << finished.output;
}

TEST_F(SimProgram, AMissingRecordingIsOneClearError) {
  EXPECT_THAT(test_support::run(command(folder_ / "nothing.itch50")), Ends(1, "nothing.itch50"));
}

// The number in its file is raised at each start, so that ids never return.
TEST_F(SimProgram, EveryStartIsAnotherIncarnation) {
  for (int run = 1; run <= 2; ++run) {
    start(market(), {});
    stop();
    EXPECT_EQ(test_support::read_file(folder_ / "run/sim.incarnation"), std::to_string(run) + "\n");
  }
}

}  // namespace
}  // namespace tickpath::sim

// sim's datapath, parked: orders over a FIX session, and commands.
#include "tests/support/parking.hpp"

#include <unistd.h>

#include "recorded.hpp"
#include "report_log.hpp"
#include "sim/datapath.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::sim {
namespace {

struct Reports final : fix::Handler {
  int count = 0;
  void on_execution_report(const fix::ExecutionReport&, const fix::MessageInfo&) noexcept override {
    ++count;
  }
};

fix::SessionOptions session_options(const test_support::Folder& folder, bool venue) {
  fix::SessionOptions options{
      .role = venue ? fix::SessionRole::kAcceptor : fix::SessionRole::kInitiator,
      .sender = venue ? "SIM" : "OEG",
      .target = venue ? "OEG" : "SIM"};
  options.store_path = folder / (options.sender + ".store");
  options.store_messages = 1024;
  return options;
}

class SimThatParks : public ::testing::Test {
 protected:
  SimThatParks() {
    gateway_.connect(matcher_, market_.symbols());
    market_.apply(directory(7, "ZAAA"));
  }
  GatewayOptions gateway_options() const {
    GatewayOptions options;
    options.sessions.push_back({session_options(folder_, true), false, PartyRule::kClOrdId});
    options.ledger_rows = 4;
    options.order_ids_max = 1024;
    return options;
  }
  static FeedOptions feed_options() {
    FeedOptions options;
    const auto id = static_cast<unsigned>(::getpid());
    options.socket.group = net::parse_endpoint("239.255.91." + std::to_string(id % 251) + ":" +
                                               std::to_string(20'000 + id % 20'000));
    options.socket.interface = "127.0.0.1";
    return options;
  }
  static MatcherOptions matcher_options() {
    return {.book = {.orders_max = 1024, .levels_max = 1024}, .order_ids_max = 1024};
  }
  void logon() {
    const auto [theirs, ours] = test_support::socket_pair();
    ASSERT_TRUE(oeg_.attach(ours));
    ASSERT_TRUE(datapath_.post({.kind = Command::Kind::kAttach, .session = 0, .socket = theirs}));
    for (int turn = 0; turn < 10'000 && !(oeg_.logged_on() && gateway_.logged_on(0)); ++turn) {
      datapath_.turn();
      oeg_.poll(reports_);
    }
    ASSERT_TRUE(oeg_.logged_on());
  }

  test_support::Folder folder_;
  trace::TraceWriter trace_{{}};
  MessageQueue queue_{4};
  FeedSender feed_{feed_options(), trace_};
  OrderGateway gateway_{gateway_options(), trace_};
  Matcher matcher_{matcher_options(), gateway_};
  Market market_{matcher_};
  Replayer replayer_{{}, queue_, feed_, market_};
  SimDatapath datapath_{replayer_, matcher_, gateway_, 0};
  fix::Session oeg_{session_options(folder_, false)};
  Reports reports_;
};

TEST_F(SimThatParks, SleepsBesideNoOrder) {
  logon();
  int sent = 0;
  test_support::expect_no_arrival_is_slept_through(
      datapath_,
      [&] {
        fix::NewOrderSingle order{.cl_ord_id = static_cast<std::uint64_t>(++sent),
                                  .price = {10'000},
                                  .order_qty = 10,
                                  .symbol = fix::Symbol::from("ZAAA")};
        EXPECT_TRUE(fix::accepted(oeg_.send(order)));
      },
      [&] { return reports_.count == sent; }, [&] { oeg_.poll(reports_); });
}

TEST_F(SimThatParks, SleepsBesideNoCommand) {
  // The symbol's states: halted, trading, halted.
  const char states[] = {'H', 'T', 'H'};
  int given = 0;
  test_support::expect_no_arrival_is_slept_through(
      datapath_,
      [&] {
        Command command{.kind = Command::Kind::kState, .symbol = itch::Stock("ZAAA")};
        command.trading_state = states[given++];
        EXPECT_TRUE(datapath_.post(command));
      },
      [&] { return market_.counters().states_by_hand.get() == static_cast<std::uint64_t>(given); });
}

}  // namespace
}  // namespace tickpath::sim

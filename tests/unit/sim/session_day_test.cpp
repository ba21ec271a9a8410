// What the end of a session's day does to its orders, by virtual time.
#include <memory>

#include <gtest/gtest.h>

#include "common/clock/virtual_time.hpp"
#include "order_entry.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::sim {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

struct Told final : fix::Handler {
  std::vector<std::string> words;  // ClOrdID and ExecType
  void on_execution_report(const fix::ExecutionReport& report,
                           const fix::MessageInfo&) noexcept override {
    words.push_back(std::to_string(report.cl_ord_id) + static_cast<char>(report.exec_type));
  }
};

class SessionDayOfOrders : public ::testing::Test, protected OrderEntry {
 protected:
  SessionDayOfOrders() {
    GatewayOptions options = gateway_options(64);
    options.sessions.push_back(GatewaySession{.fix = side(fix::SessionRole::kAcceptor)});
    open_exchange(options);
    peer_ = std::make_unique<fix::Session>(side(fix::SessionRole::kInitiator));
    go_to(9);
  }
  fix::SessionOptions side(fix::SessionRole role) const {
    const bool acceptor = role == fix::SessionRole::kAcceptor;
    fix::SessionOptions options{
        .role = role, .sender = acceptor ? "SIM" : "PEER", .target = acceptor ? "PEER" : "SIM"};
    options.store_path = folder_ / options.sender;
    options.store_messages = 64;
    options.heartbeat_s = 3600;
    options.times = fix::SessionTimes("08:00:00", "17:00:00");
    return options;
  }
  // Hours of virtual time, which starts at midnight.
  void go_to(std::uint64_t hour) {
    now_ns_ = clock::VirtualTime::kStartNs + hour * kHourNs + 1'000'000'000;
    turn();
  }
  void turn() {
    for (int i = 0; i < 20; ++i) {
      time_.advance_to(now_ns_ += 10'000'000);
      gateway_->poll();
      gateway_->flush();
      peer_->poll(told_);
    }
  }
  bool log_on() {
    const auto [theirs, ours] = test_support::socket_pair();
    gateway_->attach(0, theirs);
    (void)peer_->attach(ours);
    turn();
    return peer_->logged_on();
  }
  void buy(std::uint64_t id, trading::TimeInForce time_in_force) {
    fix::NewOrderSingle order{.cl_ord_id = id,
                              .price = {10'000},
                              .order_qty = 100,
                              .time_in_force = time_in_force,
                              .symbol = fix::Symbol::from("ZAAA")};
    ASSERT_TRUE(fix::accepted(peer_->send(order)));
    turn();
  }
  void trade_at_the_market(std::uint64_t reference) {
    market_->apply(add(7, "ZAAA", reference, Side::kSell, 30, 9'900));
    turn();
  }

  clock::VirtualTime time_;
  std::uint64_t now_ns_ = clock::VirtualTime::kStartNs;
  std::unique_ptr<fix::Session> peer_;
  Told told_;
};

using Words = std::vector<std::string>;

TEST_F(SessionDayOfOrders, DayOrdersExpireBeforeTheLogoutAndOthersWorkOn) {
  ASSERT_TRUE(log_on());
  buy(1, trading::TimeInForce::kDay);
  buy(2, trading::TimeInForce::kGoodTillCancel);
  told_.words.clear();
  go_to(17);
  EXPECT_FALSE(peer_->connected());
  EXPECT_EQ(told_.words, Words{"1C"});
  EXPECT_EQ(gateway_->counters().expired_at_day_end.get(), 1u);

  trade_at_the_market(1);
  EXPECT_FALSE(log_on());
  go_to(24 + 8);
  ASSERT_TRUE(log_on());
  EXPECT_EQ(told_.words, (Words{"1C", "21"})) << "what happened at night is said in the morning";
  EXPECT_FALSE(peer_->behind_gap());
}

TEST_F(SessionDayOfOrders, WhoIsNotThereAtTheEndIsToldOnTheNextDay) {
  ASSERT_TRUE(log_on());
  buy(1, trading::TimeInForce::kDay);
  told_.words.clear();
  peer_->disconnect();
  turn();
  trade_at_the_market(1);
  go_to(17);
  go_to(24 + 8);
  ASSERT_TRUE(log_on());
  EXPECT_EQ(told_.words, (Words{"11", "1C"}));
}

TEST_F(SessionDayOfOrders, AClOrdIdOfADayBeforeIsStillADuplicate) {
  ASSERT_TRUE(log_on());
  buy(1, trading::TimeInForce::kDay);
  go_to(17);
  go_to(24 + 8);
  ASSERT_TRUE(log_on());
  told_.words.clear();
  buy(1, trading::TimeInForce::kDay);
  EXPECT_EQ(told_.words, Words{"18"});
}

}  // namespace
}  // namespace tickpath::sim

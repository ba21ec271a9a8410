// oeg trades with a venue that runs QuickFIX: an acceptor that fills, takes fills back, corrects
// and repeats them, and says what cannot be, over a connection that breaks. The account that it
// keeps is the reference: positions and cash of oeg, risk and strategy equal it.
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/wire/order_id.hpp"
#include "tests/fault/fault_run.hpp"
#include "tests/integration/quickfix_words.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/relay.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

constexpr std::int64_t kTooMany = 1'000'000;  // shares, more than any order has

// A matching of dice, in a thread of its own.
class Venue {
 public:
  Venue(bool v44, const std::string& folder) : v44_(v44), random_(v44 ? 44 : 42) {
    options_.initiator = false;
    options_.port = free_port();
    options_.begin_string = v44 ? "FIX.4.4" : "FIX.4.2";
    options_.sender = "SIM";
    options_.target = "TICKPATH";
    options_.dictionary = dictionary(v44);
    options_.folder = folder + "/venue";
    open();
  }
  ~Venue() { close(); }

  std::uint16_t port() const { return options_.port; }
  void open() {
    peer_ = std::make_unique<QuickFixPeer>(options_);
    end_ = false;
    thread_ = std::thread([this] { run(); });
  }
  // As a process that is killed; its message files stay.
  void close() {
    if (!peer_) return;
    peer_->drop();  // first: what it has taken in is answered, or nobody would
    end_ = true;
    thread_.join();
    for (const std::string& reject : peer_->rejects()) rejects.push_back(reject);
    peer_.reset();
  }

  // Valid while it is closed.
  std::map<std::string, HeldPosition> held;  // by "strategy symbol"
  std::vector<std::string> rejects;
  std::vector<std::string> twice;  // requests that came more than once
  std::uint64_t orders = 0;
  std::map<std::string, std::uint64_t> told;  // what, how often
  std::uint64_t impossible = 0;               // reports that no one may book

 private:
  struct Order {
    std::string id;  // ClOrdID that is valid now
    std::string symbol;
    std::string side;
    std::int64_t total = 0;
    std::int64_t cumulative = 0;
    std::int64_t leaves = 0;
    std::string price;
    bool done = false;
  };

  void run() {
    QuickFixMessage message;
    while (!end_)
      if (peer_->next(message, 5)) take(message);
    while (peer_->next(message, 0)) take(message);
  }
  void take(const QuickFixMessage& message) {
    const std::string id = message.get(11);
    if (message.type == "D" || message.type == "F" || message.type == "G")
      if (!seen_.insert({id, 0}).second) twice.push_back(shown(message));
    if (message.type == "D") return take_order(message, id);
    const auto found = current_.find(message.get(41));
    const bool live = found != current_.end() && !orders_[found->second].done;
    if (message.type == "F") live ? cancel(orders_[found->second], id) : refuse(message, "1");
    if (message.type == "G") live ? replace(found->second, message) : refuse(message, "2");
  }

  // ------------------------------------------------------------------------------ what is asked
  void take_order(const QuickFixMessage& message, const std::string& id) {
    ++orders;
    Order order{id,
                message.get(55),
                message.get(54),
                std::stoll(message.get(38)),
                0,
                std::stoll(message.get(38)),
                message.get(44),
                false};
    if (dice(10)) {
      order.leaves = 0;
      return say("rejected", "8", order, "8", "8", {{58, "the dice say no"}});
    }
    say("new", "8", order, "0", "0", {});
    const std::size_t index = orders_.size();
    current_[id] = index;
    orders_.push_back(order);
    const bool at_once = message.get(59) == "3" || dice(3);
    if (at_once) trade(index);
    Order& now = orders_[index];
    if (message.get(59) == "3" && !now.done) {
      now.leaves = 0;
      now.done = true;
      say("expired", "8", now, "4", "4", {});
    }
  }
  void cancel(Order& order, const std::string& id) {
    const std::string old = order.id;
    order.id = id;
    order.leaves = 0;
    order.done = true;
    say("canceled", "8", order, "4", "4", {{41, old}});
  }
  void replace(std::size_t index, const QuickFixMessage& message) {
    Order& order = orders_[index];
    const std::int64_t total = std::stoll(message.get(38));
    if (total <= order.cumulative || dice(10)) return refuse(message, "2");
    const std::string old = order.id;
    order.id = message.get(11);
    order.total = total;
    order.leaves = total - order.cumulative;
    order.price = message.get(44);
    current_[order.id] = index;
    say("replaced", "8", order, "5", v44_ ? open_status(order) : "5", {{41, old}});
    if (dice(3)) trade(index);
  }
  void refuse(const QuickFixMessage& message, const std::string& response_to) {
    ++told["cancel rejected"];
    const auto found = current_.find(message.get(41));
    const bool known = found != current_.end();
    send({"9",
          {{37, "V1"},
           {11, message.get(11)},
           {41, message.get(41)},
           {39, known ? open_status(orders_[found->second]) : "8"},
           {434, response_to},
           {102, known ? "0" : "1"}}});
  }

  // ---------------------------------------------------------------------------------- executions
  void trade(std::size_t index) {
    while (orders_[index].leaves != 0) {
      const std::int64_t leaves = orders_[index].leaves;
      fill(index, dice(2) ? leaves : 1 + static_cast<std::int64_t>(random_()) % leaves);
      if (dice(3)) break;
    }
  }
  void fill(std::size_t index, std::int64_t shares) {
    Order& order = orders_[index];
    if (dice(8)) say_impossible(order);
    order.cumulative += shares;
    order.leaves -= shares;
    order.done = order.leaves == 0;
    const QuickFixMessage report = execution(order, shares, order.price);
    account(order, shares, order.price, true);
    ++told[order.done ? "fill" : "partial fill"];
    send(report);
    if (dice(6)) {  // said again, and marked so: PossResend (97)
      QuickFixMessage again = report;
      again.fields.push_back({97, "Y"});
      ++told["possible resend"];
      send(again);
    }
    if (order.done && dice(4)) undo(order, report, shares);
  }
  // The last execution of an order that is done is taken back, or corrected.
  void undo(Order& order, const QuickFixMessage& report, std::int64_t shares) {
    const bool bust = dice(2);
    account(order, shares, order.price, false);
    order.cumulative -= shares;
    const std::int64_t right = bust ? 0 : 1 + shares / 2;
    order.cumulative += right;
    QuickFixMessage change = report;
    put(change, 17, next_exec_id());
    put(change, 19, report.get(17));
    put(change, 14, std::to_string(order.cumulative));
    put(change, 151, "0");
    put(change, 39, "2");
    if (v44_)
      put(change, 150, bust ? "H" : "G");
    else
      put(change, 20, bust ? "1" : "2");
    if (!bust) {
      put(change, 32, std::to_string(right));
      account(order, right, order.price, true);
    }
    ++told[bust ? "bust" : "correction"];
    send(change);
  }
  // An execution that no buyer or seller would know: DontKnowTrade (Q) in a person's hands.
  void say_impossible(const Order& order) {
    Order wrong = order;
    std::int64_t shares = 1;
    switch (random_() % 3) {
      case 0:
        shares = kTooMany;
        break;
      case 1:
        wrong.side = order.side == "1" ? "2" : "1";
        break;
      default:
        wrong.symbol = "NOSUCH";
    }
    ++impossible;
    send(execution(wrong, shares, order.price));
  }

  // -------------------------------------------------------------------------------------- words
  static std::string open_status(const Order& order) {
    return order.done ? "2" : order.cumulative == 0 ? "0" : "1";
  }
  QuickFixMessage execution(const Order& order, std::int64_t shares, const std::string& price) {
    const std::string status = order.leaves == 0 ? "2" : "1";
    QuickFixMessage report = this->report(order, v44_ ? "F" : status, status);
    report.fields.insert(report.fields.end(), {{32, std::to_string(shares)}, {31, price}});
    return report;
  }
  QuickFixMessage report(const Order& order, const std::string& type, const std::string& status) {
    QuickFixMessage message{"8",
                            {{37, "V" + order.id},
                             {11, order.id},
                             {17, next_exec_id()},
                             {150, type},
                             {39, status},
                             {55, order.symbol},
                             {54, order.side},
                             {38, std::to_string(order.total)},
                             {151, std::to_string(order.leaves)},
                             {14, std::to_string(order.cumulative)},
                             {6, order.price},
                             {1, "HOUSE"},
                             {30, "XDICE"}}};
    if (!v44_) message.fields.push_back({20, "0"});
    return message;
  }
  void say(const char* what, const char* msg_type, const Order& order, const std::string& type,
           const std::string& status, const std::vector<std::pair<int, std::string>>& more) {
    QuickFixMessage message = report(order, type, status);
    message.type = msg_type;
    message.fields.insert(message.fields.end(), more.begin(), more.end());
    ++told[what];
    send(message);
  }
  void send(const QuickFixMessage& message) { peer_->send(message); }
  static void put(QuickFixMessage& message, int tag, const std::string& value) {
    std::erase_if(message.fields, [&](const auto& field) { return field.first == tag; });
    message.fields.push_back({tag, value});
  }
  std::string next_exec_id() { return "X" + std::to_string(++executions_); }
  bool dice(std::uint32_t sides) { return random_() % sides == 0; }
  void account(const Order& order, std::int64_t shares, const std::string& price, bool stands) {
    const unsigned strategy = wire::OrderId::strategy(std::stoull(order.id));
    const bool buys = (order.side == "1") == stands;
    book(held[std::to_string(strategy) + " " + order.symbol], buys, shares, price_of(price));
  }

  bool v44_;
  std::mt19937 random_;
  QuickFixOptions options_;
  std::unique_ptr<QuickFixPeer> peer_;
  std::atomic<bool> end_{false};
  std::thread thread_;
  std::map<std::string, int> seen_;
  std::map<std::string, std::size_t> current_;  // ClOrdID -> order
  std::vector<Order> orders_;
  std::uint64_t executions_ = 0;
};

class QuickFixVenue : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    TICKPATH_NEED_DATA(data_folder() / "fix/FIX42.xml");
    TICKPATH_NEED_DATA(data_folder() / "fix/FIX44.xml");
  }
};

TEST_P(QuickFixVenue, KeepsTheAccountThatOegKeeps) {
  FaultRun run;
  Venue venue(GetParam(), run.folder().path());
  Relay relay(venue.port());
  run.configure("oeg", {"--set", "venue.address=127.0.0.1:" + std::to_string(relay.port()), "--set",
                        std::string("venue.version=") + (GetParam() ? "4.4" : "4.2"), "--set",
                        "strategies.reconnect_grace=5s"});
  run.begin();
  const auto fills_on = [&](std::uint64_t more) {
    return run.wait_counter_above("oeg", "reports", "fills",
                                  run.counter("oeg", "reports", "fills") + more);
  };
  ASSERT_TRUE(fills_on(20)) << run.logs();
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{900}}) {
    relay.cut_after(bytes);
    ASSERT_TRUE(fills_on(20)) << run.logs();
  }
  venue.close();
  venue.open();
  ASSERT_TRUE(fills_on(20)) << run.logs();
  run.kill("oeg");
  run.reap("oeg");
  run.start("oeg");
  ASSERT_TRUE(fills_on(20)) << run.logs();
  EXPECT_TRUE(run.end()) << run.logs();
  venue.close();

  EXPECT_EQ(run.folder().positions("oeg"), without_nothing(venue.held));
  // The venue is not sim. What strategy had sent to the oeg that was killed is lost, and strategy
  // knows.
  EXPECT_EQ(run.broken_books({.sim = false, .oeg = false}), "") << run.logs();
  EXPECT_EQ(run.summary("oeg").at("orders").at("sent"), venue.orders);
  EXPECT_EQ(venue.twice, std::vector<std::string>{});
  EXPECT_EQ(venue.rejects, std::vector<std::string>{});
  EXPECT_GT(venue.impossible, 0u);
  for (const char* const what : {"rejected", "fill", "partial fill", "possible resend", "bust",
                                 "correction", "canceled", "replaced", "cancel rejected"})
    EXPECT_GT(venue.told[what], 0u) << what;
}

INSTANTIATE_TEST_SUITE_P(Versions, QuickFixVenue, ::testing::Values(false, true),
                         [](const auto& v44) { return v44.param ? "Fix44" : "Fix42"; });

}  // namespace
}  // namespace tickpath::test_support

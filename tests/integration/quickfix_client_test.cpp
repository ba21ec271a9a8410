// Two clients that run QuickFIX, one in each version, trade at sim over connections that break.
// Each keeps its own account of what it was told; sim's ledger must say the same.
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "tests/integration/quickfix_words.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/recordings.hpp"
#include "tests/support/relay.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

constexpr const char* kSymbols[] = {"ZAAA", "ZAAB", "ZAAC", "ZAAD"};

// What a client knows. One life of sim is a ledger of its own.
class ClientBook {
 public:
  void asked(const std::string& id) { answers_[id]; }
  void take(const QuickFixMessage& message) {
    if (message.type == "8") return execution(message);
    if (message.type == "9") return answered(message.get(11), message);
    if (message.type == "j") return answered(message.get(379), message);
    ADD_FAILURE() << shown(message);
  }
  void new_life() {
    held.clear();
    open.clear();
    fees_millionths = 0;
  }
  // A request each, that sim has answered never or more than once.
  std::string wrongly_answered() const {
    std::string all;
    for (const auto& [id, count] : answers_)
      if (count != 1) all += id + ": " + std::to_string(count) + " answers\n";
    return all;
  }
  bool all_answered() const {
    for (const auto& [id, count] : answers_)
      if (count == 0) return false;
    return true;
  }

  HeldShares held;
  std::map<std::string, std::string> open;  // ClOrdID -> symbol
  std::uint64_t fills = 0;
  std::int64_t fees_millionths = 0;  // paid, by the reports' Commission
  std::uint64_t rejected = 0;
  std::uint64_t statuses = 0;

 private:
  void answered(const std::string& id, const QuickFixMessage& message) {
    const auto found = answers_.find(id);
    if (found == answers_.end()) {
      ADD_FAILURE() << "nobody asked: " << shown(message);
      return;
    }
    ++found->second;
    if (message.type != "8") ++rejected;
  }
  void execution(const QuickFixMessage& report) {
    const std::string type = report.get(150);
    const std::string id = report.get(11);
    if (report.get(20) == "3" || type == "I") {
      ++statuses;
      return;
    }
    EXPECT_TRUE(exec_ids_.insert(report.get(17)).second) << "twice: " << shown(report);
    const bool replaced = !report.get(41).empty() && (type == "5" || type == "4");
    if (type == "0" || type == "8" || replaced) answered(id, report);
    if (type == "8") ++rejected;
    if (!report.get(41).empty()) open.erase(report.get(41));
    if (is_fill(report)) {
      ++fills;
      book(held, report.get(55), report.get(54), report.get(32), report.get(31));
      EXPECT_EQ(report.get(13), "3") << shown(report);
      fees_millionths += std::llround(std::stod(report.get(12)) * 1e6);
    }
    if (report.get(151) == "0")
      open.erase(id);
    else
      open[id] = report.get(55);
  }

  std::map<std::string, int> answers_;
  std::set<std::string> exec_ids_;
};

// A QuickFIX initiator with its own relay to sim.
class Client {
 public:
  Client(const std::string& name, bool v44, const std::string& folder, std::uint16_t sim_port)
      : relay(sim_port), name_(name), v44_(v44), random_(v44 ? 44 : 42) {
    options_.port = relay.port();
    options_.begin_string = v44 ? "FIX.4.4" : "FIX.4.2";
    options_.sender = name;
    options_.target = "SIM";
    options_.dictionary = dictionary(v44);
    options_.folder = folder + "/" + name;
    start();
  }
  void start() { peer = std::make_unique<QuickFixPeer>(options_); }
  void end() {
    peer->drop();
    listen();
    peer.reset();
  }
  bool listen_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    QuickFixMessage message;
    while (!done()) {
      while (peer->next(message, 5)) book.take(message);
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  void listen() {
    QuickFixMessage message;
    while (peer->next(message, 1)) book.take(message);
  }
  bool log_on() {
    return listen_until([&] { return peer->logged_on(); });
  }

  std::string order(const std::string& symbol, bool buys, int shares, const std::string& price,
                    const std::string& time_in_force) {
    const std::string id = next_id();
    std::vector<std::pair<int, std::string>> fields = head(id, symbol, buys);
    fields.insert(fields.end(), {{21, "1"},
                                 {38, std::to_string(shares)},
                                 {40, price.empty() ? "1" : "2"},
                                 {59, time_in_force}});
    if (!price.empty()) fields.push_back({44, price});
    ask(id, {"D", fields});
    side_of_[id] = buys;
    return id;
  }
  void change(const std::string& order, const std::string& symbol, bool replace) {
    const std::string id = next_id();
    std::vector<std::pair<int, std::string>> fields = head(id, symbol, side_of_[order]);
    fields.push_back({41, order});
    fields.push_back({38, std::to_string(100 + random_() % 200)});
    if (replace) {
      const char* const marketable = side_of_[order] ? "9000.00" : "0.01";
      const char* const resting = side_of_[order] ? "0.02" : "8000.00";
      fields.insert(fields.end(),
                    {{21, "1"}, {40, "2"}, {44, random_() % 2 != 0 ? marketable : resting}});
      side_of_[id] = side_of_[order];
    }
    ask(id, {replace ? "G" : "F", fields});
  }
  // One of what a client may ask for.
  void act() {
    const std::string symbol = kSymbols[random_() % 4];
    const bool buys = random_() % 2 != 0;
    const int shares = 100 * (1 + static_cast<int>(random_() % 5));
    auto any = book.open.begin();
    if (!book.open.empty())
      std::advance(any, static_cast<std::ptrdiff_t>(random_() % book.open.size()));
    switch (random_() % 10) {
      case 0:
      case 1:
        order(symbol, buys, shares, "", "3");  // market, immediate or cancel
        return;
      case 2:
      case 3:
        order(symbol, buys, shares, buys ? "9000.00" : "0.01", "0");
        return;
      case 4:
      case 5:
      case 6:
        order(symbol, buys, shares, buys ? "0.01" : "9000.00", "0");
        return;
      case 7:
        order("NOSUCH", buys, shares, "10.00", "0");
        return;
      case 8:
        if (any == book.open.end()) return;
        peer->send(
            {"H", {{11, any->first}, {55, any->second}, {54, side_of_[any->first] ? "1" : "2"}}});
        return;
      default:
        if (any == book.open.end()) return;
        change(any->first, any->second, random_() % 2 != 0);
    }
  }

  Relay relay;
  std::unique_ptr<QuickFixPeer> peer;
  ClientBook book;
  std::uint64_t orders = 0;  // new ones that were sent in this life of sim

 private:
  std::string next_id() { return name_ + "-" + std::to_string(++ids_); }
  static std::vector<std::pair<int, std::string>> head(const std::string& id,
                                                       const std::string& symbol, bool buys) {
    return {{11, id}, {55, symbol}, {54, buys ? "1" : "2"}, {60, "20261122-10:11:12"}};
  }
  void ask(const std::string& id, const QuickFixMessage& message) {
    if (message.type == "D") ++orders;
    book.asked(id);
    peer->send(message);
  }

  std::string name_;
  bool v44_;
  QuickFixOptions options_;
  std::mt19937 random_;
  std::map<std::string, bool> side_of_;  // ClOrdID -> buys
  std::uint64_t ids_ = 0;
};

class QuickFixClient : public ::testing::Test {
 protected:
  void SetUp() override {
    TICKPATH_NEED_DATA(data_folder() / "fix/FIX42.xml");
    TICKPATH_NEED_DATA(data_folder() / "fix/FIX44.xml");
    ports_ = {free_port(), free_port()};
    const std::string path = folder_.config_dir() + "/sim.toml";
    std::string text = read_file(path);
    const std::size_t begin = text.find("[[orders.session]]");
    text.erase(begin, text.find("# Order messages that a session") - begin);
    for (const bool v44 : {false, true})
      text += "\n[[orders.session]]\nlisten = \"127.0.0.1:" + std::to_string(ports_[v44]) +
              "\"\nsender = \"SIM\"\ntarget = \"" + name(v44) + "\"\nversion = \"" +
              (v44 ? "4.4" : "4.2") + "\"\n";
    text += "\n[fees]\nmaker = -0.002\ntaker = 0.002955\n";
    write_file(path, text);
    recording_ = folder_.generate(600'000, 240);
    start_sim();
    for (const bool v44 : {false, true})
      clients_.push_back(std::make_unique<Client>(name(v44), v44, folder_.path(), ports_[v44]));
    for (const auto& client : clients_) ASSERT_TRUE(client->log_on());
    ASSERT_TRUE(folder_.wait_counter_above("sim", "feed", "messages", 2'000));
  }
  static std::string name(bool v44) { return v44 ? "CLIENT44" : "CLIENT42"; }
  void start_sim() {
    sim_ = std::make_unique<Process>(
        std::vector<std::string>{program("sim"), folder_.config_dir() + "/sim.toml", "--run-dir",
                                 folder_.run_dir(), "--set", "replay.start=immediate", "--set",
                                 "replay.file=" + recording_},
        folder_.path());
  }
  void act(int requests) {
    for (int i = 0; i < requests; ++i)
      for (const auto& client : clients_) {
        client->act();
        client->listen();
      }
  }
  // Both go on asking while their connections break, a message or so from now.
  void cut(std::uint64_t bytes) {
    for (const auto& client : clients_) client->relay.cut_after(bytes);
    act(20);
    for (const auto& client : clients_) {
      ASSERT_TRUE(client->listen_until([&] { return client->relay.cuts() != cuts_; }));
      ASSERT_TRUE(client->log_on());
    }
    ++cuts_;
  }
  void expect_answered() {
    for (const auto& client : clients_) {
      (void)client->listen_until([&] { return client->book.all_answered(); });
      EXPECT_EQ(client->book.wrongly_answered(), "");
      EXPECT_EQ(client->peer->rejects(), std::vector<std::string>{});
    }
  }
  // Ends sim in order; its ledger says what the clients do.
  void expect_one_account() {
    control::admin_command(control::admin_path(folder_.run_dir(), "sim"), {{"command", "pause"}});
    expect_answered();
    sim_->signal(SIGTERM);
    EXPECT_THAT(sim_->wait(kPatience), Ends(0));
    for (const auto& client : clients_) client->listen();
    const json ledger = json::parse(read_file(folder_.run_dir() + "/sim.ledger.json"));
    std::map<std::string, HeldShares> right;
    std::map<std::string, std::int64_t> fees;
    for (const json& row : ledger.at("rows")) {
      const HeldPosition held{row.at("position_shares").get<std::int64_t>(),
                              row.at("cash").get<std::int64_t>()};
      fees[row.at("session")] += row.at("fees_millionths").get<std::int64_t>();
      if (held != HeldPosition{0, 0}) right[row.at("session")][row.at("symbol")] = held;
    }
    std::uint64_t orders = 0;
    std::size_t open = 0;
    for (const auto& client : clients_) {
      EXPECT_EQ(without_nothing(client->book.held), right[name(client != clients_[0])]);
      EXPECT_EQ(client->book.fees_millionths, fees[name(client != clients_[0])]);
      EXPECT_NE(client->book.fees_millionths, 0);
      orders += client->orders;
      open += client->book.open.size();
    }
    const json summary = json::parse(folder_.summary("sim"));
    EXPECT_EQ(summary.at("orders").at("received"), orders);
    EXPECT_EQ(summary.at("open_orders"), open);
    EXPECT_EQ(ledger.at("conservation"), json::array());
  }
  void new_life() {
    for (const auto& client : clients_) {
      client->book.new_life();
      client->orders = 0;
    }
  }

  PipelineFolder folder_;
  std::array<std::uint16_t, 2> ports_{};
  std::string recording_;
  std::unique_ptr<Process> sim_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::uint64_t cuts_ = 0;
};

TEST_F(QuickFixClient, LosesNothingAndTradesNothingTwiceWhateverBreaks) {
  act(60);
  cut(0);
  act(20);
  cut(700);
  // A client ends without a Logout, its orders work on; it comes back with its files.
  for (const auto& client : clients_) client->end();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const auto& client : clients_) client->start();
  for (const auto& client : clients_) ASSERT_TRUE(client->log_on());
  act(20);
  expect_one_account();
  for (const auto& client : clients_) {
    EXPECT_GT(client->book.fills, 20u);
    EXPECT_GT(client->book.rejected, 5u);
    EXPECT_GT(client->book.statuses, 5u);
  }
}

TEST_F(QuickFixClient, HasEveryRequestAnsweredOnceOverADeathOfTheExchange) {
  act(30);
  sim_->signal(SIGKILL);
  (void)sim_->wait(kPatience);
  const std::map<std::string, std::string> old = clients_[0]->book.open;
  act(5);  // kept by the clients, and sent when it is back
  start_sim();
  for (const auto& client : clients_) ASSERT_TRUE(client->log_on());
  expect_answered();
  // Its orders have died with it, and it says so of each.
  std::uint64_t rejected = clients_[0]->book.rejected;
  for (const auto& [id, symbol] : old) clients_[0]->change(id, symbol, false);
  expect_answered();
  EXPECT_GE(clients_[0]->book.rejected, rejected + old.size());
}

}  // namespace
}  // namespace tickpath::test_support

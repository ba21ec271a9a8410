// A bench for tests of a strategy: the real engine around the real shared object, in one thread of
// a test, without a pipeline. A test is milliseconds.
//
//   tickpath::TestBench bench({.plugin = TICKPATH_STRATEGY_FILE,
//                              .parameters = "symbol = \"ZAAA\"",
//                              .symbols = {"ZAAA"}});
//   bench.quote("ZAAA", to_price(10.00), to_price(10.02));
//   const tickpath::TestRequest buy = bench.only_request();
//   bench.accept(buy);
//   bench.fill(buy, 100);
//   EXPECT_EQ(bench.position("ZAAA").shares, 100);
//
// The test plays the feed, oeg and the exchange. Each call is one event, and one turn of the
// engine: the clock, the event, timers that are due, cancels that the engine itself sends. The
// engine calls the strategy, and the bench keeps what the strategy sends.
//
// A strategy that fails is disabled, as in the program, and the call that caused it throws
// StrategyFailure. Wrong use by the test throws TestBenchError, for example a fill of more than is
// open, or an unknown symbol. The strategy then hears nothing of it.
//
// Both clocks are virtual. advance() alone moves them: the wall's clock (now_ns), and the time of
// day that the feed's next message has.
//
// The functions below name a listing: "ZAAA", or with several venues "ZAAA@VENUE". Prices are in
// 1/10,000 of the currency unit (to_price()), quantities in shares, fees in 1/1,000,000 a share.
// There are no recent prices and no shared values: a strategy that asks gets TICKPATH_NO_DATA, as
// from a pipeline without them.
//
// One thread. Needs the library tickpath_test_bench; matchers of GoogleTest are in
// test_matchers.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "strategy/plugin.hpp"

namespace tickpath {

// Wrong use of the bench. Says what is wrong, and what to do.
class TestBenchError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// The strategy cannot be loaded or started, or it failed in a callback. The text is the engine's.
class StrategyFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A value of [plugin.parameters]. Durations are texts: "5ms".
using TestValue = std::variant<std::int64_t, double, bool, std::string>;

struct TestVenue {
  std::string name;            // not empty, without '@'
  std::int32_t maker_fee = 0;  // below zero: the venue pays
  std::int32_t taker_fee = 0;
};

struct TestBenchOptions {
  // The shared object: absolute, relative to the working directory, or where the strategy program
  // looks for it ("plugins/quoter.so"). It must be one that the program would take: see
  // docs/STRATEGIES.md.
  std::string plugin;
  // TOML, as below [plugin.parameters]. `set` has single values, which win over those of the text.
  std::string parameters{};
  std::vector<std::pair<std::string, TestValue>> set{};
  // Listed at every venue when the strategy has started; list() lists more.
  std::vector<std::string> symbols{};
  std::vector<TestVenue> venues{};  // empty: one, whose name is ""; at most TICKPATH_VENUES_MAX
  // True: a small simulated exchange answers requests at once, in place of the test. It accepts an
  // order, fills what the shown book allows, and expires the rest of an immediate order. A resting
  // limit order fills at its price when the other side of the book reaches it. A stop order waits
  // for a trade. Pegged orders and those for a cross rest until the test answers. There is no
  // queue, and orders do not change the book, so the results say nothing about profit.
  bool simulated_venue = false;
  // False: oeg and feed are away, as before the first connection. gateway() and feed() connect
  // them.
  bool connected = true;

  std::uint8_t strategy_id = 1;
  std::uint32_t instruments_max = 64;  // a venue
  std::uint32_t orders_max = 1'024;    // open at once
  std::uint32_t timers_max = 64;       // by each clock
  bool cancel_when_feed_stale = true;  // feed.cancel_when_stale of strategy.toml
  std::chrono::nanoseconds time_of_day = std::chrono::hours(10);  // of the feed's first message
};

// A request of the strategy, or a cancel that the engine sent for it (after a failure, a stop, a
// lost feed).
struct TestRequest {
  enum class Kind : std::uint8_t { kNew, kCancel, kReplace };

  Kind kind = Kind::kNew;
  std::uint64_t id = 0;         // of the request
  std::uint64_t target_id = 0;  // cancel, replace: the order that is meant
  std::uint64_t trace_id = 0;   // of the message that caused it; 0: a timer, a report, the engine
  std::string symbol;           // the listing
  std::uint8_t side = 0;        // tickpath_side, tickpath_order_type, ...
  std::uint8_t type = 0;
  std::uint8_t time_in_force = 0;
  std::uint8_t instructions = 0;
  std::uint32_t shares = 0;  // replace: the new total; cancel: 0
  std::uint32_t price = 0;   // 0: at any price; cancel: 0
  std::uint32_t stop_price = 0;
  std::uint32_t display_shares = 0;
  std::uint32_t minimum_shares = 0;
};
// "buy 100 ZAAA at 10.0200, ioc (order 1-7-1)"
std::string to_text(const TestRequest& request);

// An order as the exchange of the bench has it.
struct TestOrder {
  std::uint64_t id = 0;  // of today: a replacement changes it
  std::string symbol;
  std::uint8_t side = 0;
  std::uint8_t state = 0;  // tickpath_order_state
  std::uint32_t price = 0;
  std::uint32_t shares = 0;
  std::uint32_t leaves = 0;
  std::uint32_t filled = 0;
  bool done() const noexcept { return state >= TICKPATH_STATE_FILLED; }
};

// An order or a request: by its id, or as it was sent.
struct TestOrderRef {
  TestOrderRef(std::uint64_t id_) : id(id_) {}                  // NOLINT(google-explicit-*)
  TestOrderRef(const TestRequest& request) : id(request.id) {}  // NOLINT(google-explicit-*)
  TestOrderRef(const TestOrder& order) : id(order.id) {}        // NOLINT(google-explicit-*)
  std::uint64_t id;
};

struct TestLevel {
  std::uint32_t price = 0;
  std::uint32_t shares = 0;
  std::uint32_t orders = 1;
};

// An auction to come. The fields are those of tickpath_imbalance.
struct TestImbalance {
  std::uint32_t reference_price = 0;
  std::uint32_t near_price = 0;
  std::uint32_t far_price = 0;
  std::uint32_t paired_shares = 0;
  std::uint32_t imbalance_shares = 0;
  std::uint8_t side = 0;
  char cross = 'O';
  char direction = 'N';
  char variation = ' ';
};

struct TestLogLine {
  tickpath_log_level level = TICKPATH_INFO;
  bool from_engine = false;  // the engine about the strategy; else the strategy's own words
  std::string text;
};

class TestBench {
 public:
  // Loads, creates and starts the strategy, connects it, and lists the symbols, in the order in
  // which the program does. Throws StrategyFailure with what the program would log; TestBenchError
  // for options that cannot be.
  explicit TestBench(const TestBenchOptions& options);
  ~TestBench();
  TestBench(TestBench&&) noexcept;
  TestBench& operator=(TestBench&&) noexcept;

  // ------------------------------------------------------------------------------------ market

  // The directory names a symbol: at one venue, or without '@' at every venue.
  void list(std::string_view listing);
  // Replaces the whole book by one level a side; price 0: that side is empty. The strategy gets one
  // book_change, which names the first level that differs.
  void quote(std::string_view listing, std::uint32_t bid, std::uint32_t ask,
             std::uint32_t bid_shares = 100, std::uint32_t ask_shares = 100);
  // Replaces the whole book, of any depth, best level first.
  void book(std::string_view listing, const std::vector<TestLevel>& bids,
            const std::vector<TestLevel>& asks);
  // One order is added, leaves the book in part or whole, or moves to another price.
  void add(std::string_view listing, tickpath_side side, std::uint32_t price, std::uint32_t shares);
  void remove(std::string_view listing, tickpath_side side, std::uint32_t price,
              std::uint32_t shares);
  void move(std::string_view listing, tickpath_side side, std::uint32_t from, std::uint32_t to,
            std::uint32_t shares);
  // Shares of the best level on side `resting` trade: book_change, then trade.
  void execute(std::string_view listing, tickpath_side resting, std::uint32_t shares);
  // A trade that does not change the book: with a hidden order, or in a cross (resting 0).
  void trade(std::string_view listing, std::uint32_t price, std::uint32_t shares,
             std::uint8_t resting = 0);
  void imbalance(std::string_view listing, const TestImbalance& imbalance);
  // TICKPATH_TRADING_HALTED, _PAUSED, _OPEN, ...
  void trading(std::string_view listing, tickpath_trading_state state);
  // Every order of the listing is dropped, as for a new session.
  void clear(std::string_view listing);
  // Updates were lost. The strategy gets the book as it stands now.
  void resync(std::string_view listing, const std::vector<TestLevel>& bids,
              const std::vector<TestLevel>& asks);
  // A message of the feed that is about no listing. It moves the market's clock, so market timers
  // fire.
  void message(std::string_view venue = {});
  // mdh reports its whole feed, or one listing, as good, stale or ended.
  void feed(tickpath_feed_state state, std::string_view venue = {});
  void feed_of(std::string_view listing, tickpath_feed_state state);
  // mdh itself is gone, or back.
  void mdh(bool alive, std::string_view venue = {});

  // ------------------------------------------------------------------------------- the exchange

  // The exchange accepts a new order, cancels, or replaces, as the request asks.
  void accept(TestOrderRef request);
  // The exchange or oeg refuses the request. The exchange's text becomes a line of the log.
  void reject(TestOrderRef request, tickpath_reason reason = TICKPATH_REASON_VENUE,
              std::string_view text = {});
  // price 0: the order's limit. Returns the execution's id. A fill in place of accept() answers the
  // order, too.
  std::uint64_t fill(TestOrderRef order, std::uint32_t shares, std::uint32_t price = 0);
  // The exchange ends the order: the rest of an immediate one, or any at the end of the day.
  void expire(TestOrderRef order, std::string_view text = {});
  // The exchange takes shares off the order, untraded. At least one is left.
  void restate(TestOrderRef order, std::uint32_t leaves);
  // A stop order's price was reached.
  void trigger(TestOrderRef order);
  // The exchange takes an execution back. correct(), behind it, tells what stands in its place, and
  // returns the new execution's id.
  void bust(std::uint64_t execution_id);
  std::uint64_t correct(std::uint64_t execution_id, std::uint32_t shares, std::uint32_t price);
  // Any report, unchecked: about an order of a former life, or one that makes no sense.
  void report(const tickpath_report& report);

  // oeg is connected, or gone. When it goes, answers on their way are lost. When it is back, the
  // engine cancels every order that was open. Answer each of these cancels: accept() it, or
  // reject() it with TICKPATH_REASON_UNKNOWN_ORDER. Then gateway_state(true) follows.
  void gateway(bool up, std::string_view venue = {});
  // oeg is connected and does not beat: nothing can be sent, answers may still come.
  void gateway_silent(std::string_view venue = {});
  // oeg refuses every new order for this reason, or with TICKPATH_REASON_NONE no longer. can_send()
  // knows; requests still go out, and reject() answers them.
  void accepting(tickpath_reason refuses, std::string_view venue = {});
  // oeg holds one listing because of an open exception. The router leaves it out.
  void hold(std::string_view listing, bool held);
  // How many more requests the channel to oeg takes before TICKPATH_NO_CREDIT.
  void credit(std::uint32_t requests, std::string_view venue = {});
  // oeg reports a position, as after a restart.
  void adopt(std::string_view listing, std::int64_t shares, std::int64_t cash = 0);

  // --------------------------------------------------------------------------------------- time

  // Moves both clocks. Timers of the wall's clock fire at their time, each in a turn of its own.
  void advance(std::chrono::nanoseconds time);
  // The feed begins another day at this time of day.
  void begin_day(std::chrono::nanoseconds time_of_day);
  std::uint64_t now_ns() const noexcept;
  // Time of day of the feed's next message.
  std::uint64_t market_ns() const noexcept;
  // The program is asked to end: `stop` is called, then the engine cancels what is open.
  void stop();

  // ------------------------------------------------------------------------------------ results

  // Requests since the last call.
  std::vector<TestRequest> take_requests();
  // The same, where exactly one is expected.
  TestRequest only_request();
  // All since the start.
  const std::vector<TestRequest>& requests() const noexcept;
  // The exchange's open orders, oldest first. order() finds any order that there was.
  std::vector<TestOrder> open_orders() const;
  TestOrder order(TestOrderRef order) const;
  // The engine's position, as the strategy's position() returns it.
  tickpath_position position(std::string_view listing) const;
  // The listing's id in the strategy.
  std::uint32_t instrument(std::string_view listing) const;
  // Lines of the log since the last call.
  std::vector<TestLogLine> take_log();
  // Whether the engine has disabled the strategy, and why.
  bool failed() const noexcept;
  const std::string& failure() const noexcept;
  // Requests that the engine did not send: all of them, and those whose terms do not go together.
  std::uint64_t refused() const noexcept;
  std::uint64_t malformed() const noexcept;
  // Every order is final and every request answered, so the program would end.
  bool drained() const noexcept;

 private:
  friend struct FuzzAccess;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// ------------------------------------------------------------------------------------------- fuzz

// What a run of fuzz() did.
struct FuzzResult {
  std::uint64_t events = 0;
  std::uint64_t requests = 0;
  std::uint64_t fills = 0;
  std::uint64_t outages = 0;
};

struct FuzzLimits {
  // A call that takes longer hangs. Far beyond what a callback may take, for machines under load.
  std::chrono::milliseconds event_max = std::chrono::seconds(5);
};

// Sends `steps` random events to the strategy. Books are empty, locked, crossed and huge; trading
// halts; feeds and gateways are lost. Orders get every answer in every state. Reports name orders
// that the strategy does not know. Timers fire, days begin, and near the end comes `stop`. The same
// seed gives the same events, as long as the strategy does the same.
//
// The events run in a process forked from this one, so the bench stays as it was. Throws
// StrategyFailure with seed, step and event when the strategy throws, crashes, hangs, or sends an
// order whose terms do not go together (TICKPATH_INVALID). A debugger finds the place with
// `set follow-fork-mode child`.
FuzzResult fuzz(TestBench& bench, std::uint64_t seed, std::uint32_t steps = 500,
                const FuzzLimits& limits = {});

}  // namespace tickpath

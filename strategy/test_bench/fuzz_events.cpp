#include "strategy/test_bench/fuzz_events.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/wire/order_id.hpp"

namespace tickpath::test_bench {
namespace {

constexpr std::uint32_t kPriceMax = 2'000'000'000;  // ITCH's largest, 200,000.0000
constexpr std::uint32_t kSharesMax = 1'000'000'000;

}  // namespace

FuzzEvents::FuzzEvents(TestBench& bench, std::vector<std::string> listings,
                       std::vector<std::string> venues, std::uint32_t instruments,
                       std::uint8_t strategy, std::uint64_t seed)
    : bench_(bench),
      listings_(std::move(listings)),
      venues_(std::move(venues)),
      instruments_(instruments),
      strategy_(strategy),
      random_(seed),
      mdh_away_(venues_.size()),
      gateway_away_(venues_.size()),
      without_credit_(venues_.size()) {}

const std::vector<FuzzEvents::Choice>& FuzzEvents::choices() {
  using F = FuzzEvents;
  static const std::vector<Choice> all{
      {"quote", &F::quote, 30},
      {"book", &F::deep_book, 8},
      {"add", &F::add, 8},
      {"remove", &F::remove, 6},
      {"move", &F::move, 4},
      {"execute", &F::execute, 6},
      {"trade", &F::trade, 6},
      {"imbalance", &F::imbalance, 3},
      {"trading", &F::trading, 3},
      {"clear", &F::clear, 1},
      {"resync", &F::resync, 3},
      {"message", &F::message, 4},
      {"feed", &F::feed, 2},
      {"feed_of", &F::feed_of, 2},
      {"mdh", &F::mdh, 1},
      {"accept or reject", &F::answer, 40},
      {"fill", &F::fill, 16},
      {"expire", &F::expire, 4},
      {"restate", &F::restate, 2},
      {"trigger", &F::trigger, 2},
      {"bust", &F::bust, 2},
      {"correct", &F::correct, 2},
      {"report", &F::stray_report, 3},
      {"gateway", &F::gateway, 2},
      {"gateway_silent", &F::gateway_silent, 1},
      {"accepting", &F::accepting, 2},
      {"hold", &F::hold, 1},
      {"credit", &F::credit, 1},
      {"recover", &F::recover, 16},
      {"adopt", &F::adopt, 1},
      {"advance", &F::advance, 20},
      {"begin_day", &F::begin_day, 1},
  };
  return all;
}

const char* FuzzEvents::choose() {
  static const unsigned sum = [] {
    unsigned all = 0;
    for (const Choice& each : choices()) all += each.weight;
    return all;
  }();
  unsigned at = below(sum);
  for (const Choice& each : choices()) {
    chosen_ = &each;
    if (at < each.weight) break;
    at -= each.weight;
  }
  return chosen_->name;
}

bool FuzzEvents::send(FuzzResult& result) {
  bool happened = true;
  try {
    (this->*chosen_->event)();
  } catch (const TestBenchError&) {
    happened = false;
  }
  for (const TestRequest& sent : bench_.take_requests()) {
    unanswered_.push_back(sent.id);
    ++result.requests;
  }
  (void)bench_.take_log();
  result.events += happened ? 1 : 0;
  result.fills = fills_;
  result.outages = outages_;
  return happened;
}

// ------------------------------------------------------------------------------------------ market

// Near the last one; now and then anywhere that a price can be.
std::uint32_t FuzzEvents::price() {
  if (below(200) == 0) return 1 + below(kPriceMax);
  if (below(400) == 0) base_price_ = 1 + below(kPriceMax);
  const std::uint32_t step = base_price_ >= 10'000 ? 100 : 1;
  base_price_ =
      std::clamp<std::uint32_t>(base_price_ + below(3) * step, step + 1, kPriceMax - 2 * step) -
      step;
  return base_price_;
}
std::uint32_t FuzzEvents::shares() {
  return below(100) == 0 ? 1 + below(kSharesMax) : 1 + below(10) * 50;
}

// Bids that mostly stay below the asks; but also empty sides, locked and crossed books.
void FuzzEvents::quote() {
  const std::uint32_t bid = price();
  const std::uint32_t tick = bid >= 10'000 ? 100 : 1;
  const unsigned shape = below(20);
  const std::uint32_t ask = shape == 0                 ? bid
                            : shape == 1 && bid > tick ? bid - tick
                                                       : bid + tick * (1 + below(4));
  const std::string& of = listing();
  bench_.quote(of, shape == 2 || shape == 3 ? 0 : bid, shape == 3 || shape == 4 ? 0 : ask, shares(),
               shares());
}

std::vector<TestLevel> FuzzEvents::levels(tickpath_side side, std::uint32_t best) {
  std::vector<TestLevel> made;
  for (unsigned left = below(14); left > 0; --left) {
    made.push_back({best, shares(), 1 + below(5)});
    const std::uint32_t step = 1 + below(300);
    if (side == TICKPATH_BUY ? best <= step : best >= kPriceMax) break;
    best = side == TICKPATH_BUY ? best - step : best + step;
  }
  return made;
}
void FuzzEvents::deep_book() {
  const std::uint32_t middle = price();
  bench_.book(listing(), levels(TICKPATH_BUY, middle), levels(TICKPATH_SELL, middle + 1));
}
void FuzzEvents::resync() {
  const std::uint32_t middle = price();
  bench_.resync(listing(), levels(TICKPATH_BUY, middle), levels(TICKPATH_SELL, middle + 1));
}
void FuzzEvents::add() { bench_.add(listing(), side(), price(), shares()); }
void FuzzEvents::remove() { bench_.remove(listing(), side(), base_price_, shares()); }
void FuzzEvents::move() { bench_.move(listing(), side(), base_price_, price(), shares()); }
void FuzzEvents::execute() { bench_.execute(listing(), side(), shares()); }
void FuzzEvents::trade() {
  bench_.trade(listing(), price(), shares(), static_cast<std::uint8_t>(below(3)));
}
void FuzzEvents::imbalance() {
  constexpr std::array kCrosses{'O', 'C', 'H', 'A'};
  constexpr std::array kDirections{'B', 'S', 'N', 'O'};
  bench_.imbalance(listing(), {.reference_price = price(),
                               .near_price = below(3) == 0 ? 0 : price(),
                               .far_price = below(3) == 0 ? 0 : price(),
                               .paired_shares = shares(),
                               .imbalance_shares = shares(),
                               .side = static_cast<std::uint8_t>(below(3)),
                               .cross = kCrosses[below(kCrosses.size())],
                               .direction = kDirections[below(kDirections.size())],
                               .variation = 'L'});
}
// Open in most cases: else little would be traded.
void FuzzEvents::trading() {
  bench_.trading(listing(), below(2) == 0 ? TICKPATH_TRADING_OPEN
                                          : static_cast<tickpath_trading_state>(below(5)));
}
void FuzzEvents::clear() { bench_.clear(listing()); }
void FuzzEvents::message() { bench_.message(venues_[any_venue()]); }
void FuzzEvents::feed() {
  bench_.feed(below(2) == 0 ? TICKPATH_FEED_GOOD : static_cast<tickpath_feed_state>(below(4)),
              venues_[any_venue()]);
}
void FuzzEvents::feed_of() {
  bench_.feed_of(listing(), below(2) == 0 ? TICKPATH_FEED_GOOD : TICKPATH_FEED_STALE);
}
void FuzzEvents::mdh() {
  const std::size_t at = any_venue();
  bench_.mdh(false, venues_[at]);
  mdh_away_[at] = true;
  ++outages_;
}

// ------------------------------------------------------------------------------------ the exchange

TestOrder FuzzEvents::open_order() {
  const std::vector<TestOrder> open = bench_.open_orders();
  if (open.empty()) throw TestBenchError("no order is open");
  return open[below(open.size())];
}

// Out of order as well: answers of two sessions may overtake each other.
void FuzzEvents::answer() {
  if (unanswered_.empty()) throw TestBenchError("nothing waits for an answer");
  const auto at = unanswered_.begin() + below(std::min<std::size_t>(unanswered_.size(), 4));
  const std::uint64_t id = *at;
  unanswered_.erase(at);
  if (below(4) != 0) {
    try {
      return bench_.accept(id);
    } catch (const TestBenchError&) {
      // Its order is done, or its answer was lost; the first of these is refused as an exchange
      // does.
    }
  }
  const std::uint32_t reason = 1 + below(TICKPATH_REASON_GROSS_LIMIT);
  bench_.reject(id, static_cast<tickpath_reason>(reason),
                below(2) == 0 ? "" : "refused, with a text that is longer than one part of it is");
}

void FuzzEvents::fill() {
  const TestOrder order = open_order();
  const bool whole = below(3) == 0;
  const std::uint32_t filled = whole ? order.leaves : 1 + below(order.leaves);
  executions_.push_back(bench_.fill(order, filled, order.price == 0 ? price() : order.price));
  ++fills_;
}
void FuzzEvents::expire() { bench_.expire(open_order(), below(2) == 0 ? "" : "end of day"); }
void FuzzEvents::restate() {
  const TestOrder order = open_order();
  bench_.restate(order, below(order.leaves));
}
void FuzzEvents::trigger() { bench_.trigger(open_order()); }
std::uint64_t FuzzEvents::any_execution() {
  if (executions_.empty()) throw TestBenchError("nothing was filled");
  return executions_[below(executions_.size())];
}
void FuzzEvents::bust() { bench_.bust(any_execution()); }
void FuzzEvents::correct() {
  const std::uint64_t id = any_execution();
  executions_.push_back(bench_.correct(id, 1 + below(100), price()));
}

// About an order of a former life, an order that is long done, or an unknown instrument.
void FuzzEvents::stray_report() {
  constexpr std::array kKinds{
      TICKPATH_REPORT_ACCEPTED,        TICKPATH_REPORT_REJECTED,         TICKPATH_REPORT_FILL,
      TICKPATH_REPORT_CANCELED,        TICKPATH_REPORT_EXPIRED,          TICKPATH_REPORT_REPLACED,
      TICKPATH_REPORT_CANCEL_REJECTED, TICKPATH_REPORT_REPLACE_REJECTED, TICKPATH_REPORT_RESTATED,
      TICKPATH_REPORT_FILL_CANCELED,   TICKPATH_REPORT_FILL_CORRECTED,   TICKPATH_REPORT_TRIGGERED};
  tickpath_report report{};
  const std::vector<TestRequest>& sent = bench_.requests();
  const bool former = sent.empty() || below(2) == 0;
  const std::uint64_t id =
      former ? wire::OrderId::make(strategy_, 0, 1 + below(50)) : sent[below(sent.size())].id;
  report.order_id = report.target_order_id = id;
  report.execution_id = 1'000'000 + below(1'000);
  report.instrument = below(10) == 0 ? TICKPATH_NO_INSTRUMENT : below(instruments_);
  report.last_shares = shares();
  report.last_price = price();
  report.cumulative_shares = report.last_shares;
  report.limit_price = report.last_price;
  report.kind = static_cast<std::uint8_t>(kKinds[below(kKinds.size())]);
  report.side = static_cast<std::uint8_t>(side());
  // What the state machine refuses of an open order is counted, and not delivered; a fill of one
  // would spoil the exchange's own count.
  if (!former && report.kind == TICKPATH_REPORT_FILL) report.kind = TICKPATH_REPORT_ACCEPTED;
  bench_.report(report);
}

void FuzzEvents::gateway() {
  const std::size_t at = any_venue();
  bench_.gateway(false, venues_[at]);
  gateway_away_[at] = true;
  ++outages_;
}
void FuzzEvents::gateway_silent() {
  const std::size_t at = any_venue();
  bench_.gateway_silent(venues_[at]);
  gateway_away_[at] = true;
  ++outages_;
}
void FuzzEvents::credit() {
  const std::size_t at = any_venue();
  bench_.credit(below(3), venues_[at]);
  without_credit_[at] = true;
}
// What was lost at one venue comes back. This is more frequent than a loss, so that most events
// meet a whole pipeline, and some do not.
void FuzzEvents::recover() {
  constexpr std::uint32_t kCredit = 1'000'000;
  const std::size_t at = any_venue();
  if (mdh_away_[at]) {
    mdh_away_[at] = false;
    bench_.mdh(true, venues_[at]);
  } else if (gateway_away_[at]) {
    gateway_away_[at] = false;
    bench_.gateway(true, venues_[at]);
  } else if (without_credit_[at]) {
    without_credit_[at] = false;
    bench_.credit(kCredit, venues_[at]);
  } else {
    throw TestBenchError("nothing is away");
  }
}
void FuzzEvents::accepting() {
  bench_.accepting(below(2) == 0 ? TICKPATH_REASON_NONE : TICKPATH_REASON_SESSION_DOWN,
                   venues_[any_venue()]);
}
void FuzzEvents::hold() { bench_.hold(listing(), below(3) == 0); }
void FuzzEvents::adopt() {
  bench_.adopt(listing(), std::int64_t{below(2'001)} - 1'000, std::int64_t{below(100'000)} * 1'000);
}

// -------------------------------------------------------------------------------------------- time

void FuzzEvents::advance() {
  using std::chrono::microseconds;
  bench_.advance(below(10) == 0 ? microseconds(below(5'000'000)) : microseconds(below(20'000)));
}
void FuzzEvents::begin_day() { bench_.begin_day(std::chrono::seconds(below(60'000))); }

}  // namespace tickpath::test_bench

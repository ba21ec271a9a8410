// The public functions: each checks its arguments and makes one event of them.
#include "strategy/test_bench.hpp"

#include <utility>

#include "common/trading/vocabulary.hpp"
#include "common/wire/names.hpp"
#include "strategy/test_bench/bench.hpp"

namespace tickpath {

using test_bench::BookEvent;
using test_bench::Listing;
using test_bench::Market;
using wire::UpdateKind;

TestBench::TestBench(const TestBenchOptions& options) : impl_(std::make_unique<Impl>(options)) {}
TestBench::~TestBench() = default;
TestBench::TestBench(TestBench&&) noexcept = default;
TestBench& TestBench::operator=(TestBench&&) noexcept = default;

// ------------------------------------------------------------------------------------------ market

void TestBench::list(std::string_view listing) { impl_->list(listing); }

void TestBench::quote(std::string_view listing, std::uint32_t bid, std::uint32_t ask,
                      std::uint32_t bid_shares, std::uint32_t ask_shares) {
  std::vector<TestLevel> bids, asks;
  if (bid != 0) bids.push_back({bid, bid_shares});
  if (ask != 0) asks.push_back({ask, ask_shares});
  book(listing, bids, asks);
}

void TestBench::book(std::string_view listing, const std::vector<TestLevel>& bids,
                     const std::vector<TestLevel>& asks) {
  Listing& of = impl_->market_.find(listing);
  const BookEvent event = Market::difference(of, bids, asks);
  impl_->set_book(of, bids, asks);
  impl_->update(of, event);
}

void TestBench::add(std::string_view listing, tickpath_side side, std::uint32_t price,
                    std::uint32_t shares) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  Market::add(of, test_bench::checked(side), price, shares);
  impl_->update(of, {UpdateKind::kAdd, static_cast<Side>(side), price, shares});
}

void TestBench::remove(std::string_view listing, tickpath_side side, std::uint32_t price,
                       std::uint32_t shares) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  const bool gone = Market::remove(of, test_bench::checked(side), price, shares);
  impl_->update(of, {gone ? UpdateKind::kDelete : UpdateKind::kCancel, static_cast<Side>(side),
                     price, shares});
}

void TestBench::move(std::string_view listing, tickpath_side side, std::uint32_t from,
                     std::uint32_t to, std::uint32_t shares) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  Market::check_side({{to, shares}}, static_cast<Side>(side));
  Market::remove(of, test_bench::checked(side), from, shares);
  Market::add(of, static_cast<Side>(side), to, shares);
  impl_->update(of, {UpdateKind::kReplace, static_cast<Side>(side), to, shares});
}

void TestBench::execute(std::string_view listing, tickpath_side resting, std::uint32_t shares) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  const std::vector<TestLevel>& levels = of.side(test_bench::checked(resting));
  if (levels.empty())
    throw TestBenchError("nothing can trade: that side of " + of.name + "'s book is empty");
  const std::uint32_t price = levels.front().price;
  Market::remove(of, static_cast<Side>(resting), price, shares);
  impl_->update(of, {UpdateKind::kExecute, static_cast<Side>(resting), price, shares});
}

void TestBench::trade(std::string_view listing, std::uint32_t price, std::uint32_t shares,
                      std::uint8_t resting) {
  Listing& of = impl_->market_.find(listing);
  const Side side = resting == 0 ? Side{} : test_bench::checked(resting);
  if (price == 0 || shares == 0) throw TestBenchError("a trade has a price, and shares");
  impl_->update(of, {UpdateKind::kTrade, side, price, shares});
}

void TestBench::imbalance(std::string_view listing, const TestImbalance& imbalance) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  const wire::ImbalanceUpdate update = impl_->market_.imbalance(of, imbalance);
  impl_->turn([&] { impl_->engine_.on_imbalance(update, of.venue); });
}

void TestBench::trading(std::string_view listing, tickpath_trading_state state) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  of.trading = static_cast<wire::TradingState>(state);
  impl_->update(of, {UpdateKind::kTradingState, Side{}, 0, 0});
}

void TestBench::clear(std::string_view listing) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  impl_->market_.clear(of);
  impl_->update(of, {UpdateKind::kBookCleared, Side{}, 0, 0});
}

void TestBench::resync(std::string_view listing, const std::vector<TestLevel>& bids,
                       const std::vector<TestLevel>& asks) {
  Listing& of = impl_->market_.find(listing);
  impl_->set_book(of, bids, asks);
  of.trace_id = impl_->market_.message(of.venue).trace_id;
  of.exchange_time_ns = impl_->market_.time_of_day_ns();
  impl_->simulated_.on_book(of);
  impl_->turn([&] {
    impl_->engine_.on_overrun(of.venue);
    impl_->engine_.on_image(Market::image(of), of.venue);
  });
}

void TestBench::message(std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->check_mdh(at);
  const wire::BookUpdate update = impl_->market_.message(at);
  impl_->turn([&] { impl_->engine_.on_update(update, at); });
}

void TestBench::feed(tickpath_feed_state state, std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->check_mdh(at);
  const auto feed = static_cast<wire::FeedState>(state);
  impl_->market_.set_feed(at, feed);
  impl_->turn(
      [&] { impl_->engine_.on_update(wire::feed_state_update(wire::kNoInstrument, feed), at); });
}

void TestBench::feed_of(std::string_view listing, tickpath_feed_state state) {
  Listing& of = impl_->market_.find(listing);
  impl_->check_mdh(of.venue);
  impl_->market_.set_feed(of, static_cast<wire::FeedState>(state));
  impl_->turn([&] { impl_->engine_.on_update(Market::state(of), of.venue); });
}

void TestBench::mdh(bool alive, std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->mdh_alive_[at] = alive;
  impl_->turn([&] { impl_->engine_.on_mdh(alive, at); });
}

// ----------------------------------------------------------------------------------- the exchange

namespace {

// The venue of an order or a request, whose oeg must be there.
std::size_t venue_of(const test_bench::Exchange& exchange, std::uint64_t id) {
  for (std::size_t at = 0; at < exchange.requests().size(); ++at)
    if (exchange.requests()[at].id == id) return exchange.venue_of(at);
  throw TestBenchError(test_bench::id_text(id) + " is no order or request of the strategy");
}

// Kinds that TestBench::report() accepts.
bool is_of_an_order(std::uint8_t kind) {
  using enum wire::ReportKind;
  switch (static_cast<wire::ReportKind>(kind)) {
    case kAccepted:
    case kRejected:
    case kFill:
    case kCanceled:
    case kExpired:
    case kReplaced:
    case kCancelRejected:
    case kReplaceRejected:
    case kRestated:
    case kFillCanceled:
    case kFillCorrected:
    case kTriggered:
      return true;
    default:
      return false;
  }
}

}  // namespace

void TestBench::accept(TestOrderRef request) {
  impl_->check_connected(venue_of(impl_->exchange_, request.id));
  impl_->answer(impl_->exchange_.accept(request.id));
}
void TestBench::reject(TestOrderRef request, tickpath_reason reason, std::string_view text) {
  impl_->check_connected(venue_of(impl_->exchange_, request.id));
  impl_->answer(impl_->exchange_.reject(request.id, reason, text));
}
std::uint64_t TestBench::fill(TestOrderRef order, std::uint32_t shares, std::uint32_t price) {
  impl_->check_connected(venue_of(impl_->exchange_, order.id));
  const test_bench::Answer answer = impl_->exchange_.fill(order.id, shares, price);
  impl_->answer(answer);
  return answer.report.execution_id;
}
void TestBench::expire(TestOrderRef order, std::string_view text) {
  impl_->check_connected(venue_of(impl_->exchange_, order.id));
  impl_->answer(impl_->exchange_.expire(order.id, text));
}
void TestBench::restate(TestOrderRef order, std::uint32_t leaves) {
  impl_->check_connected(venue_of(impl_->exchange_, order.id));
  impl_->answer(impl_->exchange_.restate(order.id, leaves));
}
void TestBench::trigger(TestOrderRef order) {
  impl_->check_connected(venue_of(impl_->exchange_, order.id));
  impl_->answer(impl_->exchange_.trigger(order.id));
}
void TestBench::bust(std::uint64_t execution_id) {
  impl_->check_connected(impl_->exchange_.venue_of_execution(execution_id));
  impl_->answer(impl_->exchange_.bust(execution_id));
}
std::uint64_t TestBench::correct(std::uint64_t execution_id, std::uint32_t shares,
                                 std::uint32_t price) {
  impl_->check_connected(impl_->exchange_.venue_of_execution(execution_id));
  const test_bench::Answer answer = impl_->exchange_.correct(execution_id, shares, price);
  impl_->answer(answer);
  return answer.report.execution_id;
}

void TestBench::report(const tickpath_report& report) {
  if (!is_of_an_order(report.kind))
    throw TestBenchError("report kind " + std::to_string(report.kind) +
                         " is none that oeg sends of an order");
  const std::uint32_t room = impl_->options_.instruments_max;
  test_bench::Answer answer;
  answer.venue = report.instrument / room < impl_->market_.venues() ? report.instrument / room : 0;
  impl_->check_connected(answer.venue);
  wire::OrderReport& made = answer.report;
  made.order_id = report.order_id;
  made.target_order_id = report.target_order_id;
  made.trace_id = report.trace_id;
  made.execution_id = report.execution_id;
  made.instrument_id = report.instrument - static_cast<std::uint32_t>(answer.venue) * room;
  made.last_shares = report.last_shares;
  made.last_price = report.last_price;
  made.leaves_shares = report.leaves_shares;
  made.cumulative_shares = report.cumulative_shares;
  made.kind = static_cast<wire::ReportKind>(report.kind);
  made.side = static_cast<Side>(report.side);
  made.reason = static_cast<trading::RejectReason>(report.reason);
  made.strategy_id = impl_->options_.strategy_id;
  made.limit_price = report.limit_price;
  made.last_price_hundredths = report.last_price_hundredths;
  impl_->answer(answer);
}

void TestBench::gateway(bool up, std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->ports_[at].connected = up;
  if (!up) impl_->exchange_.lose_answers(at);
  impl_->turn([&] { impl_->engine_.on_gateway(impl_->options_.strategy_id, up, at); });
}
void TestBench::gateway_silent(std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->check_connected(at);
  impl_->turn([&] { impl_->engine_.on_gateway_silent(impl_->options_.strategy_id, at); });
}
void TestBench::accepting(tickpath_reason refuses, std::string_view venue) {
  const std::size_t at = impl_->market_.venue(venue);
  impl_->check_connected(at);
  const auto why = static_cast<trading::RejectReason>(refuses);
  impl_->turn([&] { impl_->engine_.on_accepting(impl_->options_.strategy_id, why, at); });
}
void TestBench::hold(std::string_view listing, bool held) {
  const Listing& of = impl_->market_.find(listing);
  impl_->check_connected(of.venue);
  impl_->set_held(of, held);
}
void TestBench::credit(std::uint32_t requests, std::string_view venue) {
  impl_->ports_[impl_->market_.venue(venue)].credit = requests;
}
void TestBench::adopt(std::string_view listing, std::int64_t shares, std::int64_t cash) {
  const Listing& of = impl_->market_.find(listing);
  impl_->check_connected(of.venue);
  wire::PositionReport held{};
  held.position_shares = shares;
  held.cash = cash;
  held.symbol = wire::symbol_word(of.symbol);
  held.fills = position(listing).fills + (shares != 0 || cash != 0 ? 1 : 0);
  held.instrument_id = of.id;
  held.kind = wire::ReportKind::kPosition;
  held.strategy_id = impl_->options_.strategy_id;
  impl_->turn([&] { impl_->engine_.on_position(impl_->options_.strategy_id, held, of.venue); });
}

// -------------------------------------------------------------------------------------------- time

void TestBench::advance(std::chrono::nanoseconds time) {
  if (time.count() < 0) throw TestBenchError("time does not run backwards: advance() by 0 or more");
  impl_->advance(static_cast<std::uint64_t>(time.count()));
}
void TestBench::begin_day(std::chrono::nanoseconds time_of_day) {
  impl_->market_.begin_day(time_of_day);
}
std::uint64_t TestBench::now_ns() const noexcept { return impl_->now_ns_; }
std::uint64_t TestBench::market_ns() const noexcept { return impl_->market_.time_of_day_ns(); }
void TestBench::stop() {
  impl_->turn([&] { impl_->engine_.begin_stop(); });
}

// ----------------------------------------------------------------------------------------- results

std::vector<TestRequest> TestBench::take_requests() {
  const std::vector<TestRequest>& all = impl_->exchange_.requests();
  const std::size_t from = std::exchange(impl_->taken_, all.size());
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}
TestRequest TestBench::only_request() {
  std::vector<TestRequest> taken = take_requests();
  if (taken.size() == 1) return taken.front();
  std::string text =
      "one request was expected since the last look, and there are " + std::to_string(taken.size());
  for (const TestRequest& each : taken) text += "\n  " + to_text(each);
  throw TestBenchError(text);
}
const std::vector<TestRequest>& TestBench::requests() const noexcept {
  return impl_->exchange_.requests();
}
std::vector<TestOrder> TestBench::open_orders() const {
  std::vector<TestOrder> open;
  for (const test_bench::OrderRecord& order : impl_->exchange_.orders())
    if (!order.done()) open.push_back(test_bench::shown(order));
  return open;
}
TestOrder TestBench::order(TestOrderRef order) const {
  return test_bench::shown(impl_->exchange_.order(order.id));
}
tickpath_position TestBench::position(std::string_view listing) const {
  return impl_->instance_->positions[instrument(listing)];
}
std::uint32_t TestBench::instrument(std::string_view listing) const {
  return impl_->listing_id(std::as_const(impl_->market_).find(listing));
}
std::vector<TestLogLine> TestBench::take_log() { return std::exchange(impl_->log_, {}); }
bool TestBench::failed() const noexcept { return !impl_->failure_.empty(); }
const std::string& TestBench::failure() const noexcept { return impl_->failure_; }
std::uint64_t TestBench::refused() const noexcept {
  return impl_->instance_->counters.refused.get() + impl_->instance_->counters.no_credit.get();
}
std::uint64_t TestBench::malformed() const noexcept {
  return impl_->instance_->counters.malformed.get();
}
bool TestBench::drained() const noexcept { return impl_->engine_.drained(); }

std::string to_text(const TestRequest& request) {
  const std::string id = test_bench::id_text(request.id);
  if (request.kind == TestRequest::Kind::kCancel)
    return "cancel " + test_bench::id_text(request.target_id) + " (request " + id + ")";
  const auto type = static_cast<trading::OrderType>(request.type);
  std::string text = request.side == TICKPATH_BUY ? "buy " : "sell ";
  text += std::to_string(request.shares) + " " + request.symbol;
  if (type != trading::OrderType::kLimit) text += ", " + std::string(trading::name(type));
  if (request.stop_price != 0) text += " " + price_text(request.stop_price);
  if (request.price != 0) text += " at " + price_text(request.price);
  text +=
      ", " + std::string(trading::name(static_cast<trading::TimeInForce>(request.time_in_force)));
  if ((request.instructions & TICKPATH_POST_ONLY) != 0) text += ", post-only";
  if (request.display_shares != 0) text += ", shows " + std::to_string(request.display_shares);
  if (request.minimum_shares != 0) text += ", at least " + std::to_string(request.minimum_shares);
  if (request.kind == TestRequest::Kind::kReplace)
    return "replace " + test_bench::id_text(request.target_id) + " by " + text + " (request " + id +
           ")";
  return text + " (order " + id + ")";
}

}  // namespace tickpath

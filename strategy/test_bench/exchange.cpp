#include "strategy/test_bench/exchange.hpp"

#include <utility>

#include "common/trading/order_terms.hpp"
#include "common/wire/names.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::test_bench {
namespace {

using trading::OrderState;
using wire::ReportKind;
using wire::RequestKind;

TestRequest shown(const wire::OrderRequest& request, const std::string& listing) {
  TestRequest made;
  made.kind = request.kind == RequestKind::kNew      ? TestRequest::Kind::kNew
              : request.kind == RequestKind::kCancel ? TestRequest::Kind::kCancel
                                                     : TestRequest::Kind::kReplace;
  made.id = request.order_id;
  made.target_id = request.target_order_id;
  made.trace_id = request.trace_id;
  made.symbol = listing;
  made.side = static_cast<std::uint8_t>(request.side);
  made.type = static_cast<std::uint8_t>(request.type);
  made.time_in_force = static_cast<std::uint8_t>(request.time_in_force);
  made.instructions = request.instructions;
  made.shares = request.shares;
  made.price = static_cast<std::uint32_t>(request.price.value);
  made.stop_price = request.stop_price;
  made.display_shares = request.display_shares;
  made.minimum_shares = request.minimum_shares;
  return made;
}

bool has_price_worse_than_limit(const OrderRecord& order, std::uint32_t price) {
  if (order.price == 0) return false;
  return order.request.side == Side::kBuy ? price > order.price : price < order.price;
}

}  // namespace

std::string id_text(std::uint64_t id) {
  return std::to_string(wire::OrderId::strategy(id)) + "-" +
         std::to_string(wire::OrderId::incarnation(id)) + "-" +
         std::to_string(static_cast<std::uint32_t>(id));
}

TestOrder shown(const OrderRecord& order) {
  return {.id = order.id,
          .symbol = order.listing,
          .side = static_cast<std::uint8_t>(order.request.side),
          .state = static_cast<std::uint8_t>(order.state),
          .price = order.price,
          .shares = order.shares,
          .leaves = order.leaves,
          .filled = order.filled};
}

void Exchange::take(const wire::OrderRequest& request, std::size_t venue, const Listing& listing) {
  request_of_[request.order_id] = requests_.size();
  requests_.push_back(shown(request, listing.name));
  states_.push_back({request, venue, AnswerState::kPending});
  if (request.kind != RequestKind::kNew) return;
  OrderRecord order;
  order.request = request;
  order.id = request.order_id;
  order.venue = venue;
  order.listing = listing.name;
  order.price = static_cast<std::uint32_t>(request.price.value);
  order.stop_price = request.stop_price;
  order.shares = order.leaves = request.shares;
  order_of_[order.id] = orders_.size();
  orders_.push_back(std::move(order));
}

// ------------------------------------------------------------------------------------------
// finding

const OrderRecord* Exchange::look_up(std::uint64_t id) const noexcept {
  const auto found = order_of_.find(id);
  return found == order_of_.end() ? nullptr : &orders_[found->second];
}

const OrderRecord& Exchange::order(std::uint64_t id) const {
  if (const OrderRecord* const found = look_up(id)) return *found;
  const bool request = request_of_.contains(id);
  throw TestBenchError(id_text(id) + (request ? " is a cancel or a replacement that was not "
                                                "accepted; give the order"
                                              : " is no order that the strategy sent"));
}
OrderRecord& Exchange::record(std::uint64_t id) {
  return const_cast<OrderRecord&>(std::as_const(*this).order(id));
}

OrderRecord& Exchange::open_record(std::uint64_t id) {
  OrderRecord& order = record(id);
  if (order.done())
    throw TestBenchError("order " + id_text(id) + " is done (" +
                         std::string(trading::name(order.state)) + "): nothing can happen to it");
  return order;
}

Exchange::RequestState& Exchange::unanswered_request(std::uint64_t id) {
  const auto found = request_of_.find(id);
  if (found == request_of_.end())
    throw TestBenchError(id_text(id) + " is no request that the strategy sent");
  RequestState& state = states_[found->second];
  if (state.answer == AnswerState::kLost)
    throw TestBenchError(to_text(requests_[found->second]) +
                         ": its answer was lost with the connection to oeg");
  if (state.answer == AnswerState::kGiven)
    throw TestBenchError(to_text(requests_[found->second]) + ": it was answered already");
  return state;
}

std::size_t Exchange::venue_of_execution(std::uint64_t execution_id) const {
  const auto found = executions_.find(execution_id);
  if (found == executions_.end())
    throw TestBenchError("there is no execution " + std::to_string(execution_id) +
                         "; fill() returns its id");
  return order(found->second.order_id).venue;
}

Exchange::Execution& Exchange::standing(std::uint64_t execution_id) {
  Execution& execution = executions_.at(execution_id);  // venue_of_execution() has found it
  if (!execution.stands)
    throw TestBenchError("execution " + std::to_string(execution_id) + " was taken back already");
  return execution;
}

// ------------------------------------------------------------------------------------------
// answers

Answer Exchange::answer_of(const OrderRecord& order, ReportKind kind) const {
  Answer answer{.venue = order.venue};
  wire::OrderReport& report = answer.report;
  report.kind = kind;
  report.order_id = order.id;
  if (wire::names_target(kind)) report.target_order_id = order.id;
  report.trace_id = order.request.trace_id;
  report.instrument_id = order.request.instrument_id;
  report.leaves_shares = order.leaves;
  report.cumulative_shares = order.filled;
  report.side = order.request.side;
  report.strategy_id = order.request.strategy_id;
  report.limit_price = order.price;
  return answer;
}

void Exchange::apply(OrderRecord& order, const wire::OrderReport& report) {
  OrderState state = order.state;
  if (!wire::apply(state, report.kind, report.leaves_shares, report.cumulative_shares))
    throw TestBenchError("order " + id_text(order.id) + " is " +
                         std::string(trading::name(order.state)) + ": it cannot be reported as " +
                         std::string(wire::name(report.kind)));
  RequestState& first = states_[request_of_.at(order.request.order_id)];
  if (state != OrderState::kPendingNew && first.answer == AnswerState::kPending)
    first.answer = AnswerState::kGiven;
  order.state = state;
  order.leaves = trading::is_final(state) ? 0 : report.leaves_shares;
  order.filled = report.cumulative_shares;
}

Answer Exchange::accept(std::uint64_t request_id) {
  RequestState& state = unanswered_request(request_id);
  const bool is_new = state.request.kind == RequestKind::kNew;
  OrderRecord& order = open_record(is_new ? request_id : state.request.target_order_id);
  Answer answer;
  if (state.request.kind == RequestKind::kReplace) {
    answer = accept_replace(state, order);
  } else {
    answer = answer_of(order, is_new ? ReportKind::kAccepted : ReportKind::kCanceled);
    answer.report.order_id = request_id;
    answer.report.trace_id = state.request.trace_id;
    if (!is_new) answer.report.leaves_shares = 0;
    apply(order, answer.report);
  }
  state.answer = AnswerState::kGiven;
  return answer;
}

Answer Exchange::accept_replace(const RequestState& state, OrderRecord& order) {
  const wire::OrderRequest& request = state.request;
  if (request.shares < order.filled)
    throw TestBenchError("order " + id_text(order.id) + " is to have " +
                         std::to_string(request.shares) + " shares, and " +
                         std::to_string(order.filled) + " are filled: reject() it");
  Answer answer = answer_of(order, ReportKind::kReplaced);
  answer.report.order_id = request.order_id;
  answer.report.trace_id = request.trace_id;
  answer.report.leaves_shares = request.shares - order.filled;
  answer.report.limit_price = static_cast<std::uint32_t>(request.price.value);
  apply(order, answer.report);
  order.id = request.order_id;
  order.price = answer.report.limit_price;
  order.shares = request.shares;
  if (request.stop_price != 0) order.stop_price = request.stop_price;
  order_of_[order.id] = order_of_.at(request.target_order_id);
  return answer;
}

Answer Exchange::reject(std::uint64_t request_id, tickpath_reason reason, std::string_view text) {
  RequestState& state = unanswered_request(request_id);
  const bool is_new = state.request.kind == RequestKind::kNew;
  if (reason == TICKPATH_REASON_NONE)
    throw TestBenchError("a refusal has a reason: give another one than TICKPATH_REASON_NONE");
  OrderRecord& order = record(is_new ? request_id : state.request.target_order_id);
  Answer answer = answer_of(order, wire::reject_of(state.request.kind));
  answer.report.order_id = request_id;
  answer.report.target_order_id = is_new ? 0 : order.id;
  answer.report.trace_id = state.request.trace_id;
  answer.report.reason = static_cast<trading::RejectReason>(reason);
  answer.text = text;
  if (is_new) {
    answer.report.leaves_shares = 0;
    apply(order, answer.report);
  } else if (reason == TICKPATH_REASON_UNKNOWN_ORDER && !order.done() &&
             state.request.kind == RequestKind::kCancel) {
    order.state = OrderState::kCanceled;  // the engine closes it as lost
    order.leaves = 0;
  }
  state.answer = AnswerState::kGiven;
  return answer;
}

Answer Exchange::fill(std::uint64_t order_id, std::uint32_t shares, std::uint32_t price) {
  OrderRecord& order = open_record(order_id);
  if (shares == 0 || shares > order.leaves)
    throw TestBenchError("order " + id_text(order_id) + " has " + std::to_string(order.leaves) +
                         " shares open: " + std::to_string(shares) + " cannot fill");
  if (price == 0) price = order.price;
  if (price == 0)
    throw TestBenchError("order " + id_text(order_id) +
                         " has no limit: say at which price it fills");
  if (has_price_worse_than_limit(order, price))
    throw TestBenchError("order " + id_text(order_id) + " has the limit " +
                         price_text(order.price) + ": it cannot fill at " + price_text(price));
  Answer answer = answer_of(order, ReportKind::kFill);
  answer.report.execution_id = ++last_execution_;
  answer.report.last_shares = shares;
  answer.report.last_price = price;
  answer.report.leaves_shares = order.leaves - shares;
  answer.report.cumulative_shares = order.filled + shares;
  apply(order, answer.report);
  executions_[last_execution_] = {order.id, shares, price, true};
  return answer;
}

Answer Exchange::expire(std::uint64_t order_id, std::string_view text) {
  OrderRecord& order = open_record(order_id);
  Answer answer = answer_of(order, ReportKind::kExpired);
  answer.report.leaves_shares = 0;
  answer.text = text;
  apply(order, answer.report);
  return answer;
}

Answer Exchange::restate(std::uint64_t order_id, std::uint32_t leaves) {
  OrderRecord& order = open_record(order_id);
  if (leaves == 0 || leaves >= order.leaves)
    throw TestBenchError("order " + id_text(order_id) + " has " + std::to_string(order.leaves) +
                         " shares open: a restatement leaves fewer, and at least one");
  Answer answer = answer_of(order, ReportKind::kRestated);
  answer.report.leaves_shares = leaves;
  apply(order, answer.report);
  order.shares = order.filled + leaves;
  return answer;
}

Answer Exchange::trigger(std::uint64_t order_id) {
  OrderRecord& order = open_record(order_id);
  if (!trading::has_stop(order.request.type) || order.triggered)
    throw TestBenchError("order " + id_text(order_id) +
                         (order.triggered ? " was triggered already" : " is no stop order"));
  Answer answer = answer_of(order, ReportKind::kTriggered);
  apply(order, answer.report);
  order.triggered = true;
  return answer;
}

Answer Exchange::bust(std::uint64_t execution_id) {
  Execution& execution = standing(execution_id);
  OrderRecord& order = record(execution.order_id);
  Answer answer = answer_of(order, ReportKind::kFillCanceled);
  answer.report.execution_id = execution_id;
  answer.report.last_shares = execution.shares;
  answer.report.last_price = execution.price;
  answer.report.cumulative_shares = order.filled - execution.shares;
  if (order.done()) {
    order.filled -= execution.shares;
  } else {
    apply(order, answer.report);
  }
  execution.stands = false;
  return answer;
}

Answer Exchange::correct(std::uint64_t execution_id, std::uint32_t shares, std::uint32_t price) {
  const Execution before = executions_.at(execution_id);
  if (before.stands)
    throw TestBenchError("bust() execution " + std::to_string(execution_id) +
                         " first: a correction stands in its place");
  OrderRecord& order = record(before.order_id);
  if (shares == 0 || price == 0 || shares > before.shares)
    throw TestBenchError("a correction has a price, and 1 to " + std::to_string(before.shares) +
                         " shares");
  Answer answer = answer_of(order, ReportKind::kFillCorrected);
  answer.report.execution_id = ++last_execution_;
  answer.report.last_shares = shares;
  answer.report.last_price = price;
  answer.report.cumulative_shares = order.filled + shares;
  if (order.done()) {
    order.filled += shares;
  } else {
    apply(order, answer.report);
  }
  executions_[last_execution_] = {order.id, shares, price, true};
  return answer;
}

void Exchange::lose_answers(std::size_t venue) noexcept {
  for (RequestState& state : states_)
    if (state.venue == venue && state.answer == AnswerState::kPending)
      state.answer = AnswerState::kLost;
}

}  // namespace tickpath::test_bench

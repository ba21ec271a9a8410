#include "oeg/own_cancels.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tickpath::oeg {
namespace {

// Own cancels sent in one turn: a strategy with thousands of open orders may not stall the others.
constexpr int kOrphansPerTurn = 32;

}  // namespace

// All orders of a killed strategy are to go, whenever they become known. The venue may accept some
// after the kill, and a restart may recover some.
bool OwnCancels::cancel_orphans(StrategySlot& slot) noexcept {
  const bool all = checks_.control_block().cancels(slot.id);
  int sent = 0;
  bool left = false;
  bool stuck = false;
  ledger_.for_each(slot.id, [&](Order& order) {
    const bool overdue = order.overdue != Overdue::kNot;  // its strategy asked for the cancel
    if ((!order.orphan && !all && !overdue) || trading::is_final(order.state)) return;
    left |= order.orphan || overdue;
    if (stuck || sent == kOrphansPerTurn || !journal_.has_room_for_own_cancels()) return;
    if (waits_for_answer(order)) {
      sent += press(slot, order) ? 1 : 0;
    } else if (order.orphan || all) {
      stuck = !cancel_orphan(slot, order);
      sent += stuck ? 0 : 1;
    }
  });
  slot.orphans = left;
  return sent != 0;
}

bool OwnCancels::cancel_orphan(StrategySlot& slot, Order& order) noexcept {
  const std::uint64_t id = own_ids_.next();
  ledger_.set_pending(order, wire::RequestKind::kCancel, id, 0, 0, 0, true);
  order.asked_tsc = tsc_now().value;
  return send_own_cancel(slot, order, id);
}

// The ledger has it already.
bool OwnCancels::send_own_cancel(StrategySlot& slot, Order& order,
                                 std::uint64_t request_id) noexcept {
  wire::OrderRequest request{};
  request.order_id = request_id;
  request.target_order_id = order.id;
  request.instrument_id = order.instrument;
  request.kind = wire::RequestKind::kCancel;
  request.side = order.side;
  request.strategy_id = slot.id;
  const wire::OrderEvent event = sender_.record(order, request);
  fix::SendTimes times{};
  if (!fix::accepted(sender_.send_cancel(order, request_id, times))) {
    sender_.reject_unsent(order, request_id);
    return false;
  }
  counters_.changes.own.add();
  recorder_.publish(event, order.row);
  return true;
}

// The order is to go, and its request has no answer: one step further. True: something was sent.
bool OwnCancels::press(StrategySlot& slot, Order& order) noexcept {
  if (!checks_.is_overdue(order)) return false;
  switch (order.overdue) {
    case Overdue::kNot:
      return cancel_again(slot, order);
    case Overdue::kCanceledAgain:
      return ask_for(order);
    case Overdue::kAskedFor:
      list_unanswered(order);
      return false;
    case Overdue::kListed:  // and whenever the venue has refused the last one
      return order.second_cancel_id == 0 && cancel_again(slot, order);
  }
  return false;
}

bool OwnCancels::cancel_again(StrategySlot& slot, Order& order) noexcept {
  if (order.second_cancel_id == 0) {
    const std::uint64_t id = own_ids_.next();
    if (!ledger_.set_second_cancel(order, id, true)) return false;
    if (!send_own_cancel(slot, order, id)) return false;
    counters_.overdue.add();
  }
  order.asked_tsc = tsc_now().value;
  order.overdue = std::max(order.overdue, Overdue::kCanceledAgain);
  return true;
}

bool OwnCancels::ask_for(Order& order) noexcept {
  if (!sender_.ask_for(order)) return false;
  order.asked_tsc = tsc_now().value;
  order.overdue = Overdue::kAskedFor;
  return true;
}

void OwnCancels::list_unanswered(Order& order) noexcept {
  order.asked_tsc = tsc_now().value;
  order.overdue = Overdue::kListed;
  fix::ExecutionReport order_in_question;  // no report: what the list says of an order
  order_in_question.cl_ord_id = order.id;
  order_in_question.side = order.side;
  char text[64] = "no answer to 11=";
  char* const number = text + std::strlen(text);
  const std::uint64_t request = order.pending_id != 0 ? order.pending_id : order.second_cancel_id;
  const char* const end = std::to_chars(number, text + sizeof(text), request).ptr;
  fix::MessageInfo info{};
  info.text = {text, static_cast<std::size_t>(end - text)};
  recorder_.except(ExceptionKind::kUnanswered, &order, order_in_question, info);
}

}  // namespace tickpath::oeg

// What oeg cancels by itself: orders of strategies that are gone or killed. A request that the
// venue does not answer must not keep such an order alive. So oeg cancels its last confirmed id
// anyway, then asks the venue for the order, then lists it as an exception.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/wire/order_terms.hpp"
#include "oeg/gateway.hpp"

namespace tickpath::oeg {
namespace {

// Own cancels sent in one turn: a strategy with thousands of open orders may not stall the others.
constexpr int kOrphansPerTurn = 32;

// The venue may have given the order its new id, and the answer may be lost.
bool may_be_renamed(const Order& order) noexcept {
  return order.pending_id != 0 && order.pending_kind == wire::RequestKind::kReplace;
}

// The order is over, says the venue's answer to a status request.
bool is_over(fix::OrdStatus status) noexcept {
  switch (status) {
    case fix::OrdStatus::kFilled:
    case fix::OrdStatus::kDoneForDay:
    case fix::OrdStatus::kCanceled:
    case fix::OrdStatus::kRejected:
    case fix::OrdStatus::kExpired:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Gateway::orphan_orders(std::size_t index) noexcept {
  if (!options_.cancel_orphans) return;
  StrategySlot& slot = slots_[index];
  ledger_.for_each(slot.id, [&](Order& order) {
    if (trading::is_final(order.state) || order.orphan) return;
    order.orphan = true;
    slot.orphans = true;
    counters_.orphaned_orders.add();
  });
}

void Gateway::await_strategies() noexcept {
  for (std::size_t i = 0; i < slot_count(); ++i) slots_[i].awaited = true;
}

void Gateway::give_up_awaited() noexcept {
  for (std::size_t i = 0; i < slot_count(); ++i) {
    if (!slots_[i].awaited) continue;
    slots_[i].awaited = false;
    drop_reports(slots_[i]);
    orphan_orders(i);
  }
}

void Gateway::cancel_everything() noexcept {
  for (std::size_t i = 0; i < slot_count(); ++i) {
    ledger_.for_each(slots_[i].id, [&](Order& order) {
      order.orphan = true;
      slots_[i].orphans = true;
    });
  }
}

// All orders of a killed strategy are to go, whenever they become known: also those that the venue
// accepts after the kill, and those that a restart has recovered.
bool Gateway::cancel_orphans(StrategySlot& slot) noexcept {
  const bool all = block_.cancels(slot.id);
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

// What the venue said before a logon is sent again after it: time counts from there.
bool Gateway::is_overdue(const Order& order) const noexcept {
  const std::uint64_t since = std::max(order.asked_tsc, up_since_tsc_);
  return tsc_now().value - since >= answer_ticks_;
}

// A strategy asks for a cancel of an order that has a request on its way already.
trading::RejectReason Gateway::check_second_cancel(const wire::OrderRequest& request,
                                                   const Order& order) const noexcept {
  const bool may = request.kind == wire::RequestKind::kCancel && order.pending_id != 0 &&
                   order.second_cancel_id == 0 && is_overdue(order);
  if (!may) return trading::RejectReason::kPendingRequest;
  return venue_.up() ? trading::RejectReason::kNone : trading::RejectReason::kSessionDown;
}

// The order is to go, and its request has no answer: one step further. True: something was sent.
bool Gateway::press(StrategySlot& slot, Order& order) noexcept {
  if (!is_overdue(order)) return false;
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

bool Gateway::cancel_again(StrategySlot& slot, Order& order) noexcept {
  if (order.second_cancel_id == 0) {
    const std::uint64_t id = ++own_cancels_;
    if (!ledger_.set_second_cancel(order, id, true)) return false;
    if (!send_own_cancel(slot, order, id)) return false;
    counters_.overdue.add();
  }
  order.asked_tsc = tsc_now().value;
  order.overdue = std::max(order.overdue, Overdue::kCanceledAgain);
  return true;
}

bool Gateway::ask_for(Order& order) noexcept {
  fix::OrderStatusRequest message;
  message.cl_ord_id = order.id_unknown ? order.pending_id : order.id;
  message.side = order.side;
  message.symbol = instruments_[order.instrument].symbol;
  fix::SendTimes times{};
  if (!fix::accepted(venue_.send(message, times))) return false;
  order.asked_tsc = tsc_now().value;
  order.overdue = Overdue::kAskedFor;
  return true;
}

void Gateway::list_unanswered(Order& order) noexcept {
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
  except(ExceptionKind::kUnanswered, &order, order_in_question, info);
}

// After a report about an order that has an overdue request. One that is over owes no answer to it:
// no report will come, and the strategy waits.
void Gateway::settle_overdue(const Order& before, std::uint32_t fix_seq) noexcept {
  Order* order = ledger_.find(before.id);
  for (const std::uint64_t id : {before.pending_id, before.second_cancel_id})
    if (order == nullptr && id != 0) order = ledger_.find(id);
  if (order == nullptr) return;
  if (!trading::is_final(order->state)) {
    if (!waits_for_answer(*order)) order->overdue = Overdue::kNot;
    return;
  }
  if (order->pending_id != 0)
    book_unanswered(*order, order->pending_id, trading::RejectReason::kTooLate, fix_seq);
}

// False: the rejection of a second cancel does not say that the order is gone.
bool Gateway::second_cancel_finds_none(Order& order) noexcept {
  if (order.second_cancel_stale) return false;
  if (!may_be_renamed(order) || order.id_unknown) return true;
  order.id_unknown = true;  // the next one names the replacement's id, and goes at once
  order.overdue = Overdue::kNot;
  order.asked_tsc = 0;
  return false;
}

// The answer to a status request: nothing has happened now, but what has may have been missed.
void Gateway::take_status(Order& order, const fix::ExecutionReport& report,
                          const fix::MessageInfo& info) noexcept {
  if (order.overdue < Overdue::kAskedFor || !is_over(report.ord_status) ||
      trading::is_final(order.state) || report.cl_ord_id == 0)
    return;
  if (report.ord_status == fix::OrdStatus::kDoneForDay &&
      trading::outlives_day(order.time_in_force))
    return;
  const bool unknown = report.ord_status == fix::OrdStatus::kRejected;
  if (unknown && may_be_renamed(order) && !order.id_unknown) {
    (void)second_cancel_finds_none(order);
    return;
  }
  if (!unknown && report.cum_qty != order.cumulative)
    except(ExceptionKind::kQuantities, &order, report, info);
  // Answers come in order: one to the second cancel would have come before this.
  const std::uint64_t second = order.second_cancel_id;
  expire_unknown(order.id, info.seq_num);
  if (Order* const done = ledger_.find(second))
    book_unanswered(*done, second, trading::RejectReason::kTooLate, info.seq_num);
}

}  // namespace tickpath::oeg

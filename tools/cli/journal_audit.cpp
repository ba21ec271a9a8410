#include "tools/cli/journal_audit.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>

#include "common/fix/codec.hpp"
#include "common/wire/order_id.hpp"
#include "common/wire/order_state.hpp"
#include "oeg/gateway.hpp"
#include "oeg/venue_texts.hpp"

namespace tickpath::cli {
namespace {

using oeg::EntryPart;
using oeg::JournalRecord;
using wire::EventKind;
using wire::OrderEvent;
using wire::OrderId;
using wire::ReportKind;

// Between two readings of the clock, for one record, a busy machine may take its time.
constexpr std::int64_t kApartMaxNs = 60'000'000'000;

class Differs {
 public:
  template <class Told, class Known>
  Differs& in(const char* field, const Told& told, const Known& known) {
    if (first_ == nullptr && !(told == known)) first_ = field;
    return *this;
  }
  Differs& unless(const char* field, bool holds) { return in(field, holds, true); }
  const char* first() const noexcept { return first_; }

 private:
  const char* first_ = nullptr;
};

std::string_view symbol_of(const JournalRecord& record) {
  return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
}
bool is_padded(const JournalRecord& record) {
  const std::size_t length = symbol_of(record).size();
  return std::all_of(record.symbol + length, record.symbol + sizeof(record.symbol),
                     [](char each) { return each == '\0'; });
}

// The time of a message, against when its record was written.
bool is_near(const fix::Fields& fields, const JournalRecord& record) {
  std::int64_t sent = 0;
  if (!fix::parse_utc(fields.get(52), sent)) return false;
  const std::int64_t apart = sent - record.realtime_ns;
  return apart < kApartMaxNs && -apart < kApartMaxNs;
}

// What it is sent as depends on the market (oeg's protection).
bool is_priced_by_oeg(const JournalRecord& record) {
  return record.type == trading::OrderType::kMarket || record.type == trading::OrderType::kStop;
}

// Terms that new orders and replacements have.
template <class Message>
void compare_terms(Differs& differs, const JournalRecord& record, const Message& message) {
  differs.in("shares", record.event.shares, message.order_qty)
      .in("display_shares", record.display_shares, message.max_floor)
      .in("minimum_shares", record.minimum_shares, message.min_qty)
      .in("instructions", (record.instructions & wire::kPostOnly) != 0, message.post_only)
      .in("stop_price", std::int64_t{record.stop_price}, message.stop_price.value);
  if (is_priced_by_oeg(record)) return;
  differs.in("price", std::int64_t{record.event.price}, message.price.value)
      .in("type", record.type, message.type)
      .in("time_in_force", record.time_in_force, message.time_in_force);
}

// Whose it is.
template <class Message>
void compare_order(Differs& differs, const JournalRecord& record, const Message& message) {
  differs.in("order_id", record.event.order_id, message.cl_ord_id)
      .in("side", record.event.side, message.side)
      .in("symbol", symbol_of(record), message.symbol.view());
}

// Whether FIX has that kind of report in such a message.
bool tells(const fix::ExecutionReport& report, ReportKind kind) {
  using fix::ExecType;
  if (report.status) return false;
  if (report.trade_change != fix::TradeChange::kNone) return wire::changes_fill(kind);
  switch (kind) {
    case ReportKind::kAccepted:
      return report.exec_type == ExecType::kNew;
    case ReportKind::kRejected:
      return report.exec_type == ExecType::kRejected;
    case ReportKind::kFill:
      return report.exec_type == ExecType::kPartialFill || report.exec_type == ExecType::kFill;
    case ReportKind::kCanceled:
      return report.exec_type == ExecType::kCanceled;
    case ReportKind::kReplaced:
      return report.exec_type == ExecType::kReplaced;
    case ReportKind::kExpired:
      return report.exec_type == ExecType::kExpired || report.exec_type == ExecType::kDoneForDay ||
             report.exec_type == ExecType::kRejected;
    case ReportKind::kRestated:
      return report.exec_type == ExecType::kRestated;
    case ReportKind::kTriggered:
      return report.exec_type == ExecType::kRestated || report.exec_type == ExecType::kTriggered;
    default:
      return false;
  }
}

// The terms of a replacement are those that were asked for.
void compare_with_order(Differs& differs, const JournalRecord& record, const oeg::Order& order,
                        const fix::ExecutionReport& report) {
  if (report.trade_change != fix::TradeChange::kNone) return;
  const bool replaced = record.event.report_kind == ReportKind::kReplaced;
  if (record.event.report_kind != ReportKind::kRestated)
    differs.in("OrderQty of its message", report.order_qty,
               replaced ? order.pending_shares : order.shares);
}

const char* compare(const JournalRecord& record, const oeg::Order* order,
                    const fix::ExecutionReport& report) {
  const OrderEvent& event = record.event;
  Differs differs;
  compare_order(differs, record, report);
  if (order != nullptr) compare_with_order(differs, record, *order, report);
  differs.unless("report_kind", tells(report, event.report_kind));
  if (report.trade_change == fix::TradeChange::kNone)
    differs.in("execution_id", record.execution_id, report.exec_id);
  if (event.report_kind == ReportKind::kFill)
    differs.in("shares", event.shares, report.last_shares)
        .in("price", std::int64_t{event.price}, report.last_price.value)
        .in("price_hundredths", event.price_hundredths, report.last_price_hundredths)
        .in("fee", record.fee(), report.commission_millionths);
  const bool says_left =
      event.report_kind == ReportKind::kAccepted || event.report_kind == ReportKind::kFill ||
      event.report_kind == ReportKind::kReplaced || event.report_kind == ReportKind::kRestated;
  differs.in("cumulative_shares", event.cumulative_shares, report.cum_qty);
  if (says_left || trading::is_final(event.state))
    differs.in("leaves_shares", event.leaves_shares, report.leaves_qty);
  const bool refused =
      event.report_kind == ReportKind::kRejected || report.exec_type == fix::ExecType::kRejected;
  differs.in("reason", event.reason,
             refused ? trading::RejectReason::kVenue : trading::RejectReason::kNone);
  return differs.first();
}

// While the order lives, "unknown" counts as "too late".
const char* compare(const JournalRecord& record, const fix::OrderCancelReject& reject) {
  const trading::RejectReason reason = oeg::reason_of(reject.reason);
  return Differs()
      .in("order_id", record.event.order_id, reject.cl_ord_id)
      .in("of_replace", record.event.report_kind == ReportKind::kReplaceRejected, reject.of_replace)
      .unless("report_kind", wire::is_request_reject(record.event.report_kind))
      .unless("reason", record.event.reason == reason ||
                            (reason == trading::RejectReason::kUnknownOrder &&
                             record.event.reason == trading::RejectReason::kTooLate))
      .first();
}

bool is_answer_of(const oeg::Order& order, const OrderEvent& event) {
  return event.order_id == order.pending_id && event.order_id != 0 &&
         !wire::is_execution(event.report_kind);
}

}  // namespace

void JournalAudit::prepare(const JournalRecord& record) {
  if (record.event.event == EventKind::kNewSession) session_began_at_ = record.sequence;
  if (record.event.event == EventKind::kReported && record.fix_seq == 0)
    unsent_.insert(record.event.order_id);
}

void JournalAudit::look(const JournalRecord& record, oeg::JournalState& before) {
  ++records_;
  const OrderEvent& event = record.event;
  const bool is_change =
      event.event == EventKind::kReported || event.request_kind != wire::RequestKind::kNew;
  const std::uint64_t id = is_change ? event.target_order_id : event.order_id;
  const oeg::Order* const order = id == 0 ? nullptr : before.ledger.find(id);
  Field field = look_alone(record, before);
  if (event.event == EventKind::kRefused) ++refused_;
  if (event.event == EventKind::kReported) take_text(record);
  // Records of one message: what is before each of them is in no table yet.
  const bool alone = record.part == 0;
  if (field == nullptr && event.event == EventKind::kRequested)
    field = look_at_request(record, order);
  if (field == nullptr && event.event == EventKind::kReported && alone)
    field = look_at_report(record, order);
  if (field == nullptr) return;
  if (++differ_ == 1) first_ = "record " + std::to_string(record.sequence) + ", " + field;
}

// The record before may be in a segment that is gone: an entry may begin at the end of one. Its
// checkpoint knows.
JournalAudit::Field JournalAudit::look_alone(const JournalRecord& record,
                                             const oeg::JournalState& before) const {
  const OrderEvent& event = record.event;
  constexpr std::uint8_t kParts = EntryPart::kMore | EntryPart::kContinues | EntryPart::kEndsOnly;
  Differs differs;
  differs.unless("part", (record.part & ~kParts) == 0)
      .unless("part",
              (record.part & EntryPart::kContinues) == 0 || !before.entries.unfinished().empty())
      .unless("part", (record.part & EntryPart::kEndsOnly) == 0 || event.event == EventKind{})
      .unless("part", record.part == 0 || event.event != EventKind::kRefused);
  const bool change = event.event == EventKind::kRequested || event.event == EventKind::kReported ||
                      event.event == EventKind::kRefused;
  if (event.event == EventKind::kNewSession)
    return differs.in("order_id", event.order_id | event.target_order_id | event.trace_id, 0u)
        .in("fix_seq", record.fix_seq, 0u)
        .unless("symbol", symbol_of(record).empty())
        .first();
  if (!change) return differs.first();
  differs.in("row_event", event.row_event, 0u)
      .in("reserved1", record.reserved1, 0)
      .in("exception", record.exception, 0)
      .unless("symbol", is_padded(record))
      .unless("timed", record.timed <= 1 && record.own <= 1);
  // A report holds the exchange's time in place of these two.
  if (record.timed == 0 || event.event != EventKind::kReported)
    differs.in("order_shares", record.order_shares, event.shares)
        .in("limit_price", record.limit_price, event.price);
  if (record.timed == 0 && event.event != EventKind::kReported)
    differs.in("execution_id", record.execution_id, 0u);
  if (event.event == EventKind::kReported)
    return differs.in("request_kind", static_cast<int>(event.request_kind), 0).first();
  differs.in("price_hundredths", event.price_hundredths, 0)
      .unless("request_kind", event.request_kind >= wire::RequestKind::kNew &&
                                  event.request_kind <= wire::RequestKind::kReplace);
  if (record.own == 0)
    differs.in("strategy_id", event.strategy_id, OrderId::strategy(event.order_id));
  if (event.event == EventKind::kRequested)
    return differs.in("report_kind", static_cast<int>(event.report_kind), 0)
        .in("reason", event.reason, trading::RejectReason::kNone)
        .in("own", record.own != 0, OrderId::strategy(event.order_id) == wire::kOwnStrategyId)
        .first();
  return differs.in("request_kind", event.request_kind, wire::RequestKind::kNew)
      .in("report_kind", event.report_kind, ReportKind::kRejected)
      .unless("reason", event.reason != trading::RejectReason::kNone &&
                            event.reason != trading::RejectReason::kVenue)
      .in("state", event.state, trading::OrderState::kRejected)
      .in("target_order_id", event.target_order_id, 0u)
      .in("leaves_shares", event.leaves_shares + event.cumulative_shares, 0u)
      .in("fix_seq", record.fix_seq + record.own, 0u)
      .in("instructions", record.instructions + record.stop_price, 0u)
      .in("fee", record.fee(), 0)
      .first();
}

JournalAudit::Field JournalAudit::look_at_request(const JournalRecord& record,
                                                  const oeg::Order* order) {
  const OrderEvent& event = record.event;
  Differs differs;
  if (event.request_kind == wire::RequestKind::kNew) {
    differs.in("target_order_id", event.target_order_id, 0u)
        .in("leaves_shares", event.leaves_shares, event.shares)
        .in("cumulative_shares", event.cumulative_shares, 0u)
        .in("state", event.state, trading::OrderState::kPendingNew);
  } else if (order != nullptr) {
    differs
        .unless("target_order_id",
                event.target_order_id == order->id || event.target_order_id == order->pending_id)
        .in("leaves_shares", event.leaves_shares, order->leaves)
        .in("cumulative_shares", event.cumulative_shares, order->cumulative)
        .in("state", event.state, order->state)
        .in("side", event.side, order->side)
        .in("strategy_id", event.strategy_id, order->strategy)
        .in("instrument_id", event.instrument_id, order->instrument)
        .in("type", record.type, order->type)
        .in("time_in_force", record.time_in_force, order->time_in_force)
        .in("instructions", record.instructions, order->instructions)
        .in("display_shares", record.display_shares, order->display_shares)
        .in("minimum_shares", record.minimum_shares, order->minimum_shares);
  }
  if (differs.first() != nullptr) return differs.first();
  return look_at_request_message(record, order);
}

JournalAudit::Field JournalAudit::look_at_report(const JournalRecord& record,
                                                 const oeg::Order* order) const {
  const OrderEvent& event = record.event;
  if (order != nullptr) {
    trading::OrderState after = order->state;
    (void)wire::apply(after, event.report_kind, event.leaves_shares, event.cumulative_shares);
    const bool answer = is_answer_of(*order, event);
    Differs differs;
    differs.in("target_order_id", event.target_order_id, order->id)
        .in("state", event.state, after)
        .in("side", event.side, order->side)
        .in("strategy_id", event.strategy_id, order->strategy)
        .in("instrument_id", event.instrument_id, order->instrument)
        .in("type", record.type, order->type)
        .in("time_in_force", record.time_in_force, order->time_in_force)
        .in("instructions", record.instructions, order->instructions)
        .in("stop_price", record.stop_price,
            event.order_id == order->pending_id ? order->pending_stop_price : order->stop_price)
        .in("own", record.own != 0, oeg::is_own(*order, event.order_id));
    if (record.fix_seq != 0)
      differs.in("trace_id", event.trace_id, answer ? order->pending_trace_id : order->trace_id);
    if (!wire::is_execution(event.report_kind))
      differs.in("shares", event.shares, 0u)
          .in("price", event.price, 0u)
          .in("price_hundredths", event.price_hundredths, 0)
          .in("fee", record.fee(), 0);
    if (trading::is_final(after)) differs.in("leaves_shares", event.leaves_shares, 0u);
    if (wire::is_request_reject(event.report_kind))
      differs
          .in("report_kind", event.report_kind,
              event.order_id == order->pending_id ? wire::reject_of(order->pending_kind)
                                                  : ReportKind::kCancelRejected)
          .in("leaves_shares", event.leaves_shares, trading::is_final(after) ? 0u : order->leaves)
          .in("cumulative_shares", event.cumulative_shares, order->cumulative)
          .in("execution_id", record.execution_id, 0u);
    if (differs.first() != nullptr) return differs.first();
  }
  return look_at_report_message(record, order);
}

JournalAudit::Field JournalAudit::look_at_request_message(const JournalRecord& record,
                                                          const oeg::Order* order) {
  if (own_ == nullptr || record.sequence <= session_began_at_ ||
      unsent_.contains(record.event.order_id) ||
      (record.fix_seq != 0 && record.fix_seq < own_->oldest()))
    return nullptr;
  const std::string* const message = own_->find(record.fix_seq);
  fix::Fields fields;
  if (message == nullptr || !fields.scan(*message)) return "fix_seq: its message is not stored";
  Differs differs;
  differs.unless("realtime_ns", is_near(fields, record));
  switch (record.event.request_kind) {
    case wire::RequestKind::kNew: {
      fix::NewOrderSingle sent;
      if (fields.msg_type() != 'D' || !decode(fields, sent)) return "request_kind";
      compare_order(differs, record, sent);
      compare_terms(differs, record, sent);
      if (is_priced_by_oeg(record)) limits_given_[record.event.order_id] = sent.price.value;
      return differs.first();
    }
    case wire::RequestKind::kReplace: {
      fix::OrderCancelReplaceRequest sent;
      if (fields.msg_type() != 'G' || !decode(fields, sent)) return "request_kind";
      compare_order(differs, record, sent);
      compare_terms(differs, record, sent);
      if (is_priced_by_oeg(record)) limits_given_[record.event.order_id] = sent.price.value;
      return differs.in("target_order_id", record.event.target_order_id, sent.orig_cl_ord_id)
          .first();
    }
    case wire::RequestKind::kCancel: {
      fix::OrderCancelRequest sent;
      if (fields.msg_type() != 'F' || !decode(fields, sent)) return "request_kind";
      compare_order(differs, record, sent);
      // Where the venue does not know the order's id, by that of the replacement on its way.
      if (order != nullptr)
        differs.in("OrderQty of its message", order->shares, sent.order_qty)
            .unless("target_order_id", sent.orig_cl_ord_id == record.event.target_order_id ||
                                           sent.orig_cl_ord_id == order->pending_id);
      return differs.first();
    }
  }
  return "request_kind";
}

// True: the record came with a message, which is to be there.
bool JournalAudit::has_report(const JournalRecord& record) const {
  return venue_ != nullptr && record.sequence > session_began_at_ &&
         record.fix_seq != 0 &&  // else it is of oeg itself, or of a person
         record.event.reason != trading::RejectReason::kSessionDown &&
         record.fix_seq >= venue_->oldest();
}

// As a session hands them over: an Execution Report has a reason where it refuses, cancels or
// expires.
void JournalAudit::take_text(const JournalRecord& record) {
  const std::string* const message = has_report(record) ? venue_->find(record.fix_seq) : nullptr;
  fix::Fields fields;
  if (message == nullptr || !fields.scan(*message) || !fields.has(58)) return;
  const std::string_view status = fields.get(39);
  const bool ended = status == "8" || status == "4" || status == "C";
  if (fields.msg_type() != '9' && !(fields.msg_type() == '8' && ended)) return;
  std::uint64_t id = 0;
  (void)fix::parse_id(fields.get(11), id);
  oeg::VenueText text;
  text.set(id, fields.get(58));
  texts_[record.fix_seq] = std::to_string(id) + '\t' + std::string(text.view());
}

JournalAudit::Field JournalAudit::look_at_report_message(const JournalRecord& record,
                                                         const oeg::Order* order) const {
  if (!has_report(record)) return nullptr;
  const std::string* const message = venue_->find(record.fix_seq);
  fix::Fields fields;
  if (message == nullptr || !fields.scan(*message)) return "fix_seq: its message is not stored";
  if (!is_near(fields, record)) return "realtime_ns";
  if (fields.msg_type() == '8') {
    fix::ExecutionReport report;
    if (!decode(fields, report)) return "fix_seq";
    const Field field = compare(record, order, report);
    return field != nullptr || order == nullptr ? field
                                                : look_at_price(record, *order, report.price.value);
  }
  if (fields.msg_type() == '9') {
    fix::OrderCancelReject reject;
    return decode(fields, reject) ? compare(record, reject) : "fix_seq";
  }
  // A Reject of the message itself.
  return fields.msg_type() == '3' || fields.msg_type() == 'j' ? nullptr : "fix_seq";
}

// The limit in effect, as a report has it.
JournalAudit::Field JournalAudit::look_at_price(const JournalRecord& record,
                                                const oeg::Order& order,
                                                std::int64_t reported) const {
  if (wire::changes_fill(record.event.report_kind)) return nullptr;
  if (record.type == trading::OrderType::kPegged)
    return nullptr;  // the exchange's, as the market is
  const bool replaced = record.event.report_kind == ReportKind::kReplaced;
  std::int64_t limit = replaced ? order.pending_price : order.price;
  if (is_priced_by_oeg(record)) {
    const auto given = limits_given_.find(replaced ? order.pending_id : order.id);
    if (given == limits_given_.end()) return nullptr;
    limit = given->second;
  }
  return reported == limit ? nullptr : "Price of its message";
}

Conservation::Line JournalAudit::line(const std::string& oeg) const {
  const std::string with = own_ == nullptr     ? ""
                           : venue_ == nullptr ? " and what oeg has sent"
                                               : " and messages";
  return {differ_ == 0, oeg + ": its journal's records follow from their orders" + with,
          std::to_string(records_) + " records, " + std::to_string(differ_) + " differ" +
              (first_.empty() ? "" : "; " + first_)};
}

Conservation::Line JournalAudit::texts_line(const std::string& oeg, const std::string& texts,
                                            std::uint64_t lost) const {
  std::multiset<std::string> listed;
  for (const char* former : {".former", ""}) {
    std::ifstream file(texts + former);
    for (std::string line; std::getline(file, line);) listed.insert(line);
  }
  std::uint64_t missing = 0;
  for (const auto& [number, text] : texts_) {
    const auto found = listed.find(text);
    if (found == listed.end())
      ++missing;
    else
      listed.erase(found);
  }
  return {missing <= lost, oeg + ": the venue's reasons are listed",
          std::to_string(texts_.size()) + " reasons, " + std::to_string(missing) +
              " are not there, " + std::to_string(lost) + " found no room"};
}

}  // namespace tickpath::cli

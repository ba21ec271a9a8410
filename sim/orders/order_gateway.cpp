#include "sim/orders/order_gateway.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "common/fix/codec.hpp"
#include "common/wire/order_id.hpp"
#include "sim/orders/fix_messages.hpp"
#include "sim/orders/routes.hpp"

namespace tickpath::sim {
namespace {

// An id of our own pipeline, as it writes them. An id of others may look like one, as
// 20261122193000 does: hence PartyRule.
bool is_our_id(std::string_view text, std::uint64_t number) noexcept {
  return text[0] >= '1' && text[0] <= '9' && number >> 56 == 0 &&
         wire::OrderId::incarnation(number) != 0;
}

// A message with the names that the peer uses.
template <class Message>
Message named(Message message, const Outbox::Entry& entry) noexcept {
  message.cl_ord_id_text = entry.names.id.view();
  if constexpr (requires { message.orig_cl_ord_id_text; })
    message.orig_cl_ord_id_text = entry.names.orig.view();
  if constexpr (requires { message.symbol_text; }) message.symbol_text = entry.symbol.view();
  return message;
}

}  // namespace

// One session, and what its requests do.
class OrderGateway::Peer final : public fix::Handler {
 public:
  Peer(OrderGateway& gateway, std::uint8_t index, const GatewaySession& options,
       std::uint32_t pending_max, const RateLimit& rate)
      : outbox(pending_max),
        session(options.fix),
        gateway_(gateway),
        index_(index),
        party_(options.party),
        cancel_on_disconnect_(options.cancel_on_disconnect),
        lenient_replace_(options.lenient_replace),
        correct_every_(options.correct_every),
        misreport_every_(options.misreport_every),
        rate_(rate) {}

  void on_new_order(const fix::NewOrderSingle& message,
                    const fix::MessageInfo& info) noexcept override {
    if (info.poss_resend && answered_by_state(message, info)) [[unlikely]]
      return;
    Asked asked = begin(message, info);
    if (!name_account(message, asked.party)) [[unlikely]]
      asked.refusal = Reason::kAccounts;
    else if (asked.refusal == Reason::kNone && !gateway_.ledger_.reserve(asked.party, asked.locate))
        [[unlikely]]
      asked.refusal = Reason::kCapacity;
    const NewOrder request = to_request(message, asked);
    if (asked.refusal == Reason::kNone) [[likely]]
      gateway_.matcher_->enter(request);
    else
      gateway_.matcher_->refuse(request, asked.refusal);
    end(asked.order_id);
  }
  void on_cancel_request(const fix::OrderCancelRequest& message,
                         const fix::MessageInfo& info) noexcept override {
    if (info.poss_resend && answered_by_state(message, info)) [[unlikely]]
      return;
    const Asked asked = begin(message, info);
    const CancelOrder request = to_request(message, asked);
    if (asked.refusal == Reason::kNone) [[likely]]
      gateway_.matcher_->cancel(request);
    else
      gateway_.matcher_->refuse(request, asked.refusal);
    end(asked.order_id);
  }
  void on_replace_request(const fix::OrderCancelReplaceRequest& message,
                          const fix::MessageInfo& info) noexcept override {
    if (info.poss_resend && answered_by_state(message, info)) [[unlikely]]
      return;
    Asked asked = begin(message, info);
    if (asked.refusal == Reason::kNone) look_at_kept_terms(message, asked);
    ReplaceOrder request = to_request(message, asked);
    if (request.type == OrderType::kStopLimit) take_trigger(request);
    if (asked.refusal == Reason::kNone) [[likely]]
      gateway_.matcher_->replace(request);
    else
      gateway_.matcher_->refuse(request, asked.refusal);
    end(asked.order_id);
  }
  void on_status_request(const fix::OrderStatusRequest& message,
                         const fix::MessageInfo& info) noexcept override {
    gateway_.counters_.status_requests.add();
    Asked asked = look_up(message);
    if (info.routed) [[unlikely]]
      take_route(info, asked);
    const StatusQuery query = to_request(message, asked);
    Report state = gateway_.matcher_->status(query);
    state.party.route = asked.party.route;  // to whoever asks
    gateway_.push(*this, {Outbox::Status{state, ShortText(message.request_id)},
                          gateway_.request_symbol_, gateway_.request_names_});
    (void)gateway_.flush();
  }
  // One report for each order; of none, one that says so (FIX 4.4, vol. 4, Order Mass Status
  // Request).
  void on_mass_status(const fix::OrderMassStatusRequest& message,
                      const fix::MessageInfo& info) noexcept override {
    gateway_.counters_.mass_status_requests.add();
    Asked asked;
    if (info.routed) take_route(info, asked);
    MassCancel which;
    which.session = index_;
    which.buys = message.side != '2';
    which.sells = message.side != '1';
    if (!message.symbol_text.empty()) which.locate = gateway_.symbols_->find(message.symbol_text);
    const ShortText id(message.request_id_text);
    const bool known = message.symbol_text.empty() || which.locate != wire::kNoInstrument;
    const bool asks = known && message.unsupported.empty();
    const std::uint32_t total =
        asks ? gateway_.matcher_->for_each_open(which, [](const Report&) {}) : 0;
    if (total == 0) return answer_none(message, id, known, asked.party.route);
    std::uint32_t told = 0;
    gateway_.matcher_->for_each_open(which, [&](Report report) {
      report.party.route = asked.party.route;  // to whoever asks
      gateway_.push(*this, {Outbox::Status{report, {}, true, ++told == total, total},
                            ShortText(gateway_.symbols_->name(report.locate)),
                            {gateway_.ids_.text(report.order_id), id}});
    });
    (void)gateway_.flush();
  }
  // The orders' own reports come first: only then it is known how many they are.
  void on_mass_cancel(const fix::OrderMassCancelRequest& message,
                      const fix::MessageInfo& info) noexcept override {
    gateway_.counters_.mass_cancels.add();
    Asked asked = look_up(message);
    if (info.routed) take_route(info, asked);
    gateway_.trace_.stamp_at(trace::Hop::kSimOrderRx, asked.order_id, info.received);
    const MassCancel request = to_request(message, asked);
    fix::OrderMassCancelReport answer = to_mass_cancel_report(message, request);
    if (asked.refusal != Reason::kNone) {
      answer.reason = fix::MassCancelRejectReason::kNotSupported;
      answer.text = gateway_.request_text_;
    }
    answer.route = routes.get(asked.party.route);
    if (answer.reason == fix::MassCancelRejectReason::kNone)
      answer.affected = gateway_.matcher_->cancel_all(request);
    answer.order_id = gateway_.counters_.mass_cancels.get();
    gateway_.push(*this, {answer, gateway_.request_symbol_, gateway_.request_names_});
    end(asked.order_id);
  }
  // What is left to cancel from the connection before is none of the new one's orders.
  void on_logon() noexcept override { cancel_if_gone(); }
  void on_logout() noexcept override { mark_gone(); }
  void on_day_end() noexcept override {
    gateway_.counters_.expired_at_day_end.add(gateway_.matcher_->end_day_of(index_));
    (void)gateway_.flush();
  }

  // Its connection is lost, perhaps in the middle of a match that holds its orders: they are
  // cancelled when that is over.
  void mark_gone() noexcept {
    if (!cancel_on_disconnect_) return;
    gone_ = true;
    gateway_.gone_ = true;
  }
  // Matching tells of each order; a peer that is gone finds the reports at its next logon.
  void cancel_if_gone() noexcept {
    if (!std::exchange(gone_, false)) return;
    const std::uint32_t canceled = gateway_.matcher_->cancel_all({.session = index_});
    gateway_.counters_.canceled_on_disconnect.add(canceled);
  }

  void count_fill() noexcept { ++fills_; }
  // Whether the last fill is.
  bool is_corrected() const noexcept { return correct_every_ != 0 && fills_ % correct_every_ == 0; }
  bool is_misreported() const noexcept {
    return misreport_every_ != 0 && fills_ % misreport_every_ == 0;
  }

  fix::SendStatus answer(const Outbox::Entry& entry) noexcept {
    if (const Report* report = std::get_if<Report>(&entry.answer)) [[likely]]
      return is_cancel_reject(*report)
                 ? send_cancel_reject(entry, *report)
                 : send_report(entry,
                               to_execution_report(*report, entry.symbol.view(),
                                                   gateway_.ledger_.fees(), entry.change),
                               report->party);
    if (const Outbox::Status* status = std::get_if<Outbox::Status>(&entry.answer))
      return send_report(entry, status_report(entry, *status), status->report.party);
    return session.send(named(*std::get_if<fix::OrderMassCancelReport>(&entry.answer), entry));
  }

  Outbox outbox;
  fix::Session session;
  Accounts accounts;
  Routes routes;

 private:
  // Symbol and Side are required (4.4), and of no order: "[N/A]", 7 (undisclosed).
  void answer_none(const fix::OrderMassStatusRequest& message, const ShortText& id, bool known,
                   std::uint8_t route) noexcept {
    Report none;
    none.party.route = route;
    none.party.session = index_;
    none.kind = ReportKind::kRejected;
    none.state = OrderState::kRejected;
    none.reason = Reason::kUnknownOrder;
    none.side = static_cast<Side>(message.side == 0 ? 7 : message.side - '0');
    Outbox::Entry entry{Outbox::Status{none, {}, true, true, 0},
                        ShortText(message.symbol_text.empty() ? "[N/A]" : message.symbol_text),
                        {{}, id}};
    entry.text = !message.unsupported.empty() ? message.unsupported
                 : known                      ? "no open order"
                                              : describe(Reason::kUnknownSymbol);
    gateway_.push(*this, entry);
    (void)gateway_.flush();
  }
  static fix::ExecutionReport status_report(const Outbox::Entry& entry,
                                            const Outbox::Status& status) noexcept {
    fix::ExecutionReport message =
        to_status_report(status.report, entry.symbol.view(), status.request_id.view());
    if (!status.mass) return message;
    message.orig_cl_ord_id = 0;
    message.mass_status_id = entry.names.orig.view();
    message.reports_total = status.total;
    message.last_report = status.last;
    return message;
  }
  fix::SendStatus send_report(const Outbox::Entry& entry, fix::ExecutionReport message,
                              const Party& party) noexcept {
    message.cl_ord_id_text = entry.names.id.view();
    // A restated order keeps its id.
    if (message.orig_cl_ord_id != 0) message.orig_cl_ord_id_text = entry.names.orig.view();
    message.account = accounts.echo(party.strategy);
    message.route = routes.get(party.route);
    if (!entry.text.empty()) message.text = entry.text;
    return session.send(message);
  }
  fix::SendStatus send_cancel_reject(const Outbox::Entry& entry, const Report& report) noexcept {
    fix::OrderCancelReject message = named(to_cancel_reject(report), entry);
    message.route = routes.get(report.party.route);
    if (!entry.text.empty()) message.text = entry.text;
    return session.send(message);
  }

  // PossResend (97=Y; FIX 4.2 and 4.4, vol. 2): what was done before is told, not done again. An
  // order by its own id; a cancel, or a replacement that something followed, by the order's.
  template <class Message>
  bool answered_by_state(const Message& message, const fix::MessageInfo& info) noexcept {
    Asked asked = look_up(message);
    if (!gateway_.matcher_->knows(asked.order_id)) return false;
    gateway_.counters_.possible_resends.add();
    if (info.routed) take_route(info, asked);
    StatusQuery query{asked.order_id, asked.locate, asked.party, message.side};
    Report state = gateway_.matcher_->status(query);
    if constexpr (requires { message.orig_cl_ord_id; }) {
      if (state.reason == Reason::kUnknownOrder) {
        query.order_id = asked.target_order_id;
        state = gateway_.matcher_->status(query);
        gateway_.request_names_.id = gateway_.request_names_.orig;
      }
    }
    state.party.route = asked.party.route;  // to whoever asks
    gateway_.push(*this,
                  {Outbox::Status{state}, gateway_.request_symbol_, gateway_.request_names_});
    (void)gateway_.flush();
    return true;
  }

  // A request that changes something, with an id of its own.
  template <class Message>
  Asked begin(const Message& message, const fix::MessageInfo& info) noexcept {
    Asked asked = look_up(message);
    if constexpr (requires { message.unsupported; }) {
      gateway_.request_text_ = message.unsupported;
      if (!message.unsupported.empty()) [[unlikely]]
        asked.refusal = Reason::kTerms;
    }
    if (info.routed) [[unlikely]]
      take_route(info, asked);
    if (!rate_.allow(info.received)) [[unlikely]]
      asked.refusal = Reason::kRate;
    if (asked.order_id == 0) {
      asked.order_id = gateway_.ids_.intern(index_, message.cl_ord_id_text);
      if (asked.order_id == 0) [[unlikely]]
        asked.refusal = Reason::kCapacity;
    }
    gateway_.trace_.stamp_at(trace::Hop::kSimOrderRx, asked.order_id, info.received);
    return asked;
  }
  // By which the answers go back: those to this request, and all about an order that it enters.
  void take_route(const fix::MessageInfo& info, Asked& asked) noexcept {
    fix::Fields fields;
    (void)fields.scan(info.text);
    const fix::Route back = fix::route_back(fields);
    if (Routes::fits(back)) asked.party.route = routes.intern(back);
    if (asked.party.route != 0) return;
    asked.refusal = Reason::kTerms;
    gateway_.request_text_ =
        Routes::fits(back) ? "there are 255 routes (115, 116, 144, 128, 129, 145) already"
                           : "a routing field of more than 16 characters, or more than fit into a "
                             "report";
  }
  // The core would not: a replacement changes price and shares.
  void look_at_kept_terms(const fix::OrderCancelReplaceRequest& message, Asked& asked) noexcept {
    const LiveOrder* const order = gateway_.matcher_->find_live(asked.target_order_id);
    if (order == nullptr || order->party.session != index_) return;
    gateway_.request_text_ = kept_term(message, *order);
    if (gateway_.request_text_.empty() && !lenient_replace_)
      gateway_.request_text_ = dropped_term(message, *order);
    if (!gateway_.request_text_.empty()) [[unlikely]]
      asked.refusal = Reason::kTerms;
  }
  // A triggered stop limit order is a limit order. Its owner may not have heard of that yet, and
  // may name the type and stop price that it had.
  void take_trigger(ReplaceOrder& request) noexcept {
    const LiveOrder* const order = gateway_.matcher_->find_live(request.target_order_id);
    const bool triggered =
        order != nullptr && order->type == OrderType::kLimit && order->stop_price != 0;
    if (!triggered || request.stop_price.value != order->stop_price) return;
    request.type = OrderType::kLimit;
    request.stop_price = {};
  }
  // What of a request is known already.
  template <class Message>
  Asked look_up(const Message& message) noexcept {
    gateway_.request_symbol_ = ShortText(message.symbol_text);
    gateway_.request_names_ = {ShortText(message.cl_ord_id_text), {}};
    Asked asked;
    asked.locate = gateway_.symbols_->find(message.symbol_text);
    asked.order_id = number_of(message.cl_ord_id_text, message.cl_ord_id);
    asked.party = {index_, wire::OrderId::strategy(asked.order_id)};
    if constexpr (requires { message.orig_cl_ord_id; }) {
      gateway_.request_names_.orig = ShortText(message.orig_cl_ord_id_text);
      asked.target_order_id = number_of(message.orig_cl_ord_id_text, message.orig_cl_ord_id);
    }
    return asked;
  }
  // 0: the peer has not used it yet.
  std::uint64_t number_of(std::string_view text, std::uint64_t number) const noexcept {
    if (party_ == PartyRule::kClOrdId && is_our_id(text, number)) [[likely]]
      return number;
    return gateway_.ids_.find(index_, text);
  }
  // False: there are more accounts than a session may have.
  bool name_account(const fix::NewOrderSingle& message, Party& party) noexcept {
    const bool echoed = !message.account.empty();
    const std::string_view name = echoed ? message.account : message.party;
    if (name.empty() || party.strategy != 0) return true;
    party.strategy = accounts.intern(name, echoed);
    return party.strategy != 0;
  }

  // What the request brought about goes into the stores before its sequence number is used up: if
  // we die in between, the peer sends it again; the other way round it would wait for ever.
  void end(std::uint64_t request_id) noexcept {
    gateway_.trace_.stamp(trace::Hop::kSimMatched, request_id);
    (void)gateway_.flush();
  }

  OrderGateway& gateway_;
  std::uint8_t index_;
  PartyRule party_;
  bool cancel_on_disconnect_;
  bool lenient_replace_;
  std::uint32_t correct_every_;
  std::uint32_t misreport_every_;
  std::uint64_t fills_ = 0;
  bool gone_ = false;
  RateWindow rate_;
};

OrderGateway::OrderGateway(const GatewayOptions& options, trace::TraceWriter& trace)
    : trace_(trace),
      ledger_(options.ledger_rows, options.fees),
      ids_(options.order_ids_max,
           std::ranges::any_of(
               options.sessions, [](PartyRule rule) { return rule == PartyRule::kSession; },
               &GatewaySession::party)) {
  TICKPATH_CHECK(!options.sessions.empty() && options.sessions.size() <= 255, "1 to 255 sessions");
  for (const GatewaySession& session : options.sessions) {
    const auto index = static_cast<std::uint8_t>(peers_.size());
    peers_.push_back(std::make_unique<Peer>(
        *this, index, session, options.reports_pending_max,
        options.rate.rule == RateRule::kReject ? options.rate : RateLimit{}));
  }
  descriptors_.reserve(peers_.size());
}

OrderGateway::~OrderGateway() = default;

void OrderGateway::connect(Matcher& matcher, const Symbols& symbols) noexcept {
  matcher_ = &matcher;
  symbols_ = &symbols;
}

void OrderGateway::attach(std::uint32_t session, int socket) noexcept {
  if (!peers_[session]->session.attach(socket)) counters_.attach_refused.add();
}

bool OrderGateway::poll() noexcept {
  bool worked = false;
  for (const auto& peer : peers_) {
    worked |= peer->session.poll(*peer);
    cancel_for_the_gone();
  }
  return worked;
}

void OrderGateway::on_report(const Report& report) noexcept {
  ledger_.apply(report);
  const std::string_view known = symbols_->name(report.locate);
  Peer& peer = *peers_[report.party.session];
  const Outbox::Entry entry{report, known.empty() ? request_symbol_ : ShortText(known),
                            names_of(report),
                            report.reason == Reason::kTerms ? request_text_ : std::string_view{}};
  push(peer, entry);
  if (report.kind == ReportKind::kFill) push_changes(peer, entry);
}

// Neither changes what the peer holds: what it makes of them is seen in its own books.
void OrderGateway::push_changes(Peer& peer, Outbox::Entry entry) noexcept {
  const auto push_as = [&](fix::TradeChange change) {
    entry.change = change;
    push(peer, entry);
  };
  peer.count_fill();
  if (peer.is_corrected()) push_as(fix::TradeChange::kCorrected);
  if (peer.is_misreported()) push_as(fix::TradeChange::kCanceled);
}

// Whatever is refused is the request at hand; an order has the names that it was given.
Outbox::Names OrderGateway::names_of(const Report& report) const noexcept {
  if (is_cancel_reject(report) || report.order_id == 0) return request_names_;
  return {ids_.text(report.order_id), ids_.text(report.target_order_id)};
}

std::string_view OrderGateway::account(const Party& party) const noexcept {
  return peers_[party.session]->accounts.text(party.strategy);
}

// Called by the core in the middle of its work: nothing here may ask it for anything.
void OrderGateway::push(Peer& peer, const Outbox::Entry& entry) noexcept {
  if (peer.outbox.full()) [[unlikely]]
    make_room(peer);
  peer.outbox.push(entry);
}

// One event may bring about more reports than an outbox holds: that alone is no fault of the peer.
void OrderGateway::make_room(Peer& peer) noexcept {
  (void)flush(peer);
  if (!peer.outbox.full()) return;
  // The peer has not read for thousands of reports. Without a connection its reports go to the
  // store, from which it gets them when it comes back.
  counters_.disconnected.add();
  peer.session.disconnect();
  peer.mark_gone();
  (void)flush(peer);
}

// The core is at rest. The reports of this go to outboxes, too, of which one may overflow again.
void OrderGateway::cancel_for_the_gone() noexcept {
  while (std::exchange(gone_, false))
    [[unlikely]] for (const auto& peer : peers_) peer->cancel_if_gone();
}

bool OrderGateway::flush() noexcept {
  cancel_for_the_gone();
  bool worked = false;
  for (const auto& peer : peers_)
    if (!peer->outbox.empty()) worked |= flush(*peer);
  return worked;
}

bool OrderGateway::flush(Peer& peer) noexcept {
  bool worked = false;
  for (; !peer.outbox.empty() && send(peer, peer.outbox.front()); peer.outbox.pop()) worked = true;
  return worked;
}

bool OrderGateway::send(Peer& peer, const Outbox::Entry& entry) noexcept {
  const fix::SendStatus status = peer.answer(entry);
  if (!fix::accepted(status)) [[unlikely]] {
    counters_.backed_up.add();
    return false;
  }
  counters_.sent.add();
  if (status == fix::SendStatus::kStored) counters_.stored.add();
  return true;
}

void OrderGateway::logout(std::string_view reason) noexcept {
  for (const auto& peer : peers_)
    if (peer->session.logged_on())
      peer->session.logout(reason);
    else
      peer->session.disconnect();  // its Logon was refused, or is still to come: nobody to greet
}

void OrderGateway::keep_stores_writable() const noexcept {
  for (const auto& peer : peers_) peer->session.keep_store_writable();
}
bool OrderGateway::connected(std::size_t session) const noexcept {
  return peers_[session]->session.connected();
}
bool OrderGateway::logged_on(std::size_t session) const noexcept {
  return peers_[session]->session.logged_on();
}
std::uint64_t OrderGateway::reports_pending(std::size_t session) const noexcept {
  return peers_[session]->outbox.size();
}
const fix::SessionCounters& OrderGateway::session_counters(std::size_t session) const noexcept {
  return peers_[session]->session.counters();
}
bool OrderGateway::pop_event(std::size_t session, std::string& line) {
  return peers_[session]->session.pop_event(line);
}

std::span<const int> OrderGateway::descriptors() noexcept {
  descriptors_.clear();
  for (const auto& peer : peers_)
    if (peer->session.fd() >= 0) descriptors_.push_back(peer->session.fd());
  return descriptors_;
}

}  // namespace tickpath::sim

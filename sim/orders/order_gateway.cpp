#include "sim/orders/order_gateway.hpp"

#include <unistd.h>

#include "sim/orders/fix_messages.hpp"

namespace tickpath::sim {
namespace {

fix::SendStatus send_answer(fix::Session& session, const Outbox::Entry& entry) noexcept {
  if (const Report* report = std::get_if<Report>(&entry.answer)) [[likely]]
    return is_cancel_reject(*report) ? session.send(to_cancel_reject(*report))
                                     : session.send(to_execution_report(*report, entry.symbol));
  if (const Outbox::Status* status = std::get_if<Outbox::Status>(&entry.answer))
    return session.send(to_status_report(status->report, entry.symbol, status->request_id));
  return session.send(*std::get_if<fix::OrderMassCancelReport>(&entry.answer));
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
        cancel_on_disconnect_(options.cancel_on_disconnect),
        rate_(rate) {}

  void on_new_order(const fix::NewOrderSingle& message,
                    const fix::MessageInfo& info) noexcept override {
    const NewOrder request = to_request(message, index_, begin(message, info));
    if (!rate_.allow(info.received)) [[unlikely]]
      gateway_.matcher_->refuse(request, Reason::kRate);
    else if (gateway_.ledger_.reserve(request.party, request.locate)) [[likely]]
      gateway_.matcher_->enter(request);
    else
      gateway_.matcher_->refuse(request, Reason::kCapacity);
    end(message.cl_ord_id);
  }
  void on_cancel_request(const fix::OrderCancelRequest& message,
                         const fix::MessageInfo& info) noexcept override {
    const CancelOrder request = to_request(message, index_, begin(message, info));
    if (rate_.allow(info.received)) [[likely]]
      gateway_.matcher_->cancel(request);
    else
      gateway_.matcher_->refuse(request, Reason::kRate);
    end(message.cl_ord_id);
  }
  void on_replace_request(const fix::OrderCancelReplaceRequest& message,
                          const fix::MessageInfo& info) noexcept override {
    const ReplaceOrder request = to_request(message, index_, begin(message, info));
    if (rate_.allow(info.received)) [[likely]]
      gateway_.matcher_->replace(request);
    else
      gateway_.matcher_->refuse(request, Reason::kRate);
    end(message.cl_ord_id);
  }
  void on_status_request(const fix::OrderStatusRequest& message,
                         const fix::MessageInfo&) noexcept override {
    gateway_.counters_.status_requests.add();
    const StatusQuery query = to_request(message, index_, locate_of(message.symbol));
    gateway_.push(*this, Outbox::Status{gateway_.matcher_->status(query), message.request_id},
                  message.symbol);
    (void)gateway_.flush();
  }
  // The orders' own reports come first: only then it is known how many they are.
  void on_mass_cancel(const fix::OrderMassCancelRequest& message,
                      const fix::MessageInfo& info) noexcept override {
    gateway_.counters_.mass_cancels.add();
    MassCancel request = to_request(message, index_, begin(message, info));
    fix::OrderMassCancelReport answer = to_mass_cancel_report(message, request);
    if (answer.reason == fix::MassCancelRejectReason::kNone)
      answer.affected = gateway_.matcher_->cancel_all(request);
    answer.order_id = gateway_.counters_.mass_cancels.get();
    gateway_.push(*this, answer, message.symbol);
    end(message.cl_ord_id);
  }
  // Matching tells of each order; a peer that is gone finds the reports at its next logon.
  void on_logout() noexcept override {
    if (!cancel_on_disconnect_) return;
    const std::uint32_t canceled = gateway_.matcher_->cancel_all({.session = index_});
    gateway_.counters_.canceled_on_disconnect.add(canceled);
  }

  Outbox outbox;
  fix::Session session;

 private:
  // Returns the instrument's locate.
  template <class Message>
  std::uint32_t begin(const Message& message, const fix::MessageInfo& info) noexcept {
    gateway_.trace_.stamp_at(trace::Hop::kSimOrderRx, message.cl_ord_id, info.received);
    gateway_.request_symbol_ = message.symbol;
    return locate_of(message.symbol);
  }
  std::uint32_t locate_of(const fix::Symbol& symbol) const noexcept {
    return gateway_.symbols_->find(symbol.view());
  }

  // What the request brought about goes into the stores before its sequence number is used up: if
  // we die in between, the peer sends it again; the other way round it would wait for ever.
  void end(std::uint64_t request_id) noexcept {
    gateway_.trace_.stamp(trace::Hop::kSimMatched, request_id);
    (void)gateway_.flush();
  }

  OrderGateway& gateway_;
  std::uint8_t index_;
  bool cancel_on_disconnect_;
  RateWindow rate_;
};

OrderGateway::OrderGateway(const GatewayOptions& options, trace::TraceWriter& trace)
    : trace_(trace), ledger_(options.ledger_rows) {
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
  for (const auto& peer : peers_) worked |= peer->session.poll(*peer);
  return worked;
}

void OrderGateway::on_report(const Report& report) noexcept {
  ledger_.apply(report);
  const std::string_view known = symbols_->name(report.locate);
  push(*peers_[report.party.session], report,
       known.empty() ? request_symbol_ : fix::Symbol::from(known));
}

void OrderGateway::push(Peer& peer, const Outbox::Answer& answer,
                        const fix::Symbol& symbol) noexcept {
  if (peer.outbox.full()) [[unlikely]] {
    // The peer has not read for thousands of reports. Without a connection its reports go to the
    // store, from which it gets them when it comes back.
    counters_.disconnected.add();
    peer.session.disconnect();
    (void)flush(peer);
  }
  peer.outbox.push(answer, symbol);
}

bool OrderGateway::flush() noexcept {
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
  const fix::SendStatus status = send_answer(peer.session, entry);
  if (!fix::accepted(status)) [[unlikely]] {
    counters_.backed_up.add();
    return false;
  }
  counters_.reports_sent.add();
  if (status == fix::SendStatus::kStored) counters_.reports_stored.add();
  return true;
}

void OrderGateway::logout(std::string_view reason) noexcept {
  for (const auto& peer : peers_) peer->session.logout(reason);
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

#include "sim/orders/order_gateway.hpp"

#include <unistd.h>

#include "sim/orders/fix_messages.hpp"

namespace tickpath::sim {

// One session, and what its requests do.
class OrderGateway::Peer final : public fix::Handler {
 public:
  Peer(OrderGateway& gateway, std::uint8_t index, const fix::SessionOptions& options,
       std::uint32_t pending_max)
      : outbox(pending_max), session(options), gateway_(gateway), index_(index) {}

  void on_new_order(const fix::NewOrderSingle& message,
                    const fix::MessageInfo& info) noexcept override {
    const NewOrder request = to_request(message, index_, begin(message, info));
    if (gateway_.ledger_.reserve(request.party, request.locate)) [[likely]]
      gateway_.matcher_->enter(request);
    else
      gateway_.matcher_->refuse(request, Reason::kCapacity);
    end(message.cl_ord_id);
  }
  void on_cancel_request(const fix::OrderCancelRequest& message,
                         const fix::MessageInfo& info) noexcept override {
    gateway_.matcher_->cancel(to_request(message, index_, begin(message, info)));
    end(message.cl_ord_id);
  }
  void on_replace_request(const fix::OrderCancelReplaceRequest& message,
                          const fix::MessageInfo& info) noexcept override {
    gateway_.matcher_->replace(to_request(message, index_, begin(message, info)));
    end(message.cl_ord_id);
  }

  Outbox outbox;
  fix::Session session;

 private:
  // Returns the instrument's locate.
  template <class Message>
  std::uint32_t begin(const Message& message, const fix::MessageInfo& info) noexcept {
    gateway_.trace_.stamp_at(trace::Hop::kSimOrderRx, message.cl_ord_id, info.received);
    gateway_.request_symbol_ = message.symbol;
    return gateway_.symbols_->find(message.symbol.view());
  }

  // What the request brought about goes into the stores before its sequence number is used up: if
  // we die in between, the peer sends it again; the other way round it would wait for ever.
  void end(std::uint64_t request_id) noexcept {
    gateway_.trace_.stamp(trace::Hop::kSimMatched, request_id);
    (void)gateway_.flush();
  }

  OrderGateway& gateway_;
  std::uint8_t index_;
};

OrderGateway::OrderGateway(const GatewayOptions& options, trace::TraceWriter& trace)
    : trace_(trace), ledger_(options.ledger_rows) {
  TICKPATH_CHECK(!options.sessions.empty() && options.sessions.size() <= 255, "1 to 255 sessions");
  for (const fix::SessionOptions& session : options.sessions) {
    const auto index = static_cast<std::uint8_t>(peers_.size());
    peers_.push_back(std::make_unique<Peer>(*this, index, session, options.reports_pending_max));
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
  Peer& peer = *peers_[report.party.session];
  if (peer.outbox.full()) [[unlikely]] {
    // The peer has not read for thousands of reports. Without a connection its reports go to the
    // store, from which it gets them when it comes back.
    counters_.disconnected.add();
    peer.session.disconnect();
    (void)flush(peer);
  }
  const std::string_view known = symbols_->name(report.locate);
  peer.outbox.push(report, known.empty() ? request_symbol_ : fix::Symbol::from(known));
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
  const fix::SendStatus status =
      is_cancel_reject(entry.report)
          ? peer.session.send(to_cancel_reject(entry.report))
          : peer.session.send(to_execution_report(entry.report, entry.symbol));
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

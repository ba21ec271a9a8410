// The exchange's order entry: FIX 4.2 and 4.4 sessions in front of the matching core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/fix/session.hpp"
#include "common/trace/stamp.hpp"
#include "sim/latency/rate_window.hpp"
#include "sim/market/symbols.hpp"
#include "sim/matching/matcher.hpp"
#include "sim/orders/cl_ord_ids.hpp"
#include "sim/orders/ledger.hpp"
#include "sim/orders/outbox.hpp"

namespace tickpath::sim {

struct GatewaySession {
  fix::SessionOptions fix;            // an acceptor
  bool cancel_on_disconnect = false;  // its orders are cancelled when it is logged out or cut off
  PartyRule party = PartyRule::kSession;
  bool lenient_replace = false;  // a replacement may leave out ExecInst and MaxFloor
  // What a peer has to cope with, after every Nth fill; 0: never. The fill is corrected, to what it
  // was; a fill that was never reported is canceled.
  std::uint32_t correct_every = 0;
  std::uint32_t misreport_every = 0;
};

struct GatewayOptions {
  std::vector<GatewaySession> sessions;          // 1 to 255
  std::uint32_t reports_pending_max = 1u << 14;  // a session; a power of two
  std::uint32_t ledger_rows = 1u << 14;
  std::uint32_t order_ids_max = 1u << 20;  // of others than oeg; as the matcher's
  FeeSchedule fees;
  RateLimit rate;  // of new orders, cancels and replacements of each session; rule kReject only
};

// Written by the datapath thread; any thread reads.
struct GatewayCounters {
  TICKPATH_COUNTERS(
      sent,            // with a sequence number: sent, queued, or stored for a later logon
      stored,          // of those, while the session was down
      backed_up,       // sends that had to wait for a peer that does not read
      disconnected,    // peers cut off because their reports filled the outbox
      attach_refused,  // connections to a session that has one
      status_requests,
      possible_resends,  // requests with PossResend that had been carried out, or refused
      mass_status_requests, mass_cancels,
      canceled_on_disconnect,  // orders
      expired_at_day_end);     // likewise
};

class OrderGateway final : public ReportSink {
 public:
  // Opens the sessions' stores. Throws Error and SystemError.
  OrderGateway(const GatewayOptions& options, trace::TraceWriter& trace);
  ~OrderGateway() override;
  // Before anything else: the core reports to this gateway, and this gateway asks the core.
  void connect(Matcher& matcher, const Symbols& symbols) noexcept;

  // ------------------------------------------------------------------ datapath thread
  // Takes over the connected socket of a session.
  void attach(std::uint32_t session, int socket) noexcept;
  // Reads requests, matches and answers them one by one. True if there was anything.
  bool poll() noexcept;
  // Sends what matching has reported since, and what a peer could not take; not while the core is
  // at work. True if there was anything.
  bool flush() noexcept;
  void logout(std::string_view reason) noexcept;
  void on_report(const Report& report) noexcept override;
  const Ledger& ledger() const noexcept { return ledger_; }
  // What a party calls itself: an Account or PartyID; empty: a strategy, or the session.
  std::string_view account(const Party& party) const noexcept;

  // ------------------------------------------------------------------ any thread
  std::size_t sessions() const noexcept { return peers_.size(); }
  // Control thread, every tick: see fix::Session.
  void keep_stores_writable() const noexcept;
  bool connected(std::size_t session) const noexcept;
  bool logged_on(std::size_t session) const noexcept;
  std::uint64_t reports_pending(std::size_t session) const noexcept;
  const fix::SessionCounters& session_counters(std::size_t session) const noexcept;
  const GatewayCounters& counters() const noexcept { return counters_; }

  // ------------------------------------------------------------------ control thread
  bool pop_event(std::size_t session, std::string& line);
  // Sockets of the sessions that have one, for a thread that sleeps. Owning thread.
  std::span<const int> descriptors() noexcept;

 private:
  class Peer;

  void push(Peer& peer, const Outbox::Entry& entry) noexcept;
  void push_changes(Peer& peer, Outbox::Entry entry) noexcept;
  Outbox::Names names_of(const Report& report) const noexcept;
  void make_room(Peer& peer) noexcept;
  void cancel_for_the_gone() noexcept;
  bool flush(Peer& peer) noexcept;
  bool send(Peer& peer, const Outbox::Entry& entry) noexcept;

  trace::TraceWriter& trace_;
  Matcher* matcher_ = nullptr;
  const Symbols* symbols_ = nullptr;
  Ledger ledger_;
  ClOrdIds ids_;
  // Symbol and names of the request at hand: a reject of what is unknown repeats them.
  ShortText request_symbol_;
  Outbox::Names request_names_;
  std::string_view request_text_;  // why its terms are not supported
  std::vector<std::unique_ptr<Peer>> peers_;
  bool gone_ = false;  // a peer whose orders are to be cancelled, as soon as the core is at rest
  std::vector<int> descriptors_;
  GatewayCounters counters_;
};

}  // namespace tickpath::sim

// Everything between risk and one oeg on one connection: the drop copy in, the control block out,
// the table of positions READ now and then, oeg's heartbeat watched.
//
// In a pair (gateways.hpp) events and positions count from the oeg that leads. It says so on its
// drop copy; a higher epoch than any before ends the other one, and is like a reconnect: rows
// become whole again by a pass over its table. Control blocks go to both at all times.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/link/clock_exchange.hpp"
#include "common/link/control_block.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/reconnect.hpp"
#include "common/link/remote_table.hpp"
#include "common/link/subscriber.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/position.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

struct GatewayLinkOptions {
  std::string endpoint;  // of oeg
  std::string name;      // this program's, as oeg shows it
  link::RingMode mode = link::RingMode::kPoll;
  std::uint32_t ring_slots = 1u << 14;
  std::uint64_t reconcile_interval_ns = 500'000'000;
  link::HeartbeatOptions heartbeat;       // of oeg, as judged here
  rdma::Grant own_heartbeat{nullptr, 0};  // for oeg to watch; without a region: none
  clock::OffsetSink* offsets = nullptr;   // notified of oeg's clock; nullptr: not measured
  std::uint32_t clock_stream = 2;         // of those entries; those of mdh have another
  std::uint32_t venue = 0;                // of several, as the monitor counts them
  bool several_venues = false;            // then no other risk stands by for this one
};

class GatewayLink;

// What the two links of a pair share. Datapath thread.
struct PairState {
  GatewayLink* followed = nullptr;  // whose oeg leads, or did when it was last heard of
  std::uint64_t epoch = 0;          // in which it does: the highest that was told
  bool watched = false;             // a leader's positions were taken over, once
  // The newest kill switch that an oeg is known to hold. One with an older block was away when it
  // changed, and what it holds is not news.
  std::uint64_t kill_version_held = 0;
};

class GatewayLink {
 public:
  using Subscriber = link::Subscriber<wire::OrderEvent>;

  // Control thread. channel: of the datapath thread that parks, or nullptr.
  GatewayLink(rdma::Device& device, rdma::CompletionChannel* channel,
              const GatewayLinkOptions& options, Monitor& monitor);
  // Before the datapath starts: this link is one of two. Both must outlive it.
  void join(PairState& pair, GatewayLink& other) noexcept;

  // ---- control thread, each tick
  bool maintain(std::uint64_t now_ns);  // true: connected just now
  std::string not_ready_reason() const;
  // The last attempt was refused, because oeg has another risk.
  bool held() const noexcept { return held_; }
  // Another risk has been at this oeg of late, and the oeg leads: that risk is the active one.
  bool held_by_active(std::uint64_t now_ns) const noexcept {
    return held_leader_ && now_ns < held_at_ns_ + kHeldNs;
  }
  bool held_by_leader() const noexcept { return held_leader_; }
  // An attempt is under way.
  bool connecting() const noexcept { return subscriber_.connecting(); }
  // The datapath ends the connection soon, so that another risk may have it.
  void let_go() noexcept { let_go_.store(true, std::memory_order_relaxed); }
  // The name of the oeg that was connected last, at most 15 letters; empty: none yet.
  const std::string& peer_name() const noexcept { return peer_name_; }

  // ---- datapath thread

  // Takes events, then writes the block if it changed or is due, then reconciles. True: any work.
  bool turn(std::uint64_t now_ns) noexcept;
  // Ends the connection; another attempt is made as after any.
  void quit() noexcept { subscriber_.quit(*this); }
  void arm() noexcept { subscriber_.arm(); }
  bool may_sleep() const noexcept { return subscriber_.may_sleep(); }
  // The last call: tells oeg that we leave of our own will.
  void close() noexcept { subscriber_.close(); }

  // ---- any thread
  const link::SubscriberCounters& events() const noexcept { return subscriber_.counters(); }
  const Counter& alive() const noexcept { return alive_; }
  const link::Losses& losses() const noexcept { return losses_; }  // of oeg
  const Counter& blocks_written() const noexcept { return blocks_written_; }
  // The version of the kill switch that oeg's memory has, as the transport confirms; 0: none of
  // this connection.
  const Counter& kill_version() const noexcept { return kill_version_; }
  // 1 once a block was written on this connection: oeg's kill switch was taken over before.
  const Counter& holds() const noexcept { return holds_; }
  const Counter& passes() const noexcept { return passes_; }
  const std::string& endpoint() const noexcept { return options_.endpoint; }
  const Counter& connected() const noexcept { return connected_; }
  // In a pair: 1 while this connection's oeg leads, the epoch in which it said so last, and events
  // of an oeg that did not lead (any more), which were not applied.
  const Counter& leads() const noexcept { return leads_; }
  const Counter& epoch() const noexcept { return epoch_; }
  const Counter& superseded() const noexcept { return superseded_; }

  // What the subscriber calls; public for it alone.
  void on_update(const wire::OrderEvent& event, std::uint64_t sequence) noexcept;
  void on_overrun(std::uint64_t lost) noexcept;
  void on_link(link::LinkEvent event) noexcept;

 private:
  // What an oeg has said of another risk holds so long: a risk asks anew many times meanwhile.
  static constexpr std::uint64_t kHeldNs = 500'000'000;

  bool attempt();
  void note_refusal(const std::string& text) noexcept;
  void take_name(std::span<const std::byte> answer);
  bool counts() const noexcept { return pair_ == nullptr || leads_.get() != 0; }
  void on_leads(std::uint64_t epoch) noexcept;
  void set_alive(bool alive) noexcept;
  bool watches() noexcept;
  void write_block(std::uint64_t now_ns) noexcept;
  bool take_over_kills() noexcept;
  bool found_is_known() noexcept;
  std::uint64_t found_version() const noexcept;
  void adopt_found() noexcept;
  void confirm_block() noexcept;
  void reconcile(std::uint64_t now_ns) noexcept;
  void abandon_pass() noexcept;

  GatewayLinkOptions options_;
  Monitor& monitor_;
  Subscriber subscriber_;
  link::ControlBlockWriter<wire::ControlBlock> block_;
  link::RemoteTable<wire::NamedPosition> positions_;
  link::HeartbeatMonitor heartbeat_;
  link::ClockProbe clock_;
  link::Losses losses_;
  link::Reconnect reconnect_;
  std::string peer_name_;     // control thread
  bool held_ = false;         // likewise
  bool held_leader_ = false;  // likewise
  std::uint64_t held_at_ns_ = 0;
  std::uint64_t attempt_ns_ = 0;
  std::atomic<bool> let_go_{false};

  PairState* pair_ = nullptr;  // nullptr: there is no standby
  GatewayLink* other_ = nullptr;
  std::uint64_t now_ns_ = 0;
  bool connected_before_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t version_written_ = 0;  // of the monitor's block
  std::uint64_t version_confirmed_ = 0;
  std::uint64_t kill_version_written_ = 0;
  bool kills_taken_over_ = false;  // on this connection
  std::uint64_t next_refresh_ns_ = 0;
  std::uint64_t next_pass_ns_ = 0;
  std::size_t next_row_ = 0;
  bool reading_ = false;
  bool passing_ = false;
  bool pass_complete_ = false;  // no row of the pass that is under way is left behind
  bool reconciled_ = false;     // a pass since the last connect or overrun has made every row whole
  bool watching_ = false;       // since the last connect we held what this oeg acts on, once
  Counter connected_;
  Counter leads_;
  Counter epoch_;
  Counter superseded_;
  Counter alive_;
  Counter blocks_written_;
  Counter kill_version_;
  Counter holds_;
  Counter passes_;  // over oeg's whole table
};

}  // namespace tickpath::risk

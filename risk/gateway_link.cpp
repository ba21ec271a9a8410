#include "risk/gateway_link.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "common/wire/hello.hpp"
#include "common/wire/names.hpp"
#include "common/wire/refusals.hpp"

namespace tickpath::risk {
namespace {

link::SubscriberOptions subscriber_options(const GatewayLinkOptions& options) {
  return {.name = options.name + ".order_events",
          .mode = options.mode,
          .depth = options.ring_slots,
          .peer_role = std::string(wire::name(wire::Role::kOeg))};
}

// Between two attempts to connect: usually, and while another risk is there.
constexpr std::uint64_t kRetryNs = 100'000'000;
constexpr std::uint64_t kStandByRetryNs = 30'000'000;

// Between passes after a connect or an overrun, until one has made every row whole.
constexpr std::uint64_t kUnsettledIntervalNs = 2'000'000;

}  // namespace

GatewayLink::GatewayLink(rdma::Device& device, rdma::CompletionChannel* channel,
                         const GatewayLinkOptions& options, Monitor& monitor)
    : options_(options),
      monitor_(monitor),
      subscriber_(device, channel, subscriber_options(options)),
      block_(device, options.name + ".control_block"),
      positions_(device, options.name + ".positions"),
      heartbeat_(device, options.heartbeat, options.name + ".oeg_heartbeat"),
      clock_(device, {.sink = options.offsets, .stream = options.clock_stream},
             options.name + ".oeg_clock") {}

void GatewayLink::join(PairState& pair, GatewayLink& other) noexcept {
  pair_ = &pair;
  other_ = &other;
}

bool GatewayLink::maintain(std::uint64_t now_ns) {
  subscriber_.collect();
  attempt_ns_ = now_ns;
  return reconnect_.step(now_ns, [this] { return attempt(); });
}

bool GatewayLink::attempt() {
  try {
    if (!subscriber_.connecting()) {
      const wire::Hello hello =
          wire::make_hello(wire::Role::kRisk, wire::Service::kDropCopy, options_.name);
      const std::size_t grants = options_.own_heartbeat.region == nullptr ? 0 : 1;
      subscriber_.start_connect(options_.endpoint, link::bytes_of(hello),
                                std::span(&options_.own_heartbeat, grants));
    }
    const std::optional<std::vector<std::byte>> answer = subscriber_.poll_connect();
    if (!answer) return false;
    take_name(*answer);
    note_refusal({});
    let_go_.store(false, std::memory_order_relaxed);
    return true;
  } catch (const rdma::SetupError& error) {
    note_refusal(error.what());
    throw;
  }
}

// Whoever stands by asks often: the pause is a part of what its takeover takes.
void GatewayLink::note_refusal(const std::string& text) noexcept {
  const std::size_t at = text.find(wire::kRiskHeld);
  held_ = at != std::string::npos;
  held_leader_ = held_ && text.compare(at + wire::kRiskHeld.size(), wire::kOfTheLeader.size(),
                                       wire::kOfTheLeader) == 0;
  held_at_ns_ = attempt_ns_;
  const bool soon = held_ || text.find(wire::kRiskEnds) != std::string::npos;
  reconnect_.set_interval(soon ? kStandByRetryNs : kRetryNs);
}

void GatewayLink::take_name(std::span<const std::byte> answer) {
  wire::Hello hello;
  if (answer.size() != sizeof(hello)) return;
  std::memcpy(&hello, answer.data(), sizeof(hello));
  peer_name_ = wire::name_of(hello);
}

std::string GatewayLink::not_ready_reason() const {
  const std::string waiting = "waiting for oeg at " + options_.endpoint;
  if (alive_.get() == 0)
    return reconnect_.error().empty() ? waiting : waiting + ": " + reconnect_.error();
  return blocks_written_.get() == 0
             ? "oeg's positions are being taken over; its limits are written then"
             : std::string();
}

bool GatewayLink::turn(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (let_go_.load(std::memory_order_relaxed)) [[unlikely]] {
    let_go_.store(false, std::memory_order_relaxed);
    subscriber_.quit(*this);
  }
  const std::size_t events = subscriber_.poll(*this);
  if (subscriber_.connection() == nullptr) return events != 0;
  set_alive(heartbeat_.evaluate(now_ns) != link::Liveness::kDead);
  write_block(now_ns);
  reconcile(now_ns);
  if (events == 0 && clock_.step(now_ns)) subscriber_.poll_sinks();
  return events != 0;
}

void GatewayLink::on_update(const wire::OrderEvent& event, std::uint64_t /*sequence*/) noexcept {
  if (event.event == wire::EventKind::kLeads) [[unlikely]]
    return on_leads(event.order_id);
  if (!counts()) [[unlikely]]
    return superseded_.add();
  monitor_.on_event(event, options_.venue);
}

void GatewayLink::on_leads(std::uint64_t epoch) noexcept {
  if (pair_ == nullptr) return;
  epoch_.set(epoch);
  if (leads_.get() != 0 && epoch == pair_->epoch) return;  // said once more
  // An oeg that does not know yet that it leads no more. An epoch has one leader.
  if (epoch < pair_->epoch || (epoch == pair_->epoch && other_->leads_.get() != 0))
    return superseded_.add();
  // What happened between two leaders was not seen.
  if (pair_->followed != nullptr) monitor_.on_overrun(options_.venue);
  other_->leads_.set(0);
  leads_.set(1);
  *pair_ = {.followed = this,
            .epoch = epoch,
            .watched = pair_->watched,
            .kill_version_held = pair_->kill_version_held};
  reconciled_ = pass_complete_ = false;
  next_pass_ns_ = 0;
}

void GatewayLink::on_overrun(std::uint64_t /*lost*/) noexcept {
  if (!counts()) return;
  monitor_.on_overrun(options_.venue);
  reconciled_ = pass_complete_ = false;
  next_pass_ns_ = 0;  // the sooner oeg's table is read, the sooner we are whole again
}

void GatewayLink::on_link(link::LinkEvent event) noexcept {
  if (event != link::LinkEvent::kConnected) {
    block_.detach();
    positions_.detach();
    heartbeat_.detach(event == link::LinkEvent::kLost);
    clock_.detach();
    set_alive(false);
    connected_.set(0);
    leads_.set(0);
    reconnect_.mark_down();
    return;
  }
  // What happened between two connections was not seen. One of a pair has to say first that it
  // leads.
  if (connected_before_ && pair_ == nullptr) monitor_.on_overrun(options_.venue);
  connected_before_ = true;
  reading_ = passing_ = reconciled_ = watching_ = false;
  next_pass_ns_ = 0;
  version_written_ = version_confirmed_ = 0;
  kills_taken_over_ = false;
  holds_.set(0);
  kill_version_.set(0);
  link::Connection* const connection = subscriber_.connection();
  if (connection == nullptr) return;
  const auto extras = connection->extras();
  if (extras.size() <= wire::DropCopyGrants::kHeartbeat) return;
  block_.attach(*connection, extras[wire::DropCopyGrants::kControlBlock]);
  positions_.attach(*connection, extras[wire::DropCopyGrants::kPositions]);
  heartbeat_.attach(*connection, extras[wire::DropCopyGrants::kHeartbeat], now_ns_);
  if (extras.size() > wire::DropCopyGrants::kClock)
    clock_.attach(*connection, extras.subspan(wire::DropCopyGrants::kClock), now_ns_);
  connected_.set(1);
}

void GatewayLink::set_alive(bool alive) noexcept {
  if (alive == (alive_.get() != 0)) return;
  alive_.set(alive ? 1 : 0);
  if (alive) return;
  losses_.note();
  if (counts()) monitor_.on_away(options_.venue);
}

// At once when something changed; else as the sign of life that oeg waits for. Nothing until we
// hold what oeg holds: whoever does not know the positions does not watch them.
void GatewayLink::write_block(std::uint64_t now_ns) noexcept {
  if (!watches() || !take_over_kills()) return;
  confirm_block();
  const std::uint64_t version = monitor_.block_version();
  if (version == version_written_ && now_ns < next_refresh_ns_) return;
  wire::ControlBlock block = monitor_.block();
  block.generation = ++generation_;
  block.kill = monitor_.kill_to_tell();
  if (block_.write(block) != rdma::PostStatus::kOk) {
    subscriber_.poll_sinks();  // full: make room, try in the next turn
    return;
  }
  version_written_ = version;
  kill_version_written_ = block.kill_version;
  // Half of what was promised: a turn that comes late must not look like death.
  next_refresh_ns_ = now_ns + std::uint64_t{wire::kRiskRefreshMs} * 1'000'000 / 2;
  blocks_written_.add();
  holds_.set(1);
}

// A standby acts on what its leader has sent it: who watches that one watches both. It has its
// block before it leads.
bool GatewayLink::watches() noexcept {
  if (!watching_ && pair_ != nullptr) watching_ = pair_->watched && pair_->followed != this;
  return watching_;
}

// oeg may hold kills that nobody here knows: of a risk whose state file is lost, or of another
// risk. They are read before the first write, which would lift them.
bool GatewayLink::take_over_kills() noexcept {
  if (kills_taken_over_) return true;
  if (!found_is_known() || (other_ != nullptr && !other_->found_is_known())) return false;
  // In a pair the newer one first, so that the older one is known as such.
  if (other_ != nullptr && other_->found_version() > found_version()) other_->adopt_found();
  adopt_found();
  return true;
}

// Also of one that is not there: it holds nothing up.
bool GatewayLink::found_is_known() noexcept {
  if (connected_.get() == 0 || kills_taken_over_ || block_.ready()) return true;
  subscriber_.poll_sinks();  // it waits for a READ of its own
  return false;
}

// 0: nothing that is still to be taken over.
std::uint64_t GatewayLink::found_version() const noexcept {
  wire::ControlBlock found;
  const bool waits = connected_.get() != 0 && !kills_taken_over_ && block_.found(found);
  return waits ? found.kill_version : 0;
}

void GatewayLink::adopt_found() noexcept {
  wire::ControlBlock found{};
  if (!block_.found(found)) found = {};
  if (pair_ == nullptr || found.kill_version >= pair_->kill_version_held) {
    monitor_.adopt_kills(found, options_.venue);
    if (pair_ != nullptr) pair_->kill_version_held = found.kill_version;
  }
  kills_taken_over_ = true;
}

// A WRITE that has completed is in oeg's memory.
void GatewayLink::confirm_block() noexcept {
  if (version_confirmed_ == version_written_) return;
  subscriber_.poll_sinks();
  if (block_.in_flight() || !block_.ready()) return;
  version_confirmed_ = version_written_;
  kill_version_.set(kill_version_written_);
  if (pair_ != nullptr)
    pair_->kill_version_held = std::max(pair_->kill_version_held, kill_version_written_);
  const bool both = other_ == nullptr || other_->version_confirmed_ == version_confirmed_;
  if (both && monitor_.block_version() == version_confirmed_)
    monitor_.block_confirmed(options_.venue);
}

void GatewayLink::reconcile(std::uint64_t now_ns) noexcept {
  if (!counts()) return abandon_pass();
  if (!passing_) {
    if (now_ns < next_pass_ns_ || subscriber_.state() != link::SubscriberState::kLive) return;
    passing_ = true;
    next_row_ = 0;
    pass_complete_ = true;
  }
  if (!reading_) {
    reading_ = positions_.start(next_row_);
    if (!reading_ && next_row_ < positions_.rows()) return;  // no room to post: the next turn
  }
  wire::NamedPosition held;
  link::RowStatus status = link::RowStatus::kEmpty;
  if (reading_) {
    subscriber_.poll_sinks();
    status = positions_.finish(held);
    if (status == link::RowStatus::kPending) return;
    reading_ = false;
  }
  if (status == link::RowStatus::kOk) {
    ++next_row_;
    pass_complete_ &= monitor_.on_remote_row(held.row, held.symbol, options_.venue);
    return;
  }
  if (status == link::RowStatus::kTorn) return;  // the same row again
  // Empty: the end of the table. Failed: the connection is going.
  passing_ = false;
  if (status == link::RowStatus::kEmpty) {
    passes_.add();
    if (pass_complete_) {
      reconciled_ = watching_ = true;
      // Where it hangs, nobody knows what the exchange has done since.
      if (alive_.get() != 0) monitor_.on_whole(options_.venue);
      if (pair_ != nullptr) pair_->watched = true;
    }
  }
  next_pass_ns_ =
      now_ns + (reconciled_ ? options_.reconcile_interval_ns
                            : std::min(kUnsettledIntervalNs, options_.reconcile_interval_ns));
}

// The oeg leads no more: a row that is still on its way is none to take over later.
void GatewayLink::abandon_pass() noexcept {
  passing_ = false;
  if (!reading_) return;
  subscriber_.poll_sinks();
  wire::NamedPosition held;
  reading_ = positions_.finish(held) == link::RowStatus::kPending;
}

}  // namespace tickpath::risk

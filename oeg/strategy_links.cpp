#include "oeg/strategy_links.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "oeg/notes.hpp"
#include "oeg/steps.hpp"

namespace tickpath::oeg {
namespace {

// A bound of one turn, so that no source starves another.
constexpr std::size_t kRequestsPerTurn = 16;

}  // namespace

StrategyLinks::StrategyLinks(const OegConfig& config, rdma::Device& device,
                             rdma::CompletionChannel* channel, Gateway& gateway, Pair* pair,
                             log::HotLog& hot_log)
    : config_(config),
      device_(device),
      hot_log_(hot_log),
      gateway_(gateway),
      pair_(pair),
      gate_(gateway, pair == nullptr ? nullptr : &pair->log()),
      channels_(device, channel, {.name = "oeg.orders", .depth = config.channel_depth}) {}

bool StrategyLinks::poll(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  return channels_.poll(*this, kRequestsPerTurn) != 0;
}

void StrategyLinks::admit(bool logged_on) noexcept {
  if (hold_until_ns_ == 0) [[likely]]
    return;
  if (!logged_on && now_ns_ < hold_until_ns_) return;
  hold_until_ns_ = 0;
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot)
    if (!(clients_[slot] == link::ClientId{})) connect_slot(slot);
}

void StrategyLinks::connect_slot(std::size_t slot) noexcept {
  gateway_.on_strategy_connected(slot);
  gateway_.begin_positions(slot);
}

// ------------------------------------------------------------------------------------- messages

void StrategyLinks::on_message(link::ClientId, std::uint64_t tag,
                               const wire::OrderRequest& request) noexcept {
  // What a strategy still asked for that was cut off, it asked for without knowing what it holds.
  if (cut_[static_cast<std::size_t>(tag)] || !leads_) [[unlikely]]
    return;
  gateway_.on_request(static_cast<std::size_t>(tag), request);
}

void StrategyLinks::on_connected(std::size_t slot, link::ClientId client) noexcept {
  clients_[slot] = client;
  if (admits()) connect_slot(slot);
  attach_watch(slot);
  const std::uint8_t id = gateway_.slots()[slot].id;
  hot_log_.note(Note::kStrategyUp, id);
}

void StrategyLinks::on_client(link::ClientId client, std::uint64_t tag,
                              link::LinkEvent event) noexcept {
  const auto slot = static_cast<std::size_t>(tag);
  if (event == link::LinkEvent::kConnected) return on_connected(slot, client);
  const std::uint8_t id = gateway_.slots()[slot].id;
  clients_[slot] = {};
  if (event == link::LinkEvent::kLost && !silent_[slot]) losses_.note();
  silent_[slot] = false;
  if (watches_[slot] != nullptr) watches_[slot]->detach(event == link::LinkEvent::kLost);
  if (!std::exchange(cut_[slot], false))
    hot_log_.note(event == link::LinkEvent::kClosed ? Note::kStrategyEnded : Note::kStrategyDown,
                  id, gateway_.ledger().open_orders(id));
  if (admits())
    gateway_.on_strategy_lost(slot);
  else
    gateway_.slots().release(slot);
}

bool StrategyLinks::send(std::size_t slot, const wire::OrderReport& report) noexcept {
  if (!gate_.is_open() || channels_.send(clients_[slot], report) != link::SendStatus::kOk)
    return false;
  at(Step::kReported);
  return true;
}

void StrategyLinks::drop(std::size_t slot) noexcept {
  const std::uint8_t id = gateway_.slots()[slot].id;
  hot_log_.note(Note::kStrategyCutOff, id, config_.gateway.unread_max_ns / 1'000'000,
                gateway_.ledger().open_orders(id));
  cut_[slot] = true;
  channels_.close(clients_[slot]);
}

// --------------------------------------------------------------------------- the venue's own words

void StrategyLinks::on_text(std::uint64_t cl_ord_id, std::string_view text) noexcept {
  VenueText said;
  said.set(cl_ord_id, text);
  if (!texts_.try_push(said)) texts_lost_.add();
  send_text(said);
}

// Goes to the strategy whose order it is, if that takes it now. Words for a log are not worth a
// queue, and the report itself follows.
void StrategyLinks::send_text(const VenueText& said) noexcept {
  const std::uint8_t strategy = wire::OrderId::strategy(said.cl_ord_id);
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot) {
    const StrategySlot& to = gateway_.slots()[slot];
    if (to.id != strategy || !to.connected || to.lead_untold) continue;
    for (std::string_view left = said.view(); !left.empty();) {
      wire::TextReport part{};
      const std::string_view now = left.substr(0, wire::TextReport::kTextBytes);
      left.remove_prefix(now.size());
      part.order_id = said.cl_ord_id;
      std::memcpy(part.text, now.data(), now.size());
      part.kind = wire::ReportKind::kText;
      part.length = static_cast<std::uint8_t>(now.size());
      part.last = left.empty() ? 1 : 0;
      part.strategy_id = strategy;
      wire::OrderReport report;
      std::memcpy(&report, &part, sizeof(report));
      if (!gate_.is_open() || channels_.send(clients_[slot], report) != link::SendStatus::kOk)
        return;
    }
  }
}

// ------------------------------------------------------------------------------- signs of life

void StrategyLinks::prepare_watch(std::size_t slot) {
  if (watches_[slot] != nullptr) return;
  watches_[slot] = std::make_unique<link::HeartbeatMonitor>(
      device_, config_.heartbeat.options(), "oeg.strategy_heartbeat." + std::to_string(slot));
}

void StrategyLinks::attach_watch(std::size_t slot) noexcept {
  link::Connection* const connection = channels_.connection(clients_[slot]);
  if (connection == nullptr || watches_[slot] == nullptr) return;
  const auto extras = connection->extras();
  if (extras.size() > wire::OegClientGrants::kHeartbeat)
    watches_[slot]->attach(*connection, extras[wire::OegClientGrants::kHeartbeat], now_ns_);
}

void StrategyLinks::watch(std::uint64_t now_ns) noexcept {
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot) {
    if (clients_[slot] == link::ClientId{} || watches_[slot] == nullptr) continue;
    link::HeartbeatMonitor& watch = *watches_[slot];
    const bool silent = watch.evaluate(now_ns) == link::Liveness::kDead;
    if (silent == silent_[slot]) continue;
    silent_[slot] = silent;
    const std::uint8_t id = gateway_.slots()[slot].id;
    if (!silent) {
      hot_log_.note(Note::kStrategyBack, id);
      continue;
    }
    hot_log_.note(Note::kStrategySilent, id, watch.score().silent_ns() / 1'000'000,
                  gateway_.ledger().open_orders(id));
    losses_.note();
    gateway_.orphan_orders(slot);
  }
}

}  // namespace tickpath::oeg

#include "risk/gateways.hpp"

#include <algorithm>

#include "common/log/log.hpp"

namespace tickpath::risk {
namespace {

GatewayLinkOptions standby_options(const GatewayLinkOptions& first, const std::string& endpoint) {
  GatewayLinkOptions options = first;
  options.endpoint = endpoint;
  ++options.clock_stream;
  return options;
}

}  // namespace

Gateways::Gateways(rdma::Device& device, rdma::CompletionChannel* channel,
                   const GatewayLinkOptions& options, Monitor& monitor,
                   const std::string& standby_endpoint)
    : monitor_(monitor),
      several_venues_(options.several_venues),
      first_(device, channel, options, monitor) {
  if (standby_endpoint.empty()) return;
  standby_.emplace(device, channel, standby_options(options, standby_endpoint), monitor);
  first_.join(pair_, *standby_);
  standby_->join(pair_, first_);
}

bool Gateways::maintain(std::uint64_t now_ns) {
  bool connected = maintain(first_, standby_ ? &*standby_ : nullptr, now_ns);
  if (standby_) connected |= maintain(*standby_, &first_, now_ns);
  if (!several_venues_) follow_role();
  const GatewayLink* const leads = leader();
  if (!standby_ || leads == nullptr || leads->epoch().get() == epoch_told_) return connected;
  epoch_told_ = leads->epoch().get();
  log::info("oeg at {} leads, in epoch {}", leads->endpoint(), epoch_told_);
  return connected;
}

bool Gateways::maintain(GatewayLink& link, const GatewayLink* other, std::uint64_t now_ns) {
  const bool others = other != nullptr && other->held_by_active(now_ns);
  if (others && link.connected().get() != 0) {
    log::info("leaves oeg at {} to the active risk, which has the oeg that leads", link.endpoint());
    link.let_go();
  }
  // What is under way is ended by its answer, not left standing.
  if (others && !link.connecting()) return false;
  if (!link.maintain(now_ns)) return false;
  log::info("connected to oeg at {}", link.endpoint());
  return true;
}

// A risk that has lost the oeg that leads, and finds another risk there, has been replaced.
void Gateways::follow_role() {
  const bool any = first_.connected().get() != 0 || (standby_ && standby_->connected().get() != 0);
  const auto tells = [any](const GatewayLink& link) {
    return link.held_by_leader() || (link.held() && !any);
  };
  const bool refused = tells(first_) || (standby_ && tells(*standby_));
  if (active()) {
    if (stands_by()) log::warning("this risk is the active one from now on");
    stands_by_.store(false, std::memory_order_relaxed);
  } else if (refused && !stands_by()) {
    log::info("this risk stands by: another one is active");
    stands_by_.store(true, std::memory_order_relaxed);
    forget_.store(true, std::memory_order_relaxed);
  }
}

// What is connected ends: an oeg that leads later is told nothing that was not READ anew.
void Gateways::forget() noexcept {
  forget_.store(false, std::memory_order_relaxed);
  if (active()) return;
  first_.quit();
  if (standby_) standby_->quit();
  pair_.followed = nullptr;
  pair_.watched = false;
  pair_.kill_version_held = 0;
  monitor_.forget();
}

const GatewayLink* Gateways::leader() const noexcept {
  if (!standby_ || first_.leads().get() != 0) return &first_;
  return standby_->leads().get() != 0 ? &*standby_ : nullptr;
}

std::string Gateways::not_ready_reason() const {
  if (stands_by()) return {};
  if (const GatewayLink* const leads = leader(); leads != nullptr) return leads->not_ready_reason();
  std::string reason =
      "waiting for oeg at " + first_.endpoint() + " or " + standby_->endpoint() + " to lead";
  for (const GatewayLink* const link : {&first_, &*standby_})
    if (link->connected().get() == 0) reason += "; " + link->not_ready_reason();
  return reason;
}

std::uint64_t Gateways::kill_version() const noexcept {
  const GatewayLink* const leads = leader();
  if (leads == nullptr) return 0;
  std::uint64_t version = leads->kill_version().get();
  if (!standby_) return version;
  const GatewayLink& other = leads == &first_ ? *standby_ : first_;
  return other.connected().get() == 0 ? version : std::min(version, other.kill_version().get());
}

}  // namespace tickpath::risk

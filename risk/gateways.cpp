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
    : first_(device, channel, options, monitor) {
  if (standby_endpoint.empty()) return;
  standby_.emplace(device, channel, standby_options(options, standby_endpoint), monitor);
  first_.join(pair_, *standby_);
  standby_->join(pair_, first_);
}

bool Gateways::maintain(std::uint64_t now_ns) {
  bool connected = maintain(first_, now_ns);
  if (!standby_) return connected;
  connected |= maintain(*standby_, now_ns);
  const GatewayLink* const leads = leader();
  if (leads == nullptr || leads->epoch().get() == epoch_told_) return connected;
  epoch_told_ = leads->epoch().get();
  log::info("oeg at {} leads, in epoch {}", leads->endpoint(), epoch_told_);
  return connected;
}

bool Gateways::maintain(GatewayLink& link, std::uint64_t now_ns) {
  if (!link.maintain(now_ns)) return false;
  log::info("connected to oeg at {}", link.endpoint());
  return true;
}

const GatewayLink* Gateways::leader() const noexcept {
  if (!standby_ || first_.leads().get() != 0) return &first_;
  return standby_->leads().get() != 0 ? &*standby_ : nullptr;
}

std::string Gateways::not_ready_reason() const {
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

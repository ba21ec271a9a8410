// risk's links to oeg: one, or of a pair both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "risk/gateway_link.hpp"

namespace tickpath::risk {

class Gateways {
 public:
  // Control thread. options: of the link to the first oeg. standby_endpoint: of the other one of a
  // pair; empty: there is none.
  Gateways(rdma::Device& device, rdma::CompletionChannel* channel,
           const GatewayLinkOptions& options, Monitor& monitor,
           const std::string& standby_endpoint = {});

  // ---- control thread, each tick
  bool maintain(std::uint64_t now_ns);  // true: connected to one just now
  // Of the one that leads.
  std::string not_ready_reason() const;

  // ---- datapath thread, as GatewayLink's
  bool turn(std::uint64_t now_ns) noexcept {
    bool any = first_.turn(now_ns);
    if (standby_) any |= standby_->turn(now_ns);
    return any;
  }
  void arm() noexcept {
    first_.arm();
    if (standby_) standby_->arm();
  }
  bool may_sleep() const noexcept {
    return first_.may_sleep() && (!standby_ || standby_->may_sleep());
  }
  void close() noexcept {
    first_.close();
    if (standby_) standby_->close();
  }

  // ---- any thread
  const GatewayLink& first() const noexcept { return first_; }
  const GatewayLink* standby() const noexcept { return standby_ ? &*standby_ : nullptr; }
  // The version of the kill switch that is in the memory of every oeg that may act on it: of the
  // one that leads, and of its standby if that is connected. 0: none leads, or one has none yet.
  std::uint64_t kill_version() const noexcept;

 private:
  static bool maintain(GatewayLink& link, std::uint64_t now_ns);
  // nullptr: of the pair none is connected that leads.
  const GatewayLink* leader() const noexcept;

  PairState pair_;
  GatewayLink first_;
  std::optional<GatewayLink> standby_;
  std::uint64_t epoch_told_ = 0;  // to the log
};

}  // namespace tickpath::risk

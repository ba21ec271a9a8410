// risk's links to oeg: one, or of a pair both; and whether this risk is the active one of two.
//
// An oeg has one risk. Whoever has the oeg that leads is the active risk; the other one stands by,
// and asks again and again, so that it is let in once the active one is gone. With a pair two risks
// could have an oeg each: the one that is refused by the oeg that leads lets the other oeg go, and
// does not ask for it while that is so. As one oeg leads, one of the two does.
//
// A risk over several venues has one of these for each, and none beside it: where another one has
// an oeg of its, it says so and asks again.
#pragma once

#include <atomic>
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
  // Why the oeg that leads is not ready; empty, too, while this risk stands by.
  std::string not_ready_reason() const;
  // Another risk was found at an oeg, and since then this one has not had the oeg that leads.
  // Any thread. Relaxed: nothing is ordered by it.
  bool stands_by() const noexcept { return stands_by_.load(std::memory_order_relaxed); }
  // This risk has the oeg that leads, and that oeg's kill switch is known: a change of it may be
  // asked for.
  bool holds() const noexcept { return active() && leader()->holds().get() != 0; }
  // This risk has the oeg that leads.
  bool active() const noexcept { return leader() != nullptr && leader()->connected().get() != 0; }

  // ---- datapath thread, as GatewayLink's
  bool turn(std::uint64_t now_ns) noexcept {
    if (forget_.load(std::memory_order_relaxed)) [[unlikely]]
      forget();
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
  bool maintain(GatewayLink& link, const GatewayLink* other, std::uint64_t now_ns);
  void follow_role();
  void forget() noexcept;
  // nullptr: of the pair none is connected that leads.
  const GatewayLink* leader() const noexcept;

  Monitor& monitor_;
  const bool several_venues_;
  PairState pair_;
  GatewayLink first_;
  std::optional<GatewayLink> standby_;
  std::uint64_t epoch_told_ = 0;  // to the log
  std::atomic<bool> stands_by_{false};
  std::atomic<bool> forget_{false};
};

}  // namespace tickpath::risk

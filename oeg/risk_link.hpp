// The one risk that holds oeg's control block, and the block in effect.
//
// Each risk is given a region of its own, which is read while it is the one. A risk that hung, was
// replaced and goes on later writes into memory that nobody reads: on shm its mapping outlives its
// connection, on verbs its key does not. A region begins with the block in effect, so that whoever
// comes next READs the kill switch as it stands, and lifts no kill that it has not heard of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/clock/clock.hpp"
#include "common/control/kill_keeper.hpp"
#include "common/control/kill_table.hpp"
#include "common/link/link.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/wire.hpp"
#include "oeg/gateway.hpp"
#include "oeg/pair.hpp"

namespace tickpath::oeg {

struct RiskLinkOptions {
  bool required = true;
  std::int64_t absent_after_ns = 0;
  link::HeartbeatOptions heartbeat;
};

class RiskLink {
 public:
  using Events = link::Publisher<wire::OrderEvent>;

  // pair: that is told of each change of the kill switch; nullptr: there is none. Throws
  // rdma::SetupError.
  RiskLink(const RiskLinkOptions& options, rdma::Device& device, Events& events, Gateway& gateway,
           Pair* pair, log::HotLog& hot_log);

  // ---- control thread

  // The datapath uses no region: the last word of who was there has been taken.
  // Acquire: pairs with the datapath's release in attach(). Without it a new region could be filled
  // from a block that is older than that word.
  bool vacant() const noexcept { return vacant_.load(std::memory_order_acquire); }
  // For the risk that is being connected; only while vacant() and while none is connected. The
  // former region ends. Throws rdma::SetupError.
  rdma::Grant new_block();
  // The region of the risk that was let in last; nullptr: none was.
  const rdma::MemoryRegion* region() const noexcept {
    return block_ == nullptr ? nullptr : block_->grant().region;
  }
  // Another risk asks: the present one is ended if it shows no life.
  void let_replace() noexcept { replace_.store(true, std::memory_order_relaxed); }
  // Before the datapath starts: kills of an earlier run, in effect until risk writes its block.
  void restore_kills(const control::KeptKills& kept) noexcept;

  // ---- any thread

  const control::KillTable& kills() const noexcept { return kills_; }
  // Relaxed: a state for display and for waiting, nothing is ordered by it.
  bool alive() const noexcept { return alive_.load(std::memory_order_relaxed); }
  const link::Losses& losses() const noexcept { return losses_; }

  // ---- datapath thread

  // Takes over who has come or gone, once the publisher has turned. True: one has come.
  bool attach(std::uint64_t now_ns) noexcept;
  // Takes a new block, and judges by three signs whether risk is alive: a connection, a heartbeat
  // (is the process stopped?), and blocks that keep coming on this connection from the thread that
  // watches the limits.
  void watch(std::uint64_t now_ns) noexcept;
  // In a pair: takes the kill switch that was replicated here. leads: this oeg leads from now on;
  // else the risk that is here brings it itself.
  void take_replicated(const wire::ControlBlock& replicated, bool leads) noexcept;
  const wire::ControlBlock& in_effect() const noexcept { return in_effect_; }

 private:
  using Block = link::ControlBlock<wire::ControlBlock>;

  void take_block() noexcept;
  void end_risk() noexcept;
  bool shows_life(std::uint64_t now_ns) noexcept;

  const RiskLinkOptions options_;
  rdma::Device& device_;
  Events& events_;
  Gateway& gateway_;
  Pair* pair_;
  log::HotLog& hot_log_;

  std::unique_ptr<Block> block_;  // control thread's, of the newest risk
  // For the next that comes. Release and acquire: its first contents are there before it is seen.
  std::atomic<Block*> offered_{nullptr};
  std::atomic<bool> vacant_{true};
  std::atomic<bool> replace_{false};
  std::atomic<bool> alive_{false};
  // The block in effect, for new_block().
  link::VersionedRecord<wire::ControlBlock> shown_{};

  // Datapath thread.
  Block* read_ = nullptr;  // of the present risk; nullptr: none is there
  link::HeartbeatMonitor watch_;
  std::uint32_t id_ = 0;  // the subscriber that it is; 0: none
  std::uint64_t seen_ns_ = 0;
  bool seen_here_ = false;  // a block of the present connection has come
  wire::ControlBlock in_effect_{};
  control::KillTable kills_;
  link::Losses losses_;
};

}  // namespace tickpath::oeg

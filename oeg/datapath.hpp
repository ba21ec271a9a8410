// oeg's datapath thread. Its parts own the FIX session, the strategies' channels, the market data
// and the drop copy; a turn polls one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/log/hot_log.hpp"
#include "common/net/file_descriptor.hpp"
#include "common/trace/stamp.hpp"
#include "oeg/config.hpp"
#include "oeg/desk.hpp"
#include "oeg/drop_copy.hpp"
#include "oeg/gateway.hpp"
#include "oeg/journal.hpp"
#include "oeg/market_link.hpp"
#include "oeg/orderly_stop.hpp"
#include "oeg/pair.hpp"
#include "oeg/pair_start.hpp"
#include "oeg/parking.hpp"
#include "oeg/recovery.hpp"
#include "oeg/risk_link.hpp"
#include "oeg/strategy_links.hpp"
#include "oeg/table_room.hpp"
#include "oeg/venue_link.hpp"

namespace tickpath::oeg {

class OegDatapath final : public control::Datapath {
 public:
  // Control thread. Opens journal and FIX store and recovers what they hold. Throws Error,
  // rdma::SetupError. start: of one of a pair; a standby recovers nothing before take_over().
  OegDatapath(const OegConfig& config, rdma::Device& device, trace::TraceWriter& trace,
              log::HotLog& hot_log, PairStart* start = nullptr);

  // ---- its parts; who may call what stands there
  Gateway& gateway() noexcept { return gateway_; }
  Journal& journal() noexcept { return journal_; }
  VenueLink& venue() noexcept { return venue_; }
  fix::Session& session() noexcept { return venue_.session(); }
  StrategyLinks& strategies() noexcept { return strategies_; }
  MarketLink& market() noexcept { return market_; }
  DropCopy& drop_copy() noexcept { return drop_copy_; }
  // Whoever holds the control block.
  RiskLink& risk() noexcept { return risk_; }
  Desk& desk() noexcept { return desk_; }
  OrderlyStop& stop() noexcept { return stop_; }
  const TableRoom& room() const noexcept { return room_; }
  const RecoveryResult& recovery() const noexcept { return recovery_; }
  // nullptr: no pair.
  Pair* pair() noexcept { return pair_.get(); }
  const Pair* pair() const noexcept { return pair_.get(); }

  // ---- control thread

  // Pair::Stage::kTakingOver: makes the gateway what the journal says; then `complete` does the
  // rest, and the datapath goes on. Throws Error.
  void take_over(const std::function<void()>& complete);
  // Readable when the pair's stage has changed; the control thread reads it. -1: no pair.
  int pair_descriptor() const noexcept { return pair_fd_.get(); }
  // Nobody else leads: orders may be sent, as far as that goes.
  bool leads() const noexcept {
    return pair_ == nullptr ||
           (pair_->stage() == Pair::Stage::kLeading && !pair_->status().blocked());
  }
  // Nobody else does, or may any more: the venue can be connected to. The Logon waits for leads().
  bool may_connect() const noexcept {
    return leads() || pair_->stage() == Pair::Stage::kTakingOver;
  }
  // Wakes a parked datapath, where something was given to it.
  void wake() noexcept { parking_.wake(); }

  // ---- control::Datapath
  bool turn() noexcept override;
  void arm() noexcept override;
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override {
    return parking_.descriptors(venue_.session().fd());
  }
  void woken() noexcept override { parking_.woken(); }
  void on_thread_end() noexcept override { market_.reader().close(); }

 private:
  void begin_as_one_of_a_pair(PairStart& start);
  void recover_gateway();
  bool turn_pair() noexcept;
  void begin_to_lead() noexcept;
  void tell_leads() noexcept;
  void standby_turn() noexcept;
  void give_up_unclaimed(TscTicks now) noexcept;

  const OegConfig& config_;
  clock::TickConverter converter_;
  Parking parking_;
  Journal journal_;
  VenueLink venue_;
  std::unique_ptr<Pair> pair_;
  net::FileDescriptor pair_fd_;
  StrategyLinks strategies_;
  DropCopy drop_copy_;
  Gateway gateway_;
  MarketLink market_;
  RiskLink risk_;
  Desk desk_;
  TableRoom room_;
  OrderlyStop stop_;
  RecoveryResult recovery_;
  bool leading_ = true;       // it has begun to
  TscTicks claim_deadline_;   // of the grace after a restart; 0: it does not run
  std::uint64_t now_ns_ = 0;  // of this turn
  std::uint64_t next_leads_ns_ = 0;
};

}  // namespace tickpath::oeg

// One oeg of a pair, on its datapath thread: who leads, and which of its parts is turned for that.
//
//   RememberedSuccession  the rules of who leads, written down before anything follows
//   WitnessClient         the word at the witness: READ, asked for, looked at again
//   LogLeader             as leader: replicates what is recorded, and what the standby confirms
//   LogFollower           as standby: takes the leader's log, and fences it
//   PairPeer              the connection to the other one, and its heartbeat
//   PairCommands          what the control thread has to say
//   PairStatus, ...       what other threads see
//
// A leader lets nothing take effect before the standby has it. A standby writes the log into a
// journal and a store of its own. At every moment these two are what the leader's would be had it
// died then. So a takeover is a restart (recovery.hpp), without the start.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "common/fix/session_mirror.hpp"
#include "common/link/bare_connections.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/replicated_log.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/journal.hpp"
#include "oeg/log_follower.hpp"
#include "oeg/log_leader.hpp"
#include "oeg/log_spool.hpp"
#include "oeg/pair_commands.hpp"
#include "oeg/pair_entry.hpp"
#include "oeg/pair_memory.hpp"
#include "oeg/pair_notes.hpp"
#include "oeg/pair_options.hpp"
#include "oeg/pair_peer.hpp"
#include "oeg/pair_status.hpp"
#include "oeg/remembered_succession.hpp"
#include "oeg/replication_lag.hpp"
#include "oeg/succession.hpp"
#include "oeg/takeover.hpp"
#include "oeg/witness_client.hpp"

namespace tickpath::oeg {

class Pair {
 public:
  using Stage = PairStage;
  // Tags of connections.
  static constexpr std::uint64_t kWitness = 1;
  static constexpr std::uint64_t kStandby = 2;   // accepted: the other one's log
  static constexpr std::uint64_t kLeader = 3;    // made by us, to the leader whose log is here
  static constexpr std::uint64_t kNewcomer = 4;  // as kStandby, by one that has lost its memory

  // Control thread. rules: as found in the memory, or fresh. Throws rdma::SetupError.
  Pair(const PairOptions& options, const link::HeartbeatOptions& heartbeat, rdma::Device& device,
       rdma::CompletionChannel* channel, Journal& journal, fix::MirroredStore& session,
       PairMemory& memory, const Succession& rules, log::HotLog& hot_log);

  // ---- control thread
  link::BareConnections& connections() noexcept { return connections_; }
  PairCommands& commands() noexcept { return commands_; }
  // LogFollower::follow().
  void follow(std::unique_ptr<link::ReplicatedLog> log,
              std::unique_ptr<LogSpool> spool = nullptr) noexcept {
    follower_.follow(std::move(log), std::move(spool));
  }
  // Each tick: what the datapath needs no more goes.
  void collect() noexcept {
    connections_.collect();
    follower_.collect();
  }
  // kTakingOver: Takeover::revoke().
  FenceResult revoke_former() noexcept {
    return takeover_.revoke(peer_.former(), follower_.region());
  }
  // The other one says that it leads, and by which word (Succession::is_lost()). True: this one
  // waits in vain. It renounces, and has to join.
  bool other_leads(wire::Leadership theirs) noexcept {
    if (!status_.waits_for_word() || !Succession::is_lost(word(), theirs)) return false;
    commands_.other_leads(theirs);
    return true;
  }
  // kTakingOver: the gateway is as the journal says; the datapath leads from now on.
  void recovered() noexcept {
    stamp_step(takeover_.times().recovered_ns);
    commands_.recovered();
  }
  bool pop_cleared(ClearedException& cleared) noexcept { return follower_.pop_cleared(cleared); }

  // ---- any thread
  PairStatus& status() noexcept { return status_; }
  const PairStatus& status() const noexcept { return status_; }
  Stage stage() const noexcept { return status_.stage(); }
  wire::Leadership word() const noexcept { return status_.word(); }
  const WitnessClient& witness() const noexcept { return witness_; }
  const ReplicationLag& lag() const noexcept { return lag_; }
  const PairCounters& counters() const noexcept { return counters_; }
  const Takeover& takeover() const noexcept { return takeover_; }
  const LogLeader& log() const noexcept { return leader_; }

  // ---- datapath thread

  // True: the stage has changed.
  bool turn(std::uint64_t now_ns) noexcept;
  // What is recorded goes through it, and takes effect once it may: LogLeader::may_act().
  LogLeader& log() noexcept { return leader_; }
  Takeover& takeover() noexcept { return takeover_; }
  // Until the control thread has synced its memory, this one acts on nothing.
  bool waits_for_memory() const noexcept { return rules_.waits_for_disk(); }
  // New orders may be taken.
  bool may_trade() const noexcept {
    return !rules_->blocked() && (options_.trade_alone || rules_->needs_confirmation());
  }
  bool may_sleep() const noexcept { return leader_.all_confirmed() && follower_.may_sleep(); }

  // The leader's kill switch has changed, or this one's has: its standby is to act on no older one
  // when it leads, whatever risk is there by then.
  void tell_kills(const wire::ControlBlock& block) noexcept;
  // The newest that this one was told, by either.
  const wire::ControlBlock& kills() const noexcept { return kills_; }

 private:
  void settle() noexcept;
  void hear_others() noexcept;
  void take_connections() noexcept;
  void begin_streaming(link::BareConnection& connection) noexcept;
  void turn_witness() noexcept;
  void settle_renunciation() noexcept;
  void turn_leader() noexcept;
  void begin_hand_over() noexcept;
  void forget_hand_over() noexcept;
  void lose_standby() noexcept;
  void turn_standby() noexcept;
  bool suspects_leader() noexcept;
  void claim_lead() noexcept;
  void take_word(PairEntry kind, const WordEntry& entry) noexcept;

  const PairOptions options_;
  Journal& journal_;
  fix::MirroredStore& session_;
  log::HotLog& hot_log_;
  PairCounters counters_;
  PairStatus status_;
  PairCommands commands_;
  Takeover takeover_;
  ReplicationLag lag_;
  RememberedSuccession rules_;
  link::BareConnections connections_;
  WitnessClient witness_;
  PairPeer peer_;
  LogLeader leader_;
  LogFollower follower_;
  wire::ControlBlock kills_{};
  std::uint64_t now_ns_ = 0;              // of this turn
  std::uint64_t renounced_since_ns_ = 0;  // the other one; 0: it has not, or that is settled
  std::uint64_t hand_over_asked_ns_ = 0;  // by a person; 0: it is not wanted
  std::uint64_t handing_over_since_ns_ = 0;
};

}  // namespace tickpath::oeg

// A leader's half of the pair's log. Replicates the journal and the FIX session's store to the
// standby. Nothing takes effect before the standby has it. Without a standby this is the journal
// alone. Datapath thread, where nothing else is said.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/fix/session_mirror.hpp"
#include "common/link/replicated_log.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/journal.hpp"
#include "oeg/pair_entry.hpp"
#include "oeg/pair_notes.hpp"
#include "oeg/pair_options.hpp"
#include "oeg/pair_peer.hpp"
#include "oeg/ports.hpp"
#include "oeg/progress.hpp"
#include "oeg/remembered_succession.hpp"
#include "oeg/replication_lag.hpp"
#include "oeg/steps.hpp"

namespace tickpath::oeg {

class LogLeader final : public JournalPort, public fix::SessionMirror {
 public:
  // Control thread. The standby's own words are READ every probe_ns at least. Throws
  // rdma::SetupError.
  LogLeader(const PairOptions& options, std::uint64_t probe_ns, rdma::Device& device,
            Journal& journal, const RememberedSuccession& rules, PairPeer& standby,
            ReplicationLag& lag, PairCounters& counters);

  // ---- any thread

  // The journal's sequence at which the standby's log begins; 0: it has none.
  std::uint64_t streams_from() const noexcept {
    return streams_from_.load(std::memory_order_acquire);
  }
  // The standby, if there is one, has the newest kill switch.
  bool kills_confirmed() const noexcept { return kills_confirmed_.get() != 0; }

  // ---- what is recorded

  // Whether what has been recorded may take effect outside; posts what is to be confirmed, and
  // waits for an answer for some microseconds at most.
  bool may_act() noexcept {
    if (rules_.waits_for_disk()) [[unlikely]]
      return false;
    return rules_->may_act(false) ||
           (rules_->may_act(true) && (broken(Rule::kConfirm) || confirm()));
  }
  // All that was recorded is confirmed. False: there is no standby, or it has not answered yet.
  bool confirm() noexcept;
  bool all_confirmed() const noexcept { return writer_.all_confirmed(); }

  // JournalPort. Each use leaves a part of the standby's log, as of the journal, to the more urgent
  // ones.
  bool has_room() const noexcept override {
    return journal_.has_room() && has_log_room(options_.log_bytes / 8);
  }
  bool has_room_for_changes() const noexcept override {
    return journal_.has_room_for_changes() && has_log_room(options_.log_bytes / 16);
  }
  bool has_room_for_reports() const noexcept override {
    return journal_.has_room_for_reports() && has_log_room(options_.log_bytes / 32);
  }
  bool has_room_for_own_cancels() const noexcept override {
    return journal_.has_room_for_own_cancels() && has_log_room(0);
  }
  bool append(JournalRecord& record) noexcept override;

  // fix::SessionMirror
  void on_stored(std::uint32_t seq, std::string_view message,
                 const fix::SessionNumbers& numbers) noexcept override;
  void on_numbers(const fix::SessionNumbers& numbers) noexcept override;
  void on_store_reset() noexcept override;
  bool may_transmit() noexcept override { return may_act(); }

  // A person has cleared it.
  void tell_cleared(const ClearedException& cleared) noexcept;
  // The newest kill switch.
  void tell_kills(const wire::ControlBlock& kills) noexcept;

  // ---- a standby's life, from joiner to its loss

  bool replicates() const noexcept {
    return writer_.state() == link::LogReplicator::State::kReplicating;
  }
  // A joiner's log, by the connection of `standby`. False: what it granted is no log.
  bool attach(const rdma::RemoteRegion& log, std::uint64_t now_ns) noexcept;
  // What is recorded from here on is in the log; what was before, in the snapshot.
  void begin(const fix::SessionNumbers& numbers, const wire::ControlBlock& kills) noexcept;
  // Each turn, of a standby that is there.
  void turn(std::uint64_t now_ns) noexcept;
  // Kills that no standby is to confirm any more are confirmed.
  void settle_kills() noexcept;
  // From a joiner to a standby, and from one life of the witness to the next. The witness holds our
  // word, or not.
  void advance_offer(Succession& rules, bool witness_holds_word) noexcept;
  // The standby has not got on with what it has to do for too long.
  bool is_overdue() const noexcept;
  // Tells the standby that it is to lead. No answer is waited for.
  void tell_successor() noexcept;
  // Nothing is replicated any more.
  void detach() noexcept;
  void end() noexcept;
  // As of the log that ended last, or of this one.
  std::uint64_t unconfirmed_bytes() const noexcept {
    return writer_.appended() - writer_.confirmed();
  }
  link::LogReplicator::State state() const noexcept { return writer_.state(); }

 private:
  // Entries that one step of the gateway may make: a record and a message, several times.
  static constexpr std::size_t kStepBytes = 16'384;

  // A joiner is never waited for: what finds no room in its log ends its joining (send()).
  bool has_log_room(std::size_t kept_bytes) const noexcept {
    const bool waits = rules_->needs_confirmation() || broken(Rule::kJoiner);
    return !replicates() || !waits || writer_.has_room(kStepBytes + kept_bytes);
  }
  void send(PairEntry kind, std::span<const std::byte> first,
            std::span<const std::byte> second = {}) noexcept;
  void send_word(PairEntry kind, wire::Leadership word) noexcept;
  void watch_progress(std::uint64_t now_ns) noexcept;

  const PairOptions& options_;
  const std::uint64_t probe_ns_;
  const std::uint64_t confirm_ticks_;
  Journal& journal_;
  const RememberedSuccession& rules_;
  PairPeer& standby_;
  ReplicationLag& lag_;
  PairCounters& counters_;
  link::LogReplicator writer_;
  Progress confirmed_;     // of what was appended: by the transport,
  Progress taken_;         // and by the standby
  Progress acknowledged_;  // an offer, by the joiner
  std::uint64_t next_probe_ns_ = 0;
  std::optional<wire::Leadership> offered_;  // and not acknowledged yet
  std::uint64_t moved_at_ = 0;               // bytes of the log, its end; 0: not told
  std::uint64_t kills_at_ = 0;  // bytes, of the newest that is not confirmed; 0: there is none
  std::atomic<std::uint64_t> streams_from_{0};
  Counter kills_confirmed_;
};

}  // namespace tickpath::oeg

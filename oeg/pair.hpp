// One oeg of a pair, on its datapath thread. As leader it replicates what it records, the journal
// and the FIX session's store, and lets nothing take effect before the standby has it; as standby
// it takes that log, and writes it into a journal and a store of its own. At every moment these two
// are what the leader's would be had it died then: so a takeover is a restart (recovery.hpp),
// without the start. succession.hpp has the rules of who leads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/clock/clock.hpp"
#include "common/fix/session_mirror.hpp"
#include "common/link/bare_connections.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/remote_word.hpp"
#include "common/link/replicated_log.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/journal.hpp"
#include "oeg/log_spool.hpp"
#include "oeg/pair_memory.hpp"
#include "oeg/ports.hpp"
#include "oeg/progress.hpp"
#include "oeg/steps.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

struct PairOptions {
  std::uint8_t place = 0;       // 1 or 2; 0: no pair
  std::string peer;             // endpoint of the other oeg
  std::string witness;          // of risk
  std::string witness_standby;  // of the second risk; empty: there is none
  std::string file = "{run_dir}/{name}.pair";
  std::uint32_t log_bytes = 1u << 22;
  bool trade_alone = true;
  // A standby that confirms nothing for so long is lost; likewise one that takes nothing while its
  // log is full.
  std::int64_t confirm_max_ns = 35'000'000;
};

// What the entries of a pair's log are, and their payloads. Host order: both sides are this
// program.
enum class PairEntry : std::uint32_t {
  kRecord = 1,      // JournalRecord
  kStored = 2,      // StoredEntry, then the message
  kNumbers = 3,     // StoredEntry, its seq is 0
  kStoreReset = 4,  // nothing
  kOffer = 5,       // WordEntry
  kMove = 6,        // WordEntry, of which the witness counts
  kHandedOver = 7,  // WordEntry, of which the word counts
  kKills = 8,       // wire::ControlBlock, of which the kill switch counts
  kCleared = 9,     // ClearedException
};
struct StoredEntry {
  std::uint32_t seq;
  std::uint32_t next_sender;
  std::uint32_t next_target;
  std::uint32_t reserved;
  std::int64_t began_ns;
};
static_assert(sizeof(StoredEntry) == 24);
struct WordEntry {
  std::uint64_t word;
  std::uint64_t witness;
};

// How the former leader is kept from the log of who took over.
enum class FenceResult : std::uint8_t {
  kNone,       // there is none, or none that could write
  kLogAlone,   // shm: nobody takes back a mapping; this log is never read again
  kRevoked,    // the device has taken the right back: another WRITE is a remote access error
  kEndedOnly,  // it could not: the connection was ended, and the right with it
};

// When what happened in the last takeover; CLOCK_MONOTONIC, ns. 0: not yet.
struct TakeoverTimes {
  TICKPATH_COUNTERS(last_entry_ns,  // of the old leader, as taken here
                    suspected_ns, fenced_ns, decided_ns, recovered_ns, connected_ns, logged_on_ns,
                    first_order_ns);  // accepted by the venue
};

struct PairCounters {
  TICKPATH_COUNTERS(entries_sent,   // into the standby's log
                    entries_taken,  // out of the leader's
                    waits,          // what was to take effect had to wait for the standby
                    standbys_joined, standbys_lost,
                    log_full,  // no room: the standby takes too slowly
                    damaged);  // logs that were none
};

enum class PairNote : std::uint16_t {
  kStandbyJoined = 100,
  kStandbyReady,
  kStandbyLost,
  kSuspects,
  kTakesOver,
  kRetires,
  kWitnessUp,
  kWitnessDown,
  kLogDamaged,
  kJournalFull,
  kUnsaved,
  kNotHandedOver,
};

class Pair final : public JournalPort, public fix::SessionMirror {
 public:
  enum class Stage : std::uint8_t {
    kFollowing,   // standby
    kTakingOver,  // it may lead; the control thread recovers
    kLeading,     // or blocked until the witness says so
    kRetired,     // another one leads: this process has to start anew, and join
  };
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
  // Before the datapath starts: the log that this one stands by, and what takes its entries until
  // the datapath has caught up, if anything does.
  void follow(std::unique_ptr<link::ReplicatedLog> log,
              std::unique_ptr<LogSpool> spool = nullptr) noexcept {
    log_ = std::move(log);
    spool_ = std::move(spool);
    spooled_ = spool_.get();
  }
  // Each tick: what the datapath needs no more goes. Its end waits for a thread.
  void collect() noexcept {
    connections_.collect();
    // Acquire: pairs with the release in leave_spool(). Without it the spool could go while the
    // datapath still takes its last entries.
    if (caught_up_.load(std::memory_order_acquire)) spool_.reset();
  }
  // The journal's sequence at which the standby's log begins; 0: it has none.
  std::uint64_t streams_from() const noexcept {
    return streams_from_.load(std::memory_order_acquire);
  }
  // The other one remembers what it was, has renounced, and asks to join. This one leads by the
  // witness's word, or by this alone where none answers. renounced: Succession::renounced().
  void peer_renounced(wire::Leadership renounced) noexcept {
    peer_joins(renounced);
    // Release: pairs with the acquires of renounced_. Without it an older word could be read.
    renounced_.store(true, std::memory_order_release);
  }
  // The same, where this one leads and lets the other one in.
  void peer_joins(wire::Leadership renounced) noexcept {
    renounced_by_peer_.store(renounced.word(), std::memory_order_relaxed);
  }
  // kTakingOver: takes back the former leader's right to WRITE into our log. The log's own fence,
  // which came first, is what the proof rests on; this is the device's word for it.
  FenceResult revoke_former() noexcept;
  // This one waits for a witness that may be gone for good, with the word that the other one leads
  // by. Nor does a later life of the witness decide, or an answer that leaves it as it was.
  bool waits_for_word() const noexcept {
    return shown_waits_.get() != 0 && shown_serves_.get() == 0;
  }
  // This one has waited so long that a witness which is there would have answered, or the witness
  // has named the other one. The other one is asked then.
  bool waits_in_vain(std::uint64_t now_ns) noexcept;
  // The other one says that it leads, and by which word (Succession::is_lost()). True: this one
  // waits in vain. It renounces, and has to join.
  bool other_leads(wire::Leadership theirs) noexcept {
    if (!waits_for_word() || !Succession::is_lost(word(), theirs)) return false;
    other_leads_.store(theirs.word(), std::memory_order_relaxed);
    return true;
  }
  bool books_may_be_cut() const noexcept { return shown_books_may_be_cut_.get() != 0; }
  // This one waits for a word, and has all that its leader had.
  bool waits_whole() const noexcept {
    return waits_for_word() && !acts_alone() && !books_may_be_cut();
  }
  // Both wait for a word: whether this one is to give way (Succession::gives_way()). One that led
  // alone has acted since, and does not.
  bool gives_way_to(bool their_books_may_be_cut) const noexcept {
    const bool cut = books_may_be_cut();
    return (cut || !acts_alone()) &&
           Succession::gives_way(options_.place, cut, their_books_may_be_cut);
  }
  // Then it renounces. Forgotten where a witness decides meanwhile.
  void give_way() noexcept { gives_way_.store(true, std::memory_order_relaxed); }
  // A person's word, where this one waits for a witness's: it leads, in a later epoch than `known`.
  // Forgotten where a witness decides meanwhile.
  void found(wire::Leadership known) noexcept {
    found_over_.store(known.word(), std::memory_order_relaxed);
    // Release: pairs with the acquire in hear_others(). Without it another epoch could be read.
    founds_.store(true, std::memory_order_release);
  }
  // kTakingOver: the gateway is as the journal says; the datapath leads from now on.
  void recovered() noexcept {
    times_.recovered_ns.set(static_cast<std::uint64_t>(clock::monotonic_ns()));
    recovered_.store(true, std::memory_order_release);
  }
  // kLeading with a standby: that one leads as soon as it has everything. Forgotten where the
  // standby is lost before, or where the witness does not answer within 0.3 s.
  void hand_over() noexcept { hand_over_.store(true, std::memory_order_relaxed); }

  // Standby: exceptions that were cleared at the leader, in order; false: none.
  bool pop_cleared(ClearedException& cleared) noexcept { return cleared_.try_pop(cleared); }

  // ---- any thread
  Stage stage() const noexcept { return stage_.load(std::memory_order_acquire); }
  bool blocked() const noexcept { return shown_blocked_.get() != 0; }
  wire::Leadership word() const noexcept { return wire::Leadership::of_word(shown_word_.get()); }
  // This one has what the leader has, and may ask for its place.
  bool stands_by() const noexcept { return shown_stands_by_.get() != 0; }
  bool has_standby() const noexcept { return shown_standby_.get() != 0; }
  // By its word this one needs nobody, and may have acted without the other one's knowledge.
  bool acts_alone() const noexcept { return word().alone && !has_standby(); }
  bool has_witness() const noexcept { return shown_witness_.get() != 0; }
  // Connections to a witness that the datapath has taken, and whether it uses one.
  std::uint64_t witnesses_taken() const noexcept { return witnesses_taken_.get(); }
  bool uses_witness() const noexcept { return uses_witness_.get() != 0; }
  const Counter& lag_bytes() const noexcept { return lag_bytes_; }
  // Leader: entries that the standby has not taken, as of its last word; at most so many.
  const Counter& lag_records() const noexcept { return lag_records_; }
  // Leader: from an entry's making to the word that the standby had taken it, as last measured.
  const Counter& lag_ns() const noexcept { return lag_ns_; }
  // The standby, if there is one, has the kill switch that was told last.
  bool kills_confirmed() const noexcept { return kills_confirmed_.get() != 0; }
  const PairCounters& counters() const noexcept { return counters_; }
  const TakeoverTimes& times() const noexcept { return times_; }
  FenceResult fence_result() const noexcept {
    return fence_result_.load(std::memory_order_relaxed);
  }

  // ---- datapath thread

  // True: the stage has changed.
  bool turn(std::uint64_t now_ns) noexcept;
  // Until the control thread has synced its memory, this one acts on nothing: PairMemory::sync().
  bool waits_for_memory() const noexcept { return alone_unsaved_; }
  // Whether what has been recorded may take effect outside; posts what is to be confirmed, and
  // waits for an answer for some microseconds at most.
  bool may_act() noexcept {
    if (alone_unsaved_) [[unlikely]]
      return false;
    return rules_.may_act(false) || (rules_.may_act(true) && (broken(Rule::kConfirm) || confirm()));
  }
  // New orders may be taken.
  bool may_trade() const noexcept {
    return !rules_.blocked() && (options_.trade_alone || rules_.needs_confirmation());
  }
  // Stamps a takeover's steps at the venue; accepted: orders of its whole life.
  void follow_takeover(bool connected, bool logged_on, std::uint64_t accepted) noexcept;
  bool may_sleep() const noexcept {
    return writer_.all_confirmed() && spooled_ == nullptr &&
           (log_ == nullptr || log_->behind() == 0);
  }

  // The leader's kill switch has changed, or this one's has: its standby is to act on no older one
  // when it leads, whatever risk is there by then.
  void tell_kills(const wire::ControlBlock& block) noexcept;
  // Leader: a person has cleared it.
  void tell_cleared(const ClearedException& cleared) noexcept {
    if (replicates()) send(PairEntry::kCleared, std::as_bytes(std::span(&cleared, 1)));
  }
  // The newest that this one was told, by either.
  const wire::ControlBlock& kills() const noexcept { return kills_; }

  // ---- JournalPort
  // Each use leaves a part of the standby's log, as of the journal, to the more urgent ones.
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

  // ---- fix::SessionMirror
  void on_stored(std::uint32_t seq, std::string_view message,
                 const fix::SessionNumbers& numbers) noexcept override;
  void on_numbers(const fix::SessionNumbers& numbers) noexcept override;
  void on_store_reset() noexcept override;
  bool may_transmit() noexcept override { return may_act(); }

 private:
  // Entries that one step of the gateway may make: a record and a message, several times.
  static constexpr std::size_t kStepBytes = 16'384;
  // So long a renunciation and a hand-over wait for a witness that is not connected, or silent:
  // longer than the keeper takes between two tries.
  static constexpr std::uint64_t kWitnessAnswersNs = 300'000'000;

  // What a joiner acknowledges before any offer, whose epoch has 32 bits.
  static constexpr std::uint64_t kTakesItself = ~std::uint64_t{0};
  static std::uint64_t time_of_step() noexcept {
    return static_cast<std::uint64_t>(clock::monotonic_ns());
  }
  bool replicates() const noexcept {
    return writer_.state() == link::LogReplicator::State::kReplicating;
  }
  // A joiner is never waited for: what finds no room in its log ends its joining (send()).
  bool has_log_room(std::size_t kept_bytes) const noexcept {
    const bool waits = rules_.needs_confirmation() || broken(Rule::kJoiner);
    return !replicates() || !waits || writer_.has_room(kStepBytes + kept_bytes);
  }
  void send(PairEntry kind, std::span<const std::byte> first,
            std::span<const std::byte> second = {}) noexcept;
  void send_word(PairEntry kind, wire::Leadership word) noexcept;
  bool confirm() noexcept;
  void settle() noexcept;
  void await_memory(std::uint64_t now_ns) noexcept;
  void hear_others() noexcept;
  void end_vain_claim() noexcept;
  void take_connections(std::uint64_t now_ns) noexcept;
  void begin_streaming(link::BareConnection& connection, std::uint64_t now_ns) noexcept;
  void drop(link::BareConnection*& connection) noexcept;
  void turn_witness() noexcept;
  void on_witness() noexcept;
  void show_witness(bool there) noexcept;
  void drop_witness() noexcept;
  bool may_enrol() const noexcept;
  bool witness_may_answer(std::uint64_t now_ns) const noexcept;
  wire::Leadership renounced_by_peer() const noexcept {
    return wire::Leadership::of_word(renounced_by_peer_.load(std::memory_order_relaxed));
  }
  void settle_renunciation(std::uint64_t now_ns) noexcept;
  void turn_leader(std::uint64_t now_ns) noexcept;
  void begin_hand_over(std::uint64_t now_ns) noexcept;
  void forget_hand_over() noexcept;
  void watch_progress(std::uint64_t now_ns) noexcept;
  bool overdue() const noexcept;
  void advance_offer() noexcept;
  void send_kills() noexcept;
  void settle_kills() noexcept;
  void lose_standby() noexcept;
  void measure_lag(std::uint64_t now_ns) noexcept;
  void turn_standby(std::uint64_t now_ns) noexcept;
  bool fenced() const noexcept;
  bool at_fence() const noexcept;
  bool suspects_leader(std::uint64_t now_ns) noexcept;
  void claim_lead() noexcept;
  bool cannot_follow(std::uint64_t now_ns) noexcept;
  void take_entries(std::size_t entries_max) noexcept;
  void leave_spool() noexcept;
  void take(PairEntry kind, std::span<const std::byte> payload) noexcept;
  void show() noexcept;

  const PairOptions options_;
  Journal& journal_;
  fix::MirroredStore& session_;
  PairMemory& memory_;
  log::HotLog& hot_log_;
  const std::uint64_t confirm_ticks_;
  const std::uint64_t probe_ns_;  // the standby's own words are read at least so often

  const bool device_revokes_;

  Succession rules_;
  Succession stored_;
  bool alone_unsaved_ = false;  // it leads alone, and its memory on the disk may not say so yet
  std::uint64_t alone_since_ns_ = 0;
  link::BareConnections connections_;
  link::BareConnection* witness_ = nullptr;
  link::BareConnection* peer_ = nullptr;  // the standby's, or the leader's
  // The leader's once this one leads: of the control thread from kTakingOver to recovered().
  link::BareConnection* former_ = nullptr;
  link::RemoteWord word_;
  std::optional<Succession::Change> asked_;
  wire::Leadership holds_;     // the witness, as far as we know
  bool witness_read_ = false;  // of this connection
  bool looks_again_ = false;   // the word is on its way once more
  // By this witness, last. Where it is wanted still, the answer has settled nothing.
  std::optional<Succession::Change> answered_;
  std::uint64_t renounced_since_ns_ = 0;  // the other one; 0: it has not, or that is settled
  std::uint64_t hand_over_asked_ns_ = 0;  // by a person; 0: it is not wanted
  std::uint64_t handing_over_since_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t look_posted_ns_ = 0;
  std::uint64_t looked_ns_ = 0;  // when the last look that was answered had been posted
  std::uint64_t asked_at_ns_ = 0;
  std::uint64_t other_first_since_ns_ = 0;
  std::uint64_t witness_idle_ns_ = 0;  // nothing that it was asked was without an answer then
  link::LogReplicator writer_;
  Progress confirmed_;     // of what was appended: by the transport,
  Progress taken_;         // and by the standby
  Progress acknowledged_;  // an offer, by the joiner
  link::HeartbeatMonitor peer_watch_;
  std::unique_ptr<link::ReplicatedLog> log_;
  std::unique_ptr<LogSpool> spool_;   // the control thread's
  std::uint64_t waits_since_ns_ = 0;  // likewise: for a word; 0: it does not
  LogSpool* spooled_ = nullptr;       // the log is taken by way of it; nullptr: it is not
  bool told_takes_itself_ = false;
  bool refused_ = false;                     // an entry that says nothing
  std::uint64_t journal_full_since_ns_ = 0;  // standby; 0: it is not
  bool stands_down_ = false;                 // standby: at the fence it renounces

  std::optional<wire::Leadership> offered_;  // and not acknowledged yet
  std::uint64_t moved_at_ = 0;               // bytes of the log, its end; 0: not told
  wire::ControlBlock kills_{};
  // One that finds no room is open here still: a person clears it once more.
  SpscRing<ClearedException> cleared_{1024};
  std::uint64_t kills_at_ = 0;  // likewise, of the newest that is not confirmed; 0: there is none
  std::uint64_t next_probe_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  // An entry that the standby had not taken when it was marked.
  struct LagMark {
    std::uint64_t end = 0;      // bytes of the log; 0: none is marked
    std::uint64_t entries = 0;  // up to it
    std::uint64_t at_ns = 0;
  } lag_mark_;
  std::uint64_t entries_taken_ = 0;    // by the standby, at least
  std::uint64_t accepted_before_ = 0;  // orders, when the takeover began

  std::atomic<Stage> stage_;
  std::atomic<std::uint64_t> streams_from_{0};
  std::atomic<bool> renounced_{false};
  std::atomic<std::uint64_t> renounced_by_peer_{0};  // a word
  std::atomic<bool> recovered_{false};
  std::atomic<bool> hand_over_{false};
  std::atomic<FenceResult> fence_result_{FenceResult::kNone};
  // Relaxed, both: nothing else goes with them, and each is held against the rules once more.
  std::atomic<std::uint64_t> other_leads_{0};  // the word by which it does; 0: nothing was said
  std::atomic<bool> gives_way_{false};
  std::atomic<bool> founds_{false};
  std::atomic<std::uint64_t> found_over_{0};
  std::atomic<bool> caught_up_{false};
  Counter shown_word_;
  Counter shown_blocked_;
  Counter shown_waits_;
  Counter shown_books_may_be_cut_;
  Counter shown_other_came_first_;
  Counter shown_stands_by_;
  Counter shown_standby_;
  Counter shown_witness_;
  Counter shown_serves_;  // that life of the witness decides for this one, once it answers
  Counter witnesses_taken_;
  Counter uses_witness_;
  Counter lag_bytes_;
  Counter lag_records_;
  Counter lag_ns_;
  Counter kills_confirmed_;
  PairCounters counters_;
  TakeoverTimes times_;
};

}  // namespace tickpath::oeg

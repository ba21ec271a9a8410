// The leader's half of a pair: it lets a joiner in, replicates, makes it a standby, hands over, and
// goes on without it.
#include <algorithm>

#include "oeg/pair.hpp"

namespace tickpath::oeg {
namespace {

// A standby that takes nothing for so long is stuck, though its heart beats and its log has room.
// Nothing waits for it yet, but it could not take over either.
constexpr std::uint64_t kTakesNothingNs = 1'000'000'000;
// A joiner that has all but so much has caught up: the rest is on its way in a turn or two.
constexpr std::uint64_t kCaughtUpBytes = 1u << 16;

}  // namespace

void Pair::follow_takeover(bool connected, bool logged_on, std::uint64_t accepted) noexcept {
  if (times_.decided_ns.get() == 0 || times_.first_order_ns.get() != 0) return;
  if (times_.connected_ns.get() == 0) {
    if (!connected) return;
    accepted_before_ = accepted;
    times_.connected_ns.set(time_of_step());
  }
  if (logged_on && times_.logged_on_ns.get() == 0) times_.logged_on_ns.set(time_of_step());
  if (accepted != accepted_before_) times_.first_order_ns.set(time_of_step());
}

void Pair::begin_streaming(link::BareConnection& connection, std::uint64_t now_ns) noexcept {
  // A newcomer does not say what has become of the standby before: the witness knows. It comes
  // again.
  const bool unsettled = connection.tag == kNewcomer && rules_.needs_confirmation();
  if (stage() != Stage::kLeading || connection.connection->extras().size() < 2 || unsettled) {
    link::BareConnection* refused = &connection;
    drop(refused);
    if (unsettled && !rules_.blocked()) lose_standby();
    return;
  }
  // A joiner has renounced, whatever it was.
  if (peer_ != nullptr || rules_.needs_confirmation()) {
    writer_.detach();
    drop(peer_);
    rules_.on_peer_renounced(renounced_by_peer());
    offered_.reset();
    moved_at_ = 0;
    forget_hand_over();  // to the one before
    settle();
  }
  peer_ = &connection;
  const auto extras = connection.connection->extras();
  if (!writer_.attach(*connection.connection, extras[0])) return drop(peer_);
  peer_watch_.attach(*connection.connection, extras[1], now_ns);
  confirmed_.restart(now_ns);
  taken_.restart(now_ns);
  acknowledged_.restart(now_ns);
  lag_mark_ = {};
  entries_taken_ = counters_.entries_sent.get();
  counters_.standbys_joined.add();
  hot_log_.note(PairNote::kStandbyJoined, journal_.size().get() + 1);
  // Whatever is recorded from here on is in the log; what was before, in the snapshot.
  on_numbers(session_.numbers());
  send_kills();
  streams_from_.store(journal_.size().get() + 1, std::memory_order_release);
}

void Pair::turn_leader(std::uint64_t now_ns) noexcept {
  if (renounced_.load(std::memory_order_acquire)) {
    if (rules_.needs_confirmation() && !rules_.blocked()) lose_standby();
    settle_renunciation(now_ns);
  }
  if (peer_ == nullptr) {
    settle_kills();
    if (rules_.needs_confirmation()) rules_.on_standby_lost();
    return;
  }
  (void)writer_.flush();
  peer_->connection->poll();
  settle_kills();
  if (now_ns >= next_probe_ns_ || offered_) {
    next_probe_ns_ = now_ns + probe_ns_;
    (void)writer_.probe();
  }
  measure_lag(now_ns);
  watch_progress(now_ns);
  // A joiner's heart does not beat before it has read the snapshot.
  const bool silent = peer_watch_.evaluate(now_ns) == link::Liveness::kDead;
  if (!replicates() || overdue() || peer_->connection->failed() ||
      (silent && rules_.needs_confirmation()))
    return lose_standby();
  advance_offer();
  begin_hand_over(now_ns);
  // Handing over, and the witness does not answer. Both then ask for the place, and each other.
  if (rules_.blocked() && now_ns - handing_over_since_ns_ > kWitnessAnswersNs) lose_standby();
}

// A leader that waits for the witness's answer acts on nothing, on no kill either. So a witness
// that does not answer a look at its word is not asked.
void Pair::begin_hand_over(std::uint64_t now_ns) noexcept {
  if (!hand_over_.load(std::memory_order_relaxed)) return;
  if (rules_.word().alone) return forget_hand_over();
  if (hand_over_asked_ns_ == 0) {
    hand_over_asked_ns_ = now_ns;
    next_look_ns_ = 0;
  }
  if (looked_ns_ < hand_over_asked_ns_) {
    if (now_ns - hand_over_asked_ns_ <= kWitnessAnswersNs) return;
    forget_hand_over();
    return hot_log_.note(PairNote::kNotHandedOver);
  }
  // All confirmed: no READ is under way, and there is room to post the entry that hands over.
  if (!confirm()) return;
  forget_hand_over();
  rules_.hand_over();
  handing_over_since_ns_ = now_ns;
  if (!rules_.blocked()) hot_log_.note(PairNote::kNotHandedOver);  // the witness is a new one
}

void Pair::forget_hand_over() noexcept {
  hand_over_.store(false, std::memory_order_relaxed);
  hand_over_asked_ns_ = 0;
}

void Pair::watch_progress(std::uint64_t now_ns) noexcept {
  const std::uint64_t confirmed = broken(Rule::kProgress) ? 0 : writer_.confirmed();
  confirmed_.see(confirmed, writer_.all_confirmed(), now_ns);
  taken_.see(writer_.taken(), writer_.taken() == writer_.appended(), now_ns);
  acknowledged_.see(writer_.acknowledged(), !offered_, now_ns);
}

// The transport confirms also for a standby that takes nothing: its log fills, and then everything
// would wait for it. A joiner has as long as it wants until it is offered the place of a standby,
// for nothing waits for it.
bool Pair::overdue() const noexcept {
  const auto bound = static_cast<std::uint64_t>(options_.confirm_max_ns);
  if (confirmed_.idle_ns() > bound) return true;
  if (acknowledged_.idle_ns() > std::max(bound, kTakesNothingNs)) return true;
  if (!rules_.needs_confirmation() || broken(Rule::kTaken)) return false;
  const std::uint64_t idle = taken_.idle_ns();
  return idle > std::max(bound, kTakesNothingNs) ||
         (idle > bound && !writer_.has_room(kStepBytes + options_.log_bytes / 8));
}

void Pair::measure_lag(std::uint64_t now_ns) noexcept {
  const std::uint64_t taken = writer_.taken();
  if (lag_mark_.end != 0 && taken >= lag_mark_.end) {
    lag_ns_.set(now_ns - lag_mark_.at_ns);
    entries_taken_ = lag_mark_.entries;
    lag_mark_.end = 0;
  }
  const std::uint64_t lag = writer_.appended() - taken;
  const std::uint64_t sent = counters_.entries_sent.get();
  if (lag == 0) entries_taken_ = sent;
  if (lag != 0 && lag_mark_.end == 0) lag_mark_ = {writer_.appended(), sent, now_ns};
  lag_bytes_.set(lag);
  lag_records_.set(sent - entries_taken_);
}

// From a joiner to a standby, and from one life of the witness to the next.
void Pair::advance_offer() noexcept {
  if (offered_ && writer_.acknowledged() == offered_->epoch) {
    rules_.on_offer_taken(*offered_);
    offered_.reset();
  }
  if (rules_.moved()) {
    send_word(PairEntry::kMove, rules_.word());
    moved_at_ = writer_.appended();
    rules_.on_move_told();
  }
  if (moved_at_ != 0 && writer_.confirmed() >= moved_at_) {
    moved_at_ = 0;
    rules_.on_move_confirmed();
  }
  const bool caught_up = writer_.acknowledged() != 0 &&  // its datapath reads the log
                         writer_.appended() - writer_.taken() <= kCaughtUpBytes;
  if (!caught_up || peer_watch_.state() != link::Liveness::kAlive || !rules_.word().alone ||
      rules_.needs_confirmation() || holds_ != rules_.word() || shown_witness_.get() == 0)
    return;
  offered_ = rules_.offer();
  if (!offered_) return;
  send_word(PairEntry::kOffer, *offered_);
  at(Step::kOffered);
}

void Pair::lose_standby() noexcept {
  hot_log_.note(PairNote::kStandbyLost, writer_.appended() - writer_.confirmed(),
                static_cast<std::uint64_t>(writer_.state()));
  counters_.standbys_lost.add();
  streams_from_.store(0, std::memory_order_release);
  writer_.detach();
  peer_watch_.detach(true);
  drop(peer_);
  offered_.reset();
  moved_at_ = 0;
  lag_mark_ = {};
  lag_bytes_.set(0);
  lag_records_.set(0);
  forget_hand_over();
  rules_.on_standby_lost();
}

}  // namespace tickpath::oeg

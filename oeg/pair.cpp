#include "oeg/pair.hpp"

#include <utility>

#include "oeg/steps.hpp"

namespace tickpath::oeg {

using Role = Succession::Role;

namespace {

// A claimant of a former life follows nobody any more, and leads once the witness says so.
PairStage stage_of(Role role) noexcept {
  return role == Role::kOutsider || role == Role::kClaimant ? PairStage::kFollowing
                                                            : PairStage::kLeading;
}

}  // namespace

Pair::Pair(const PairOptions& options, const link::HeartbeatOptions& heartbeat,
           rdma::Device& device, rdma::CompletionChannel* channel, Journal& journal,
           fix::MirroredStore& session, PairMemory& memory, const Succession& rules,
           log::HotLog& hot_log)
    : options_(options),
      journal_(journal),
      session_(session),
      hot_log_(hot_log),
      status_(options.place, stage_of(rules.role())),
      takeover_(device.info().revokes),
      rules_(memory, rules, hot_log),
      connections_(device, channel),
      witness_(device, connections_, !options.witness_standby.empty(), status_, hot_log),
      peer_(device, connections_, heartbeat),
      leader_(options_, heartbeat.interval_ns, device, journal, rules_, peer_, lag_, counters_),
      follower_(options_, journal, session, takeover_, lag_, counters_, hot_log) {
  status_.show(*rules_);
}

void Pair::tell_kills(const wire::ControlBlock& block) noexcept {
  if (block.kill_version <= kills_.kill_version) return;
  kills_ = block;
  leader_.tell_kills(kills_);
}

// ------------------------------------------------------------------------------------- the turn

bool Pair::turn(std::uint64_t now_ns) noexcept {
  const Stage before = stage();
  now_ns_ = now_ns;
  take_connections();
  turn_witness();
  hear_others();
  rules_.end_vain_claim(now_ns);
  switch (before) {
    case Stage::kFollowing:
      turn_standby();
      break;
    case Stage::kTakingOver:
      if (!commands_.has_recovered()) break;
      peer_.drop_former();
      status_.enter(Stage::kLeading);
      break;
    case Stage::kLeading:
      turn_leader();
      break;
    case Stage::kRetired:
      break;
  }
  settle();
  rules_.look_at_disk(now_ns);
  return stage() != before;
}

// What the control thread has heard is of a moment ago: a witness may have decided since.
void Pair::hear_others() noexcept {
  const std::optional<PairCommands::Heard> heard = commands_.take_heard();
  if (!heard || !status_.waits_for_word()) [[likely]]
    return;
  if (heard->gives_way || Succession::is_lost(rules_->word(), heard->leads))
    return rules_->renounce();
  if (heard->founds_over) rules_->found(*heard->founds_over);
}

// What has changed is written down before anything follows from it.
void Pair::settle() noexcept {
  const std::optional<Role> before = rules_.remember(stage() == Stage::kLeading, now_ns_);
  if (!before) return;
  status_.show(*rules_);
  if (rules_->role() == Role::kLeader && stage() == Stage::kFollowing) {
    stamp_step(takeover_.times().decided_ns);
    peer_.depose();
    hot_log_.note(PairNote::kTakesOver, rules_->word().epoch);
    at(Step::kDecided);
    status_.enter(Stage::kTakingOver);
  }
  if (rules_->role() == Role::kOutsider &&
      (*before == Role::kLeader || *before == Role::kClaimant)) {
    if (*before == Role::kLeader && rules_->word().leader != rules_->self())
      leader_.tell_successor();
    hot_log_.note(PairNote::kRetires, rules_->word().epoch);
    status_.enter(Stage::kRetired);
  }
}

void Pair::take_connections() noexcept {
  while (link::BareConnection* const taken = connections_.take()) {
    const auto extras = taken->connection->extras();
    if (taken->tag == kWitness) {
      witness_.take(*taken, now_ns_);
    } else if (extras.empty()) {
      connections_.give_back(taken);
    } else if (taken->tag == kStandby || taken->tag == kNewcomer) {
      begin_streaming(*taken);
    } else {
      peer_.take(*taken);
      peer_.watch(extras[0], now_ns_);
    }
  }
}

// ---------------------------------------------------------------------------------- the witness

void Pair::turn_witness() noexcept {
  if (!witness_.poll(now_ns_)) return;
  if (witness_.take_word(*rules_)) settle();
  if (witness_.take_answer(*rules_)) settle();
  if (rules_->role() == Role::kLeader) {
    witness_.enrol(*rules_);
    settle();
  }
  witness_.ask(*rules_, now_ns_);
}

// Another host may ask to join that has the place of a leader which still runs. So this oeg asks
// the witness, where it answers. Where none does, the renunciation decides.
void Pair::settle_renunciation() noexcept {
  if (renounced_since_ns_ == 0) renounced_since_ns_ = now_ns_;
  if (witness_.may_answer(*rules_, renounced_since_ns_, now_ns_)) return;
  renounced_since_ns_ = 0;
  commands_.forget_renunciation();
  rules_->on_peer_renounced(commands_.renounced_by_peer());
}

// ----------------------------------------------------------------------------------- the leader

void Pair::begin_streaming(link::BareConnection& connection) noexcept {
  const auto extras = connection.connection->extras();
  // A newcomer does not say what has become of the standby before: the witness knows. It comes
  // again.
  const bool unsettled = connection.tag == kNewcomer && rules_->needs_confirmation();
  if (stage() != Stage::kLeading || extras.size() < 2 || unsettled) {
    connections_.give_back(&connection);
    if (unsettled && !rules_->blocked()) lose_standby();
    return;
  }
  // A joiner has renounced, whatever it was.
  if (peer_.is_there() || rules_->needs_confirmation()) {
    leader_.detach();
    peer_.drop();
    rules_->on_peer_renounced(commands_.renounced_by_peer());
    forget_hand_over();  // to the one before
    settle();
  }
  peer_.take(connection);
  if (!leader_.attach(extras[0], now_ns_)) return peer_.drop();
  peer_.watch(extras[1], now_ns_);
  counters_.standbys_joined.add();
  hot_log_.note(PairNote::kStandbyJoined, journal_.size().get() + 1);
  leader_.begin(session_.numbers(), kills_);
}

void Pair::turn_leader() noexcept {
  if (commands_.peer_has_renounced()) {
    if (rules_->needs_confirmation() && !rules_->blocked()) lose_standby();
    settle_renunciation();
  }
  if (!peer_.is_there()) {
    leader_.settle_kills();
    if (rules_->needs_confirmation()) rules_->on_standby_lost();
    return;
  }
  leader_.turn(now_ns_);
  // A joiner's heart does not beat before it has read the snapshot.
  const bool silent = peer_.is_dead(now_ns_);
  if (!leader_.replicates() || leader_.is_overdue() || peer_.has_failed() ||
      (silent && rules_->needs_confirmation()))
    return lose_standby();
  leader_.advance_offer(*rules_, witness_.holds(rules_->word()));
  begin_hand_over();
  // Handing over, and the witness does not answer. Both then ask for the place, and each other.
  if (rules_->blocked() && now_ns_ - handing_over_since_ns_ > WitnessClient::kAnswersNs)
    lose_standby();
}

// A leader that waits for the witness's answer acts on nothing, on no kill either. So a witness
// that does not answer a look at its word is not asked.
void Pair::begin_hand_over() noexcept {
  if (!commands_.hands_over()) return;
  if (rules_->word().alone) return forget_hand_over();
  if (hand_over_asked_ns_ == 0) {
    hand_over_asked_ns_ = now_ns_;
    witness_.look_at_once();
  }
  if (!witness_.has_looked_since(hand_over_asked_ns_)) {
    if (now_ns_ - hand_over_asked_ns_ <= WitnessClient::kAnswersNs) return;
    forget_hand_over();
    return hot_log_.note(PairNote::kNotHandedOver);
  }
  // All confirmed: no READ is under way, and there is room to post the entry that hands over.
  if (!leader_.confirm()) return;
  forget_hand_over();
  rules_->hand_over();
  handing_over_since_ns_ = now_ns_;
  if (!rules_->blocked()) hot_log_.note(PairNote::kNotHandedOver);  // the witness is a new one
}

void Pair::forget_hand_over() noexcept {
  commands_.forget_hand_over();
  hand_over_asked_ns_ = 0;
}

void Pair::lose_standby() noexcept {
  hot_log_.note(PairNote::kStandbyLost, leader_.unconfirmed_bytes(),
                static_cast<std::uint64_t>(leader_.state()));
  counters_.standbys_lost.add();
  leader_.end();
  peer_.lose();
  forget_hand_over();
  rules_->on_standby_lost();
}

// ---------------------------------------------------------------------------------- the standby

void Pair::turn_standby() noexcept {
  if (peer_.is_there()) peer_.connection().poll();
  if (!follower_.has_log()) {  // a claimant since its start
    if (commands_.peer_has_renounced()) settle_renunciation();
    return;
  }
  follower_.take(kills_,
                 [this](PairEntry kind, const WordEntry& entry) { take_word(kind, entry); });
  if (stage() != Stage::kFollowing || !follower_.takes_itself()) return;
  follower_.tell_takes_itself(rules_->role() == Role::kOutsider);
  if (!follower_.fenced()) {
    const bool renounced = commands_.peer_has_renounced();
    if (!follower_.is_damaged() && !renounced && !suspects_leader() &&
        !follower_.cannot_follow(now_ns_))
      return;
    follower_.fence();
  }
  if (!follower_.at_fence()) return;
  const bool damaged = follower_.is_damaged();
  // This oeg has not joined yet, or its copy is damaged, or its journal is full.
  if (rules_->role() == Role::kOutsider || damaged || follower_.stands_down()) {
    if (damaged) {
      counters_.damaged.add();
      hot_log_.note(PairNote::kLogDamaged);
    }
    rules_->renounce();
    settle();
    status_.enter(Stage::kRetired);
    return;
  }
  if (rules_->role() == Role::kStandby) claim_lead();
  if (commands_.peer_has_renounced()) settle_renunciation();
}

bool Pair::suspects_leader() noexcept {
  return !peer_.is_there() ||  // its connection was there when the log was
         peer_.has_failed() || peer_.is_dead(now_ns_);
}

void Pair::claim_lead() noexcept {
  hot_log_.note(PairNote::kSuspects, rules_->word().epoch);
  rules_->on_leader_lost();
  if (broken(Rule::kWitness) && rules_->wanted())
    rules_->on_answer(*rules_->wanted(), rules_->wanted()->expected);
}

// An entry of the leader's log about the word itself.
void Pair::take_word(PairEntry kind, const WordEntry& entry) noexcept {
  const auto word = wire::Leadership::of_word(entry.word);
  if (kind == PairEntry::kOffer) {
    rules_->on_offer(word, entry.witness);
    hot_log_.note(PairNote::kStandbyReady, rules_->word().epoch);
  } else if (kind == PairEntry::kMove) {
    rules_->on_move(entry.witness);
  } else {
    rules_->on_handed_over(word);
  }
  settle();
  // Remembered: the witness may hold it.
  if (kind == PairEntry::kOffer) follower_.acknowledge(rules_->word().epoch);
}

}  // namespace tickpath::oeg

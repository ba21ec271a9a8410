#include "oeg/succession.hpp"

#include <algorithm>

namespace tickpath::oeg {

using wire::Leadership;

std::optional<Succession::Change> Succession::wanted() const noexcept {
  if (asks_ == Asks::kNothing || may_take_back()) return std::nullopt;
  if (asks_ == Asks::kMove) return Change{expected_, desired_, moving_to_};
  // The standby may ask one life of the witness and we the other: both could win.
  if (moving_ == Moving::kTold || witness_ == 0) return std::nullopt;
  return Change{expected_, desired_, witness_};
}

bool Succession::serves(std::uint64_t witness) const noexcept {
  if (const std::optional<Change> change = wanted()) return change->witness == witness;
  if (blocked()) return false;  // the standby may ask one life or the other
  if (role_ == Role::kOutsider || (role_ == Role::kLeader && word_.alone)) return true;
  if (role_ == Role::kLeader && moving_ != Moving::kNo && moving_to_ == witness) return true;
  return witness_ == witness;
}

void Succession::on_answer(const Change& change, Leadership found) noexcept {
  const std::optional<Change> now = wanted();
  if (!now || change != *now) return;  // of something that is settled meanwhile
  // An answer may have been lost: found as desired, it was made then.
  const bool made = found == change.expected || found == change.desired;
  switch (asks_) {
    case Asks::kNothing:
    case Asks::kTakeBack:
      return;
    case Asks::kEnrol:
      asks_ = Asks::kNothing;
      if (!made) return (void)enrol(witness_, found);
      word_ = desired_;
      return;
    case Asks::kPair:
      asks_ = Asks::kNothing;
      offered_ = 0;
      offer_posted_ = false;
      if (made)
        word_ = desired_;
      else if (found.epoch > desired_.epoch)  // it was made, and the standby has our place
        lose(found);
      return;
    case Asks::kMove:
      asks_ = Asks::kNothing;
      moving_ = made ? Moving::kHolds : Moving::kNo;
      if (!made && word_.alone) ask(Asks::kPair, word_, paired());
      return;
    case Asks::kAlone:
      if (made) return lead(desired_);
      // The pair came into force, or did not, before we were told.
      if (role_ == Role::kLeader && found.leader == self_ && found.epoch < desired_.epoch)
        expected_ = found;
      else if (role_ == Role::kClaimant && found == Leadership{desired_.epoch, self_, false})
        on_handed_over(found);  // before the leader was lost: it is as if that had been read
      else if (role_ == Role::kClaimant && found.leader == expected_.leader &&
               found.epoch < expected_.epoch)
        return;  // the offer has not got there. Its leader may take it back, or be gone
      else if (found.alone && found.leader != self_ && found.epoch >= desired_.epoch)
        other_claim_ = found;
      else if (found.epoch >= desired_.epoch || role_ == Role::kClaimant ||
               (found.leader != self_ && found.epoch > expected_.epoch))
        lose(found);
      // Else the witness has forgotten the word, and decides nothing.
      return;
    case Asks::kHandOver:
      if (!made && found.epoch < desired_.epoch) return;
      lose(made ? desired_ : found);
      if (made) ask(Asks::kTakeBack, word_, {word_.epoch + 1, self_, true});
      return;
  }
}

void Succession::ask(Asks what, Leadership expected, Leadership desired) noexcept {
  asks_ = what;
  expected_ = expected;
  desired_ = desired;
}

void Succession::lead(Leadership word) noexcept {
  role_ = Role::kLeader;
  word_ = word;
  offered_ = 0;
  offer_posted_ = false;
  asks_ = Asks::kNothing;
  moving_ = Moving::kNo;
  after_boot_ = superseded_ = false;
  other_claim_ = {};
}

void Succession::lose(Leadership found) noexcept {
  if (asks_ == Asks::kAlone) given_up_ = desired_;  // the witness may give it all the same
  role_ = Role::kOutsider;
  word_ = found;
  offered_ = 0;
  offer_posted_ = false;
  asks_ = Asks::kNothing;
  moving_ = Moving::kNo;
  after_boot_ = false;
  other_claim_ = {};
}

// --------------------------------------------------------------------------------- beginnings

namespace {

// The most epochs that a memory may lack after a loss of power: this oeg may have led in them
// during its last moments. Each is a change of leadership, and the memory reaches the disk every
// few milliseconds.
constexpr std::uint32_t kEpochsUnsaved = 16;

}  // namespace

// The latest epoch that this one knows of, or may have brought about.
std::uint32_t Succession::newest() const noexcept {
  return std::max({word_.epoch, last_offer_, asks_ == Asks::kNothing ? 0 : desired_.epoch});
}

void Succession::begin_again(std::optional<Leadership> found) noexcept {
  if (found) look_back(*found);
  if (role_ == Role::kLeader && found && (is_later(*found) || superseded_)) return lose(*found);
  if (blocked()) return;  // it goes on asking
  if (role_ == Role::kLeader && !needs_confirmation()) {
    // Another epoch: it is another life that leads.
    lead({word_.epoch + 1, self_, true});
  } else if (role_ == Role::kLeader) {
    on_standby_lost();
    // The offer had not been made.
    if (!blocked() && role_ == Role::kLeader) begin_again(found);
  } else if (role_ == Role::kStandby) {
    renounce();
  }
}

bool Succession::begin_after_boot(Leadership found, std::uint64_t witness) noexcept {
  look_back_after_boot(found);
  const std::uint32_t known = newest_of_own();
  const bool led = role_ == Role::kLeader || role_ == Role::kClaimant;
  // The place was handed over to it, and its copy of the journal may have lost what the other one's
  // has.
  const bool handed_over = role_ == Role::kClaimant && !found.alone;
  if (leads_alone() && found.epoch < word_.epoch) return false;
  if (!led || handed_over || found.leader != self_ || found.epoch > known) {
    lose(found.epoch > word_.epoch ? found : word_);
    return true;
  }
  // A pair's place may have been given to the other one since, by a life of the witness that ended
  // before it had saved that. A later life decides nothing then, and the other one is asked.
  const bool same_life = witness != 0 && witness_ == witness;
  const Leadership ours = offer_posted_ ? paired() : word_;  // it may have been in force
  const bool alone = found.alone && found.epoch >= ours.epoch;
  const bool may_have_led_since = superseded_;
  lead(found.epoch < ours.epoch ? ours : found);
  superseded_ = may_have_led_since;
  witness_ = alone || same_life ? witness : 0;
  after_boot_ = !alone;
  ask(Asks::kAlone, word_, {known + kEpochsUnsaved, self_, true});
  return true;
}

// -------------------------------------------------------------------------------------- leader

bool Succession::enrol(std::uint64_t witness, Leadership found) noexcept {
  // Nobody can ask for the place of one that led alone. So any life with that word can answer.
  if (leads_alone() && !after_boot_ && asks_ == Asks::kAlone && found == word_) {
    witness_ = witness;
    return true;
  }
  // Granted by a life that has ended since, and its answer was lost.
  if (role_ == Role::kLeader && asks_ == Asks::kAlone && found == desired_) {
    lead(desired_);
    witness_ = witness;
    return false;
  }
  if (role_ != Role::kLeader || !word_.alone || offered_ != 0 || blocked()) return false;
  on_word(found);
  if (role_ != Role::kLeader) return false;
  witness_ = witness;
  asks_ = Asks::kNothing;
  if (found == word_) return false;
  // What it holds is older, or of a claim that was given up. The answer may be lost, and another
  // witness be asked next.
  const std::uint32_t epoch = std::max(found.epoch, word_.epoch) + 1;
  enrolled_ = std::max(enrolled_, epoch);
  ask(Asks::kEnrol, found, {epoch, self_, true});
  return true;
}

std::optional<Leadership> Succession::offer() noexcept {
  if (role_ != Role::kLeader || !word_.alone || offered_ != 0 || asks_ != Asks::kNothing ||
      witness_ == 0)
    return std::nullopt;
  offered_ = last_offer_ = std::max({word_.epoch, last_offer_, enrolled_}) + 1;
  return paired();
}

void Succession::on_offer_taken(Leadership offered) noexcept {
  if (role_ != Role::kLeader || offered_ == 0 || offered != paired() || asks_ != Asks::kNothing)
    return;
  offer_posted_ = true;
  ask(Asks::kPair, word_, paired());
}

void Succession::on_standby_lost() noexcept {
  if (role_ != Role::kLeader || !needs_confirmation() || blocked()) return;
  if (offered_ != 0 && !offer_posted_) {  // the witness has never heard of it
    offered_ = 0;
    return;
  }
  ask(Asks::kAlone, word_, {std::max(word_.epoch, offered_) + 1, self_, true});
}

bool Succession::move(std::uint64_t witness, Leadership found) noexcept {
  // One that was asked to hold the word and is gone is given up: nobody goes by it yet.
  const bool again = asks_ == Asks::kMove && witness != moving_to_;
  const bool paired_already = !word_.alone || offer_posted_;
  if (role_ != Role::kLeader || !paired_already || witness == witness_ ||
      (asks_ != Asks::kNothing && asks_ != Asks::kPair && !again) || moving_ == Moving::kTold)
    return false;
  if (moving_ == Moving::kHolds && witness == moving_to_) return false;  // the standby is told next
  // A life of the witness with a newer word may decide for others, not for us. An older word is
  // what it held when we left it for another one.
  const Leadership standing = word_.alone ? paired() : word_;
  if (found != standing && found != word_ && found.epoch >= word_.epoch) return false;
  moving_to_ = witness;
  moving_ = Moving::kNo;
  ask(Asks::kMove, found, standing);
  return true;
}

void Succession::on_move_told() noexcept {
  if (moving_ == Moving::kHolds) moving_ = Moving::kTold;
}

void Succession::on_move_confirmed() noexcept {
  if (moving_ != Moving::kTold) return;
  moving_ = Moving::kNo;
  witness_ = moving_to_;
  if (!word_.alone) return;
  word_ = paired();  // the offer was taken before
  offered_ = 0;
  offer_posted_ = false;
}

void Succession::hand_over() noexcept {
  if (role_ != Role::kLeader || word_.alone || asks_ != Asks::kNothing || moving_ == Moving::kTold)
    return;
  ask(Asks::kHandOver, word_,
      {word_.epoch + 1, static_cast<std::uint8_t>(self_ == 1 ? 2 : 1), false});
}

void Succession::take_back() noexcept {
  if (!may_take_back()) return;
  role_ = Role::kClaimant;
  asks_ = Asks::kAlone;
}

// ------------------------------------------------------------------------------------- standby

void Succession::on_offer(Leadership paired, std::uint64_t witness) noexcept {
  role_ = Role::kStandby;
  superseded_ = false;  // it has what the leader has
  word_ = paired;
  witness_ = witness;
}

void Succession::on_handed_over(Leadership word) noexcept {
  if ((role_ != Role::kStandby && role_ != Role::kClaimant) || word.leader != self_) return;
  word_ = word;
  claim();
}

void Succession::on_leader_lost() noexcept {
  if (role_ == Role::kStandby) claim();
}

void Succession::claim() noexcept {
  role_ = Role::kClaimant;
  ask(Asks::kAlone, word_, {word_.epoch + 1, self_, true});
}

// -------------------------------------------------------------------------------------- either

void Succession::on_peer_renounced(Leadership theirs) noexcept {
  if (role_ == Role::kOutsider || (role_ == Role::kLeader && !needs_confirmation())) return;
  if (other_came_first() && theirs.epoch < other_claim_.epoch) return lose(other_claim_);
  // After a boot it asks for an epoch above all that it knew, which is not the next one.
  const std::uint32_t asked = asks_ == Asks::kAlone ? desired_.epoch : 0;
  const std::uint32_t past = std::max({word_.epoch, offered_, theirs.epoch});
  lead({std::max(past + 1, asked), self_, true});
}

void Succession::renounce() noexcept { lose(word_); }

// A claim that was given up is in no later epoch than who leads since (on_peer_renounced). All that
// this process has asked for counts as known.
void Succession::on_word(Leadership found) noexcept {
  if (role_ != Role::kLeader || found.leader == 0 || !is_later(found)) return;
  superseded_ = found.leader == self_;
  lose(superseded_ ? word_ : found);
}

}  // namespace tickpath::oeg

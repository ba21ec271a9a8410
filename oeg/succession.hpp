// Which oeg of a pair leads. The rules alone: no fabric, no clock, no threads, so that a test can
// run them through every order of events (tests/unit/oeg/succession_model_test.cpp).
//
// One word at a witness (wire::Leadership) says which epoch it is, who leads, and whether alone. It
// is changed by COMPARE_SWAP only, and each change raises the epoch, so no value ever comes back.
//
//   {e, L, alone}   L needs nobody. The standby that is joining is no standby yet.
//   {e, L, paired}  L acts on what the standby has confirmed, and on nothing else.
//
// Either of a pair may ask for {e, L, paired} -> {e + 1, itself, alone}, and the witness lets one
// of them have it. A standby asks only once its log is fenced and read to the end
// (replicated_log.hpp); then it has all that L could act on, and L can act on nothing any more. A
// leader that misses its standby acts on nothing until it has the word. So no lease and no clock is
// needed: suspicion may be wrong at any time, and costs a change of leader, never an order.
//
// A leader hands over by {e, L, paired} -> {e + 1, the other one, paired}, and acts on nothing from
// then on. The other one asks as above once it has read that. Where it dies before, L asks: it has
// everything, too.
//
// A witness that was restarted may not have the newest word. Which of its lives decides is part
// of what is replicated (`witness` below): a standby asks only the one that its leader has told it.
// A second witness is no more than another such life, which may be there at the same time.
//
// Words: to renounce is to give up every right to ask for the word that one had; whoever joins has
// renounced before. It is what settles a pair that has lost its witness. An oeg that has lost its
// memory cannot say what it renounces: it may have led alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/wire/leadership.hpp"

namespace tickpath::oeg {

class Succession {
 public:
  enum class Role : std::uint8_t {
    kOutsider,  // neither leads nor may ask to; has to join
    kStandby,   // follows the log of a leader, and may ask for its place
    kClaimant,  // a standby that is asking
    kLeader,
  };

  // A COMPARE_SWAP, at that life of the witness.
  struct Change {
    wire::Leadership expected;
    wire::Leadership desired;
    std::uint64_t witness;
    friend bool operator==(const Change&, const Change&) = default;
  };

  // self: 1 or 2.
  explicit Succession(std::uint8_t self) noexcept : self_(self) {}

  Role role() const noexcept { return role_; }
  std::uint8_t self() const noexcept { return self_; }
  // The newest word that this side knows to be, or to have been, in force.
  wire::Leadership word() const noexcept { return word_; }
  std::uint64_t witness() const noexcept { return witness_; }
  // Leader: nothing takes effect before the standby has confirmed it.
  bool needs_confirmation() const noexcept { return !word_.alone || offered_ != 0; }
  bool leads_alone() const noexcept { return role_ == Role::kLeader && !needs_confirmation(); }
  // Whether what has been recorded may take effect outside. confirmed: by the standby, all of it.
  bool may_act(bool confirmed) const noexcept {
    return role_ == Role::kLeader && !blocked() && (confirmed || !needs_confirmation());
  }
  // A leader that has to have the word before it goes on.
  bool blocked() const noexcept { return asks_ == Asks::kAlone || asks_ == Asks::kHandOver; }
  // The change to ask the witness for, again and again until on_answer(). Nothing: none is wanted,
  // or the witness that could decide is not known to both (then only renunciation helps).
  std::optional<Change> wanted() const noexcept;
  // What is wanted is to lead, without the other one.
  bool asks_to_lead_alone() const noexcept { return asks_ == Asks::kAlone; }
  // Whether a witness of that life can decide anything for this side. False: another one can.
  bool serves(std::uint64_t witness) const noexcept;
  // What the witness held before the change; it was made if that is what was expected.
  void on_answer(const Change& change, wire::Leadership found) noexcept;

  // ---- beginnings

  // The first of a new pair: nobody has ever led. Or a person says that this one is to lead: above
  // whatever is known of an earlier one.
  void found(wire::Leadership known = {}) noexcept {
    lead({std::max(newest(), known.epoch) + 1, self_, true});
  }
  // This is what the process knew when its former life ended; `found`: what a witness holds, where
  // one can be asked. An oeg that led alone leads. One that led in a pair, or asked for
  // that place, asks again. A standby has to join: what it had confirmed may have been lost. A
  // memory from before the newest word (a copy that was put back) has no right to anything.
  void begin_again(std::optional<wire::Leadership> found = std::nullopt) noexcept;
  // The host was started since: the newest of what was known may not have reached the disk, nor the
  // end of its journal. Only who leads by the word of the witness asks to go on; all others have to
  // join. A pair's leader does so only at the life of the witness that it knew, and gives way to a
  // standby that waits, too (gives_way()). witness 0: which life holds the word is not known.
  // False: it led alone by a later word, which the witness has lost. Then neither of the two can be
  // believed.
  bool begin_after_boot(wire::Leadership found, std::uint64_t witness) noexcept;
  // After a start of the host: `found` is what a witness holds, `theirs` the pair's word by which
  // the other one waits for the place. Whether that one has all that this one had. Not where this
  // one has led alone since, or took back the offer in that word.
  bool other_is_whole(wire::Leadership found, wire::Leadership theirs) const noexcept {
    const bool led_alone = found.leader == self_ && found.alone && found.epoch > theirs.epoch;
    const bool is_pair = needs_confirmation() && theirs.epoch >= word_.epoch;
    return !led_alone && (is_pair || theirs.epoch > newest_of_own());
  }
  // Whether it waits for a pair's place with books that the start of its host may have cut.
  bool books_may_be_cut() const noexcept { return after_boot_; }
  // Both wait for a word: whether the one at this place renounces. Whose books are whole leads;
  // else place 1.
  static bool gives_way(std::uint8_t place, bool cut, bool their_books_may_be_cut) noexcept {
    return cut == their_books_may_be_cut ? place == 2 : cut;
  }
  // What a witness holds, while this one asks to join: is_from_before() counts from now on.
  void look_back(wire::Leadership found) noexcept {
    if (is_from_before(found)) superseded_ = true;
  }
  // As look_back(), after a start of the host. The witness may have forgotten even what this one
  // knows. Then this one may have led alone by a later word, which both have lost.
  void look_back_after_boot(wire::Leadership found) noexcept {
    look_back(found);
    if (found.epoch < word_.epoch) superseded_ = true;
  }
  // Joins without a memory, or with a copy: it remembers from then on, but not what it had.
  void join_as_newcomer() noexcept { superseded_ = true; }
  // Its place has led since, in a later life or by a copy of its host. So this one does not know
  // what it would renounce.
  bool superseded() const noexcept { return superseded_; }
  // The witness knows of a leadership that this one does not remember: its memory is an old copy,
  // or was lost in part. What it would renounce it does not know.
  bool is_from_before(wire::Leadership found) const noexcept {
    if (found == given_up_) return false;  // it has asked for that word, and never led by it
    // The witness holds the pair that this one has only offered, as far as it knows.
    if (offered_ != 0 && !offer_posted_ && found == paired()) return true;
    // The next word of a pair may be the other one's, who hands over. To lead begins alone.
    return found.leader == self_ && found.epoch > newest_of_own() + (found.alone ? 0 : 1);
  }

  // ---- leader, alone

  // Makes the witness hold our word; `found` is what it holds. Asks this life of it for the word
  // where a start of the host made us ask another one. False: it does already; or the other one has
  // led since, and this one leads no more.
  bool enrol(std::uint64_t witness, wire::Leadership found) noexcept;
  // Enrolled, and a joiner has everything: from now on needs_confirmation(). What to tell it, with
  // witness(), as an entry of its log. Nothing: not now.
  std::optional<wire::Leadership> offer() noexcept;
  // The joiner has read that entry, and remembers it. Before, the witness is not to hold a pair
  // that one of the two knows nothing of: that one could not say what it renounces.
  void on_offer_taken(wire::Leadership paired) noexcept;

  // ---- leader of a pair

  // The standby does not confirm: its connection failed, it is silent, or it has fenced its log.
  // Its log is given up for good.
  void on_standby_lost() noexcept;
  // The witness lives anew, or another one is there. Asks it to hold the word. If a standby has
  // taken an offer, asks it to hold the pair: the former life may have gone without an answer.
  // Once moved(), an entry of the log names the new life to the standby, and on_move_confirmed()
  // makes it the one that decides. False: nothing to ask.
  bool move(std::uint64_t witness, wire::Leadership found) noexcept;
  bool moved() const noexcept { return moving_ == Moving::kHolds; }
  // The life that the standby is to be told.
  std::uint64_t moving_to() const noexcept { return moving_to_; }
  void on_move_told() noexcept;
  void on_move_confirmed() noexcept;
  // Gives the place to the standby. Once role() is kOutsider the standby is to be told word().
  void hand_over() noexcept;
  // This side has handed over, and has not renounced since. It may ask for the place again.
  bool may_take_back() const noexcept { return asks_ == Asks::kTakeBack; }
  // Nobody leads, so the standby may have died before it read that it is to lead. A claimant.
  void take_back() noexcept;

  // ---- standby: what the log says, and its end

  void on_offer(wire::Leadership paired, std::uint64_t witness) noexcept;
  void on_move(std::uint64_t witness) noexcept { witness_ = witness; }
  void on_handed_over(wire::Leadership word) noexcept;
  // The leader is suspected; our log is fenced and read to its end.
  void on_leader_lost() noexcept;

  // ---- either

  // The other one has renounced. As a standby: our log is fenced and read to its end. theirs: its
  // renounced(). Where the witness holds a later claim of that place, another process there leads,
  // and this one does not.
  void on_peer_renounced(wire::Leadership theirs = {}) noexcept;
  void renounce() noexcept;
  // The newest word that it has had a part in. Its last claim may be that: the witness may have
  // granted it without its knowledge.
  wire::Leadership renounced() const noexcept {
    return given_up_.epoch > word_.epoch ? given_up_ : word_;
  }
  // This one asks to lead, and the witness holds a claim of the other one. That one leads, or has
  // given its claim up since: only it knows.
  bool other_came_first() const noexcept { return other_claim_.epoch != 0; }
  // The other one leads by `theirs`, and is not blocked; `alone` says that it needs nobody. Whether
  // a side that waits for a change of `ours` waits in vain. A later epoch has been decided. In an
  // earlier or the same epoch the other one may have taken back the offer in `ours`. No witness
  // ever hears of such an offer. It is certain only if the other one needs nobody: otherwise the
  // answer to it may still be on its way.
  static bool is_lost(wire::Leadership ours, wire::Leadership theirs) noexcept {
    const bool offered_by_them = !ours.alone && ours.leader == theirs.leader;
    return theirs.epoch > ours.epoch || (theirs.alone && offered_by_them);
  }
  // A witness holds that word. Of a later leadership than any that this one knows: it leads no
  // more, also where that is of its own place.
  void on_word(wire::Leadership found) noexcept;

  friend bool operator==(const Succession&, const Succession&) = default;

 private:
  enum class Asks : std::uint8_t { kNothing, kEnrol, kPair, kMove, kAlone, kHandOver, kTakeBack };
  // kHolds: the new witness holds the word; kTold: the standby may know of it, or not.
  enum class Moving : std::uint8_t { kNo, kHolds, kTold };

  wire::Leadership paired() const noexcept { return {offered_, self_, false}; }
  void ask(Asks what, wire::Leadership expected, wire::Leadership desired) noexcept;
  void claim() noexcept;
  void lead(wire::Leadership word) noexcept;
  void lose(wire::Leadership found) noexcept;
  std::uint32_t newest() const noexcept;
  // With enrolments that no answer came to: an epoch that the other one may have as well.
  std::uint32_t newest_of_own() const noexcept { return std::max(newest(), enrolled_); }
  bool is_later(wire::Leadership found) const noexcept {
    return found.epoch > (found.leader == self_ ? newest_of_own() : newest());
  }

  std::uint8_t self_;
  Role role_ = Role::kOutsider;
  wire::Leadership word_;
  std::uint64_t witness_ = 0;  // the life of it that decides; 0: none
  // Epoch of the pair that a joiner was told of, but the witness not, as far as we know; 0: none.
  std::uint32_t offered_ = 0;
  bool offer_posted_ = false;     // the witness may hold it
  std::uint32_t last_offer_ = 0;  // no two offers have the same epoch: one may be on its way still
  Asks asks_ = Asks::kNothing;
  wire::Leadership expected_;
  wire::Leadership desired_;
  Moving moving_ = Moving::kNo;
  std::uint64_t moving_to_ = 0;
  wire::Leadership given_up_;  // the claim that was given up last
  bool after_boot_ = false;
  bool superseded_ = false;
  wire::Leadership other_claim_;  // that the witness holds, in answer to ours
  std::uint32_t enrolled_ = 0;    // the last epoch that a witness was to be told of
};

}  // namespace tickpath::oeg

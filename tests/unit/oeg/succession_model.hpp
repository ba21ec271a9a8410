// The steps of the small world (succession_world.hpp) in which every order of events is searched.
//
// A stopped process, a slow network and a wrong suspicion need no fault of their own: their step
// does not happen yet. The budget limits the faults, such as a program that dies or an answer that
// is lost.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "oeg/succession.hpp"
#include "tests/unit/oeg/succession_world.hpp"
#include "tests/unit/oeg/world_search.hpp"

namespace tickpath::oeg::model {

class Model final : private WorldSearch<World, Hash> {
 public:
  Model(const Budget& budget, Mutant mutant) : budget_(budget), mutant_(mutant) {}

  struct Result {
    std::string violation;  // with the way to it; empty: none
    std::size_t worlds = 0;
    bool took_over_and_traded = false;  // the rules are no dead end
    bool paired_again = false;
    bool founded = false;
  };

  Result run() {
    search(first_world(budget_));
    result_.worlds = worlds();
    result_.violation = violation();
    return result_;
  }

 private:
  void check(const World& world) override {
    // None lost: whoever holds the session knows every order that the venue took.
    if (world.session != 0) {
      const Node& owner = world.node(world.session);
      if (owner.alive && owner.logged_on && (world.accepted & ~owner.book.orders) != 0)
        violated("the session's owner does not know an order that the venue has");
    }
    // No two leaders: both could act without the other.
    const auto acts = [](const Node& node) { return node.alive && node.rules.may_act(false); };
    if (acts(world.nodes[0]) && acts(world.nodes[1])) violated("two lead alone");
    if (world.session == 2 && world.taken_over_by == 2) result_.took_over_and_traded = true;
    if (world.joins != 0 && world.words[world.life].epoch > 2 && !world.words[world.life].alone)
      result_.paired_again = true;
  }

  // What a memory that was lost or put back makes of the pair, a person may have to settle.
  bool is_live(const World& world) const override {
    return world.losses != 0 || world.copied != 0 || acts(world, 1) || acts(world, 2);
  }
  bool acts(const World& world, int id) const {
    const Node& node = world.node(id);
    return node.alive && !node.hangs && may_act(world, id) && has_room(world, id);
  }

  void forget(World& world) const override {
    if (budget_.log_room == kEntriesMax) world.log.forget_known_taken();
    world.log.forget_done();
  }

  // -------------------------------------------------------------------------- the steps
  void steps(const World& world) override {
    for (int id = 1; id <= 2; ++id) {
      const Node& node = world.node(id);
      if (!node.alive) {
        restart(world, id);
        continue;
      }
      if (world.crashes < budget_.crashes) {
        World next = world;
        ++next.crashes;
        die(next, id);
        fault(next, "dies", id);
      }
      if (node.hangs) continue;
      if (node.told && node.rules.role() == Role::kLeader) {  // first of all in its turn
        hear_renunciation(world, id);
        continue;
      }
      if (world.hangs < budget_.hangs && follows(world, id)) {
        World next = world;
        ++next.hangs;
        next.node(id).hangs = true;
        fault(next, "hangs for good", id);
      }
      begin_anew(world, id);
      if (world.copied < budget_.copies) {
        World next = world;
        ++next.copied;
        next.copies[static_cast<std::size_t>(id - 1)] = {true, node.journaled, node.book};
        fault(next, "is copied:", id);
      }
      ask(world, id);
      if (node.rules.role() == Role::kLeader) lead(world, id);
      if (world.log.writer == 3 - id) stand_by(world, id);
      join(world, id);
      if (node.told) hear_renunciation(world, id);
    }
    if (world.log.writer != 0 && !world.log.cut && world.cuts < budget_.cuts) {
      World next = world;
      ++next.cuts;
      next.log.cut = true;
      fault(next, "the connection is cut");
    }
    if (world.life < budget_.witness_lives) {
      World next = world;
      ++next.life;
      fault(next, "the witness starts anew");
    }
  }

  // The witness can be asked, or not. A copy that was put back is known by it alone.
  void restart(const World& world, int id) {
    fault(started(world, id, false), "starts again, without a witness", id);
    visit(started(world, id, true), "starts again", id);
    if (world.losses < budget_.losses) {
      World next = world;
      ++next.losses;
      Node& node = next.node(id);
      node = Node{};
      node.rules = node.journaled = Succession(static_cast<std::uint8_t>(id));
      node.newcomer = true;
      fault(next, "starts without a memory", id);
    }
    if (world.copies[static_cast<std::size_t>(id - 1)].there) {
      World next = world;
      Copy& copy = next.copies[static_cast<std::size_t>(id - 1)];
      next.node(id).journaled = copy.journaled;
      next.node(id).book = copy.book;
      copy = {};
      fault(started(next, id, mutant_ != Mutant::kMemoryTrusted), "starts from the copy", id);
    }
  }
  World started(const World& world, int id, bool asks) const {
    World next = world;
    Node& node = next.node(id);
    node.alive = true;
    node.asking = false;
    node.leaving = {};
    node.rules = node.journaled;
    const bool led = node.rules.role() == Role::kLeader;
    node.rules.begin_again(asks && led ? std::optional(world.words[world.life]) : std::nullopt);
    write_down(node);
    post(next, id);
    return next;
  }

  // Neither place has a memory. Place 2 says so to the witness, then place 1 founds the pair.
  void begin_anew(const World& world, int id) {
    const Node& node = world.node(id);
    if (!node.newcomer || node.rules.role() != Role::kOutsider || node.joining != Joining::kNo)
      return;
    World next = world;
    if (id == 2) {
      next.newcomer[world.life] = true;
      visit(next, "says that it remembers nothing:", id);
    } else if (world.words[world.life] == Leadership{} &&
               (world.newcomer[world.life] || mutant_ == Mutant::kFoundUnasked)) {
      next.node(id).rules.found();
      next.node(id).newcomer = false;
      write_down(next.node(id));
      result_.founded = true;
      visit(next, "founds the pair:", id);
    }
  }

  // At once: it may be executed at any time later, so nothing is lost by that. A life that is gone
  // is asked nothing more.
  void post(World& world, int id) const {
    Node& node = world.node(id);
    const auto wanted = node.rules.wanted();
    if (node.asking || !wanted || static_cast<int>(wanted->witness) < first_life(world)) return;
    node.asking = true;
    node.answered = false;
    node.change = *wanted;
  }

  void ask(const World& world, int id) {
    const Node& node = world.node(id);
    if (!node.asking) return;
    if (!node.answered) {
      if (node.change.desired.epoch > budget_.epoch_max) return hide();
      World next = world;
      Node& asker = next.node(id);
      Leadership& word = next.words[asker.change.witness];
      asker.found = word;
      if (word == asker.change.expected || mutant_ == Mutant::kEpochNotChecked) {
        asker.found = asker.change.expected;
        word = asker.change.desired;
      }
      asker.answered = true;
      // A life that is gone may have decided before.
      const bool gone = static_cast<int>(node.change.witness) < first_life(world);
      gone ? fault(next, "the witness decides for", id)
           : visit(next, "the witness decides for", id);
    } else {
      World next = world;
      Node& asker = next.node(id);
      asker.asking = asker.answered = false;
      asker.rules.on_answer(asker.change, asker.found);
      after_change(next, id);
      visit(next, "hears the witness", id);
      if (world.lost < budget_.lost_answers) {
        World deaf = world;
        ++deaf.lost;
        deaf.node(id).asking = deaf.node(id).answered = false;
        post(deaf, id);
        fault(deaf, "loses the answer", id);
      }
    }
  }

  // What follows at once from a change of the rules' state.
  void after_change(World& world, int id) {
    Node& node = world.node(id);
    if (node.rules.role() == Role::kOutsider && world.log.writer == id &&
        node.rules.word().leader == 3 - id && node.journaled.role() == Role::kLeader) {
      Entry entry;
      entry.kind = Entry::Kind::kHandedOver;
      entry.word = node.rules.word();
      (void)append(world, entry);
      if (!world.log.cut && !world.log.fence) world.log.placed = world.log.appended;
    }
    if (node.rules.role() != Role::kLeader) {
      node.recorded = {};
      node.logged_on = false;
    }
    write_down(node);
    post(world, id);
  }

  // As LogLeader::has_room(): a joiner is never waited for.
  bool has_room(const World& world, int id) const {
    const bool waits = world.node(id).rules.needs_confirmation() || mutant_ == Mutant::kJoinerWaits;
    return !replicates(world, id) || !waits || !is_full(world.log);
  }
  bool is_full(const Log& log) const { return log.appended - log.known_taken >= budget_.log_room; }
  // False: the search ends here. A log without room is given up.
  bool append(World& world, const Entry& entry) {
    Log& log = world.log;
    if (log.appended == kEntriesMax) {
      hide();
      return false;
    }
    if (is_full(log))
      log.given_up = true;
    else
      log.entries[log.appended++] = entry;
    return true;
  }
  bool may_act(const World& world, int id) const {
    const Succession& rules = world.node(id).rules;
    if (mutant_ == Mutant::kActUnconfirmed) return rules.may_act(true);
    if (mutant_ == Mutant::kLeaderNotAsking && rules.role() == Role::kLeader && rules.blocked())
      return true;
    return rules.may_act(confirmed(world, id));
  }

  void lead(const World& world, int id) {
    const Node& node = world.node(id);
    // Records a message: a Logon first, then orders.
    if (node.recorded == Entry{} && node.leaving == Entry{} && !node.rules.blocked() &&
        has_room(world, id)) {
      const bool logon = !node.logged_on || world.session != id;
      if (logon ? world.logons < budget_.logons : world.orders < budget_.orders) {
        World next = world;
        Node& leader = next.node(id);
        Entry message;
        message.kind = Entry::Kind::kMessage;
        message.order = logon ? std::uint8_t{0} : static_cast<std::uint8_t>(++next.orders);
        message.seq = leader.book.next_seq;
        next.logons = static_cast<std::uint8_t>(next.logons + (logon ? 1 : 0));
        if (!replicates(next, id) || append(next, message)) {
          take(leader, message);
          leader.recorded = message;
          visit(next, logon ? "records a Logon:" : "records an order:", id);
        }
      }
    }
    if (node.recorded != Entry{} && may_act(world, id)) {
      World next = world;
      next.node(id).leaving = node.recorded;
      next.node(id).recorded = {};
      visit(next, "may send:", id);
    }
    if (node.leaving != Entry{}) {
      World next = world;
      arrive(next, id);
      visit(next, "sends:", id);
    }
    if (replicates(world, id)) replicate(world, id);
    enrol_and_offer(world, id);
    const bool waits = mutant_ == Mutant::kFullLogWaits && is_full(world.log) && !world.log.cut;
    const bool hands_over = node.rules.blocked() && replicates(world, id);
    if (node.rules.needs_confirmation() && (!node.rules.blocked() || hands_over) && !waits) {
      World next = world;
      miss_standby(next, id);
      visit(next, "misses its standby:", id);
    }
    if (world.hand_overs < budget_.hand_overs && confirmed(world, id) && node.recorded == Entry{}) {
      World next = world;
      ++next.hand_overs;
      next.node(id).rules.hand_over();
      after_change(next, id);
      visit(next, "hands over:", id);
    }
    for (int life = first_life(world); life <= world.life && node.rules.needs_confirmation();
         ++life) {
      if (static_cast<std::uint64_t>(life) == node.rules.witness()) continue;
      World next = world;
      Succession& rules = next.node(id).rules;
      const auto to = static_cast<std::size_t>(life);
      const bool asks = rules.move(to, world.words[to]);
      if (asks && budget_.witnesses > 1 && ++next.moves > budget_.moves) {
        hide();
        continue;
      }
      if (mutant_ == Mutant::kMoveUntold && rules.moved()) {
        rules.on_move_told();
        rules.on_move_confirmed();
      }
      after_change(next, id);
      visit(next, "turns to the new witness:", id);
    }
  }

  void replicate(const World& world, int id) {
    const Log& log = world.log;
    if (log.placed < log.appended && !log.cut) {
      World next = world;
      next.log.placed = log.appended;
      visit(next, "WRITE lands of", id);
    }
    const bool news = log.confirmed < log.placed || log.fence || log.known_taken < log.taken;
    if (!log.reading && !log.cut && news && !log.saw_fence) {
      World next = world;
      next.log.reading = true;
      next.log.read_to = log.placed;
      next.log.read_taken = log.taken;
      next.log.read_fence = mutant_ != Mutant::kNoFence && log.fence;
      visit(next, "READ is executed of", id);
    }
    if (log.reading) {
      World next = world;
      next.log.reading = false;
      next.log.saw_fence |= log.read_fence;
      if (!log.read_fence) next.log.confirmed = log.read_to;
      if (!log.read_fence) next.log.known_taken = std::max(log.known_taken, log.read_taken);
      next.log.read_to = next.log.read_taken = 0;
      next.log.read_fence = false;
      on_taken(next, id, log.known_taken);
      on_confirmed(next, id, log.confirmed);
      visit(next, "hears its READ:", id);
    }
  }

  void on_taken(World& world, int id, int from) {
    for (int at = from; at < world.log.known_taken; ++at) {
      const Entry& entry = world.log.entries[static_cast<std::size_t>(at)];
      if (entry.kind == Entry::Kind::kOffer) world.node(id).rules.on_offer_taken(entry.word);
    }
  }
  void on_confirmed(World& world, int id, int from) {
    for (int at = from; at < world.log.confirmed; ++at)
      if (world.log.entries[static_cast<std::size_t>(at)].kind == Entry::Kind::kMove)
        world.node(id).rules.on_move_confirmed();
    if (world.log.saw_fence)
      miss_standby(world, id);
    else
      after_change(world, id);
  }
  void miss_standby(World& world, int id) {
    if (world.log.writer == id) world.log.given_up = true;
    world.node(id).rules.on_standby_lost();
    after_change(world, id);
  }

  // The lives from this one on are there, and can be asked.
  int first_life(const World& world) const { return world.life - budget_.witnesses + 1; }

  void enrol_and_offer(const World& world, int id) {
    const Node& node = world.node(id);
    if (!node.rules.word().alone && node.rules.moved() && replicates(world, id)) {
      World next = world;
      Succession& rules = next.node(id).rules;
      Entry entry;
      entry.kind = Entry::Kind::kMove;
      entry.witness = static_cast<std::uint8_t>(rules.moving_to());
      if (append(next, entry)) {
        rules.on_move_told();
        after_change(next, id);
        visit(next, "tells of the new witness:", id);
      }
    }
    if (!node.rules.word().alone || node.rules.needs_confirmation()) return;
    for (int life = first_life(world); life <= world.life; ++life) {
      World next = world;
      const auto to = static_cast<std::size_t>(life);
      if ((node.rules.witness() != to || world.words[to] != node.rules.word()) &&
          next.node(id).rules.enrol(to, world.words[to])) {
        after_change(next, id);
        visit(next, "enrols:", id);
      }
    }
    const bool enrolled = static_cast<int>(node.rules.witness()) >= first_life(world) &&
                          world.words[node.rules.witness()] == node.rules.word();
    const bool installed = world.node(3 - id).joining == Joining::kInstalled;
    if (enrolled && installed && replicates(world, id) && !world.log.cut && !world.log.saw_fence) {
      World next = world;
      Entry entry;
      entry.kind = Entry::Kind::kOffer;
      if (const auto word = next.node(id).rules.offer()) {
        entry.word = *word;
        entry.witness = static_cast<std::uint8_t>(next.node(id).rules.witness());
        if (append(next, entry)) {
          after_change(next, id);
          visit(next, "offers:", id);
        }
      }
    }
  }

  void take_entries(World& world, int id, int end) {
    Node& node = world.node(id);
    while (world.log.taken < end && node.rules.role() != Role::kLeader) {
      const Entry& entry = world.log.entries[world.log.taken++];
      switch (entry.kind) {
        case Entry::Kind::kMessage:
          take(node, entry);
          break;
        case Entry::Kind::kOffer:
          node.rules.on_offer(entry.word, entry.witness);
          node.joining = Joining::kNo;
          break;
        case Entry::Kind::kMove:
          node.rules.on_move(entry.witness);
          break;
        default:
          node.rules.on_handed_over(entry.word);
          if (mutant_ == Mutant::kHandedOverLeads)
            node.rules.on_answer(*node.rules.wanted(), node.rules.wanted()->expected);
      }
    }
    if (node.rules.role() == Role::kLeader) world.log = Log{};
    after_change(world, id);
  }

  void stand_by(const World& world, int id) {
    const Log& log = world.log;
    const Role role = world.node(id).rules.role();
    const std::uint8_t end = log.fence && mutant_ != Mutant::kNoFence ? log.end : log.placed;
    const bool installed = world.node(id).joining == Joining::kInstalled;
    if (log.taken < end && (role == Role::kStandby || (role == Role::kOutsider && installed))) {
      World next = world;
      take_entries(next, id, end);
      visit(next, "reads its log:", id);
    }
    if (role != Role::kStandby) return;
    if (!log.fence) {
      World next = world;
      fence(next);
      visit(next, "fences:", id);
      if (mutant_ == Mutant::kWitnessNotAsked) {
        World rash = next;
        rash.node(id).rules.on_leader_lost();
        rash.node(id).rules.on_answer(*rash.node(id).rules.wanted(),
                                      rash.node(id).rules.wanted()->expected);
        after_change(rash, id);
        visit(rash, "leads without asking:", id);
      }
    } else if (log.taken == end || mutant_ == Mutant::kLeadBeforeDrain) {
      World next = world;
      next.node(id).rules.on_leader_lost();
      after_change(next, id);
      visit(next, "claims:", id);
    }
  }

  // ---------------------------------------------------------------------- to join, in steps

  void join(const World& world, int id) {
    const Node& node = world.node(id);
    if (waits_for_word(world, id)) give_up(world, id);
    if (node.rules.may_take_back()) return wait_for_successor(world, id);
    const bool is_gone = static_cast<int>(node.change.witness) < first_life(world);
    if (node.rules.role() != Role::kOutsider || (node.asking && !is_gone)) return;
    if (node.joining != Joining::kNo && !is_streamed_to(world, id)) {
      World next = world;
      end_joining(next, id);
      visit(next, "joins in vain:", id);
    } else if (node.joining == Joining::kStreams && is_there(world, 3 - id)) {
      World next = world;
      Node& joiner = next.node(id);
      joiner.book = world.node(3 - id).book;
      joiner.joining = Joining::kInstalled;
      if (std::exchange(joiner.newcomer, false)) joiner.rules.join_as_newcomer();
      write_down(joiner);
      visit(next, "has the snapshot:", id);
    } else if (node.joining == Joining::kNo && is_there(world, 3 - id)) {
      ask_to_join(world, id);
    }
  }

  // After a hand-over: this one joins a successor that leads, or asks for its place again.
  void wait_for_successor(const World& world, int id) {
    World next = world;
    Node& node = next.node(id);
    const bool led = is_there(world, 3 - id) && leads(world, 3 - id);
    led ? node.rules.renounce() : node.rules.take_back();
    after_change(next, id);
    visit(next, led ? "is led:" : "asks for its place again:", id);
  }

  // To ask is to renounce. An oeg that has lost its memory cannot do that.
  void ask_to_join(const World& world, int id) {
    World next = world;
    Node& other = next.node(3 - id);
    const bool knows = world.node(id).knows() || mutant_ == Mutant::kNewcomerRenounces;
    if (!leads(world, 3 - id)) {
      if (other.rules.role() == Role::kOutsider || !knows) return;
      other.told = world.node(id).rules.renounced();
      return visit(next, "is refused:", id);
    }
    if (other.rules.needs_confirmation() && !knows) {
      miss_standby(next, 3 - id);
      return visit(next, "comes anew:", id);
    }
    if (world.joins >= budget_.joins) return hide();
    ++next.joins;
    if (other.rules.needs_confirmation()) {
      other.rules.on_peer_renounced(world.node(id).rules.renounced());
      write_down(other);
      post(next, 3 - id);
    }
    next.log = Log{};
    next.log.writer = static_cast<std::uint8_t>(3 - id);
    Node& joiner = next.node(id);
    joiner.joining = Joining::kStreams;
    joiner.logged_on = false;
    joiner.recorded = {};
    visit(next, "is streamed to:", id);
  }

  // A standby reads its log to the end before.
  void hear_renunciation(const World& world, int id) {
    World next = world;
    Node& node = next.node(id);
    const Leadership told = *std::exchange(node.told, std::nullopt);
    if (node.rules.role() == Role::kLeader && node.rules.needs_confirmation()) {
      if (next.log.writer == id) next.log.given_up = true;
      node.rules.on_standby_lost();
      node.rules.on_peer_renounced(told);
    } else if (node.rules.role() == Role::kStandby && next.log.writer == 3 - id) {
      fence(next);
      take_entries(next, id, next.log.end);
      node.rules.on_peer_renounced(told);
    } else if (node.rules.role() == Role::kClaimant) {
      node.rules.on_peer_renounced(told);
    }
    after_change(next, id);
    visit(next, "hears that the other one has renounced:", id);
  }

  bool waits_for_word(const World& world, int id) const {
    return model::waits_for_word(world, id, first_life(world));
  }
  // The other one leads, in a later epoch; or both wait, and then 2 gives way.
  void give_up(const World& world, int id) {
    if (!is_there(world, 3 - id)) return;
    const Succession& other = world.node(3 - id).rules;
    const Leadership theirs{other.word().epoch, other.self(), !other.needs_confirmation()};
    const bool lost =
        leads(world, 3 - id) && Succession::is_lost(world.node(id).rules.word(), theirs);
    const bool both = id == 2 && waits_for_word(world, 1);
    if (!lost && !both) return;
    World next = world;
    Node& node = next.node(id);
    node.rules.renounce();
    forget_answer(next, id, first_life(next));
    node.logged_on = false;
    node.recorded = {};
    write_down(node);
    if (both) forget_answer(next, 1, first_life(next));
    visit(next, "gives way:", id);
  }

  const Budget budget_;
  const Mutant mutant_;
  Result result_;
};

}  // namespace tickpath::oeg::model

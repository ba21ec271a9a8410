// The rules of succession, run through every order of events that a small world has: two gateways,
// a log between them, a witness that may forget, a venue that takes one session. Breadth first, so
// a counterexample is a shortest one.
//
// What stands still for any time is a step that does not happen: a stopped process, a slow network
// and a wrong suspicion need no fault of their own. Faults with a budget: a program that dies, an
// answer that is lost, a connection that is cut, a witness that starts anew.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "oeg/succession.hpp"
#include "tests/unit/oeg/succession_world.hpp"

namespace tickpath::oeg::model {

using Role = Succession::Role;

// Beyond it the world is too large for a test, and says nothing.
inline constexpr std::size_t kWorldsMax = 3'000'000;

class Model {
 public:
  Model(const Budget& budget, Mutant mutant) : budget_(budget), mutant_(mutant) {}

  struct Result {
    std::string violation;  // with the way to it; empty: none
    std::size_t worlds = 0;
    bool took_over_and_traded = false;  // the rules are no dead end
    bool paired_again = false;
  };

  Result run() {
    World first;
    first.nodes[0].rules = first.nodes[0].journaled = Succession(1);
    first.nodes[1].rules = first.nodes[1].journaled = Succession(2);
    // The pair as it trades: 1 leads, 2 stands by.
    Node& leader = first.node(1);
    leader.rules.found();
    (void)leader.rules.enrol(1, {1, 1, true});
    leader.rules.on_offer_confirmed(*leader.rules.offer());
    leader.rules.on_answer(*leader.rules.wanted(), {1, 1, true});
    first.life = static_cast<std::uint8_t>(budget_.witnesses);
    first.words[1] = {2, 1, false};
    first.node(2).rules.on_offer({2, 1, false}, 1);
    for (Node& node : first.nodes) node.journaled = node.rules;
    first.log.writer = 1;
    first.session = 1;
    first.expected_seq = 2;
    for (Node& node : first.nodes) node.book.next_seq = 2;
    leader.logged_on = true;
    visit(first, 0, "start");
    while (!queue_.empty() && result_.violation.empty() && worlds_.size() < kWorldsMax) {
      const std::size_t at = queue_.front();
      queue_.pop_front();
      at_ = at;
      const World world = *worlds_[at];
      steps(world);
    }
    result_.worlds = worlds_.size();
    return result_;
  }

 private:
  // ------------------------------------------------------------------------ the search
  void visit(const World& world, std::size_t from, const char* how, int who = 0) {
    const auto [where, fresh] = seen_.try_emplace(world, worlds_.size());
    if (!fresh) return;
    worlds_.push_back(&where->first);
    from_.push_back(from);
    how_.push_back(std::string(how) + (who == 0 ? "" : " " + std::to_string(who)));
    queue_.push_back(worlds_.size() - 1);
    check(world);
  }
  void violated(const std::string& what) {
    if (!result_.violation.empty()) return;
    std::vector<std::string> way;
    for (std::size_t at = worlds_.size() - 1; at != 0; at = from_[at]) way.push_back(how_[at]);
    std::reverse(way.begin(), way.end());
    result_.violation = what + ":";
    for (const std::string& step : way) result_.violation += "\n  " + step;
  }
  void check(const World& world) {
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

  // -------------------------------------------------------------------------- the steps
  void steps(const World& world) {
    for (int id = 1; id <= 2; ++id) {
      const Node& node = world.node(id);
      if (!node.alive) {
        restart(world, id);
        continue;
      }
      begin_anew(world, id);
      if (world.copied < budget_.copies) {
        World next = world;
        ++next.copied;
        next.copies[static_cast<std::size_t>(id - 1)] = {true, node.journaled, node.book};
        visit(next, at_, "is copied:", id);
      }
      ask(world, id);
      if (node.rules.role() == Role::kLeader) lead(world, id);
      if (world.log.writer == 3 - id) stand_by(world, id);
      join(world, id);
      if (world.crashes < budget_.crashes) {
        World next = world;
        ++next.crashes;
        die(next, id);
        visit(next, at_, "dies", id);
      }
    }
    if (world.log.writer != 0 && !world.log.cut && world.cuts < budget_.cuts) {
      World next = world;
      ++next.cuts;
      next.log.cut = true;
      visit(next, at_, "the connection is cut");
    }
    if (world.life < budget_.witness_lives) {
      World next = world;
      ++next.life;
      visit(next, at_, "the witness starts anew");
    }
  }

  static void die(World& world, int id) {
    Node& node = world.node(id);
    Node rest;
    rest.rules = Succession(static_cast<std::uint8_t>(id));
    rest.journaled = node.journaled;
    rest.book = node.book;
    rest.alive = false;
    // What its device has taken may still be executed; nobody hears the answer.
    rest.asking = node.asking && !node.answered;
    rest.change = node.change;
    // What the kernel has taken arrives.
    rest.leaving = node.leaving;
    node = rest;
    if (world.log.writer != 0) world.log.cut = true;
  }

  // The witness can be asked, or not. A copy that was put back is known by it alone.
  void restart(const World& world, int id) {
    visit(started(world, id, false), at_, "starts again, without a witness", id);
    visit(started(world, id, true), at_, "starts again", id);
    if (world.losses < budget_.losses) {
      World next = world;
      ++next.losses;
      Node& node = next.node(id);
      node = Node{};
      node.rules = node.journaled = Succession(static_cast<std::uint8_t>(id));
      node.newcomer = true;
      visit(next, at_, "starts without a memory", id);
    }
    if (world.copies[static_cast<std::size_t>(id - 1)].there) {
      World next = world;
      Copy& copy = next.copies[static_cast<std::size_t>(id - 1)];
      next.node(id).journaled = copy.journaled;
      next.node(id).book = copy.book;
      copy = {};
      visit(started(next, id, mutant_ != Mutant::kMemoryTrusted), at_, "starts from the copy", id);
    }
  }
  static World started(const World& world, int id, bool asks) {
    World next = world;
    Node& node = next.node(id);
    node.alive = true;
    node.asking = false;
    node.leaving = {};
    node.rules = node.journaled;
    const bool led = node.rules.role() == Role::kLeader;
    node.rules.begin_again(asks && led ? std::optional(world.words[world.life]) : std::nullopt);
    write_down(node);
    post(node);
    return next;
  }

  // Who remembers nothing: 2 says so to the witness, 1 founds the pair.
  void begin_anew(const World& world, int id) {
    const Node& node = world.node(id);
    if (!node.newcomer || node.rules.role() != Role::kOutsider) return;
    World next = world;
    if (id == 2) {
      next.newcomer[world.life] = true;
      visit(next, at_, "says that it remembers nothing:", id);
    } else if (world.words[world.life] == Leadership{} &&
               (world.newcomer[world.life] || mutant_ == Mutant::kFoundUnasked)) {
      next.node(id).rules.found();
      next.node(id).newcomer = false;
      write_down(next.node(id));
      visit(next, at_, "founds the pair:", id);
    }
  }

  static void write_down(Node& node) { node.journaled = node.rules; }

  void ask(const World& world, int id) {
    const Node& node = world.node(id);
    if (!node.asking) return;
    if (!node.answered) {
      if (node.change.desired.epoch > budget_.epoch_max) return;
      World next = world;
      Node& asker = next.node(id);
      Leadership& word = next.words[asker.change.witness];
      asker.found = word;
      if (word == asker.change.expected || mutant_ == Mutant::kEpochNotChecked) {
        asker.found = asker.change.expected;
        word = asker.change.desired;
      }
      asker.answered = true;
      visit(next, at_, "the witness decides for", id);
    } else {
      World next = world;
      Node& asker = next.node(id);
      asker.asking = asker.answered = false;
      asker.rules.on_answer(asker.change, asker.found);
      after_change(next, id);
      visit(next, at_, "hears the witness", id);
      if (world.lost < budget_.lost_answers) {
        World deaf = world;
        ++deaf.lost;
        deaf.node(id).asking = deaf.node(id).answered = false;
        post(deaf.node(id));
        visit(deaf, at_, "loses the answer", id);
      }
    }
  }

  // What follows at once from a change of the rules' state.
  static void after_change(World& world, int id) {
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
    post(node);
  }
  // At once: it may be executed at any time later, so nothing is lost by that.
  static void post(Node& node) {
    const auto wanted = node.rules.wanted();
    if (node.asking || !wanted) return;
    node.asking = true;
    node.answered = false;
    node.change = *wanted;
  }

  static bool append(World& world, const Entry& entry) {
    Log& log = world.log;
    if (log.appended == kEntriesMax) return false;
    log.entries[log.appended++] = entry;
    return true;
  }
  static bool replicates(const World& world, int id) {
    return world.log.writer == id && !world.log.given_up;
  }
  static bool confirmed(const World& world, int id) {
    return replicates(world, id) && world.log.confirmed == world.log.appended &&
           !world.log.saw_fence;
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
    if (node.recorded == Entry{} && node.leaving == Entry{} && !node.rules.blocked()) {
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
          visit(next, at_, logon ? "records a Logon:" : "records an order:", id);
        }
      }
    }
    if (node.recorded != Entry{} && may_act(world, id)) {
      World next = world;
      next.node(id).leaving = node.recorded;
      next.node(id).recorded = {};
      visit(next, at_, "may send:", id);
    }
    if (node.leaving != Entry{}) {
      World next = world;
      arrive(next, id);
      visit(next, at_, "sends:", id);
    }
    if (replicates(world, id)) replicate(world, id);
    enrol_and_offer(world, id);
    if (node.rules.needs_confirmation() && !node.rules.blocked()) {
      World next = world;
      miss_standby(next, id);
      visit(next, at_, "misses its standby:", id);
    }
    if (world.hand_overs < budget_.hand_overs && confirmed(world, id) && node.recorded == Entry{}) {
      World next = world;
      ++next.hand_overs;
      next.node(id).rules.hand_over();
      after_change(next, id);
      visit(next, at_, "hands over:", id);
    }
    for (int life = first_life(world); life <= world.life && node.rules.needs_confirmation();
         ++life) {
      if (static_cast<std::uint64_t>(life) == node.rules.witness()) continue;
      World next = world;
      Succession& rules = next.node(id).rules;
      const auto to = static_cast<std::size_t>(life);
      const bool asks = rules.move(to, world.words[to]);
      if (asks && budget_.witnesses > 1 && ++next.moves > budget_.moves) continue;
      if (mutant_ == Mutant::kMoveUntold && rules.moved()) {
        rules.on_move_told();
        rules.on_move_confirmed();
      }
      after_change(next, id);
      visit(next, at_, "turns to the new witness:", id);
    }
  }

  static void take(Node& node, const Entry& message) {
    if (message.order != 0)
      node.book.orders = static_cast<std::uint8_t>(node.book.orders | 1u << message.order);
    node.book.next_seq = static_cast<std::uint8_t>(message.seq + 1);
  }

  // At the venue. FIX: a Logon whose number is too low is refused; a new session ends the old one.
  static void arrive(World& world, int id) {
    Node& node = world.node(id);
    const Entry message = node.leaving;
    node.leaving = {};
    if (message.order == 0) {
      if (message.seq < world.expected_seq) return;
      world.session = static_cast<std::uint8_t>(id);
      node.logged_on = true;
      if (id == 2) world.taken_over_by = 1;
    } else {
      if (world.session != id) {
        node.logged_on = false;
        return;
      }
      world.accepted = static_cast<std::uint8_t>(world.accepted | 1u << message.order);
      if (world.taken_over_by == 1 && id == 2) world.taken_over_by = 2;
    }
    world.expected_seq = static_cast<std::uint8_t>(message.seq + 1);
  }

  void replicate(const World& world, int id) {
    const Log& log = world.log;
    if (log.placed < log.appended && !log.cut) {
      World next = world;
      next.log.placed = log.appended;
      visit(next, at_, "WRITE lands of", id);
    }
    if (!log.reading && !log.cut && (log.confirmed < log.placed || log.fence) && !log.saw_fence) {
      World next = world;
      next.log.reading = true;
      next.log.read_to = log.placed;
      next.log.read_fence = mutant_ != Mutant::kNoFence && log.fence;
      visit(next, at_, "READ is executed of", id);
    }
    if (log.reading) {
      World next = world;
      next.log.reading = false;
      if (log.read_fence)
        next.log.saw_fence = true;
      else
        next.log.confirmed = log.read_to;
      on_confirmed(next, id, log.confirmed);
      visit(next, at_, "hears its READ:", id);
    }
  }

  static void on_confirmed(World& world, int id, int from) {
    Succession& rules = world.node(id).rules;
    for (int at = from; at < world.log.confirmed; ++at) {
      const Entry& entry = world.log.entries[static_cast<std::size_t>(at)];
      if (entry.kind == Entry::Kind::kOffer) rules.on_offer_confirmed(entry.word);
      if (entry.kind == Entry::Kind::kMove) rules.on_move_confirmed();
    }
    if (world.log.saw_fence)
      miss_standby(world, id);
    else
      after_change(world, id);
  }
  static void miss_standby(World& world, int id) {
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
        visit(next, at_, "tells of the new witness:", id);
      }
    }
    if (!node.rules.word().alone || node.rules.needs_confirmation()) return;
    for (int life = first_life(world); life <= world.life; ++life) {
      World next = world;
      const auto to = static_cast<std::size_t>(life);
      if ((node.rules.witness() != to || world.words[to] != node.rules.word()) &&
          next.node(id).rules.enrol(to, world.words[to])) {
        after_change(next, id);
        visit(next, at_, "enrols:", id);
      }
    }
    const bool enrolled = static_cast<int>(node.rules.witness()) >= first_life(world) &&
                          world.words[node.rules.witness()] == node.rules.word();
    if (enrolled && replicates(world, id) && !world.log.cut && !world.log.saw_fence) {
      World next = world;
      Entry entry;
      entry.kind = Entry::Kind::kOffer;
      if (const auto word = next.node(id).rules.offer()) {
        entry.word = *word;
        entry.witness = static_cast<std::uint8_t>(next.node(id).rules.witness());
        if (append(next, entry)) {
          after_change(next, id);
          visit(next, at_, "offers:", id);
        }
      }
    }
  }

  static void take_entries(World& world, int id, int end) {
    Node& node = world.node(id);
    while (world.log.taken < end && node.rules.role() != Role::kLeader) {
      const Entry& entry = world.log.entries[world.log.taken++];
      switch (entry.kind) {
        case Entry::Kind::kMessage:
          take(node, entry);
          break;
        case Entry::Kind::kOffer:
          node.rules.on_offer(entry.word, entry.witness);
          break;
        case Entry::Kind::kMove:
          node.rules.on_move(entry.witness);
          break;
        default:
          node.rules.on_handed_over(entry.word);
      }
    }
    if (node.rules.role() == Role::kLeader) world.log = Log{};
    after_change(world, id);
  }

  void stand_by(const World& world, int id) {
    const Log& log = world.log;
    const Role role = world.node(id).rules.role();
    const std::uint8_t end = log.fence && mutant_ != Mutant::kNoFence ? log.end : log.placed;
    if (log.taken < end && (role == Role::kStandby || role == Role::kOutsider)) {
      World next = world;
      take_entries(next, id, end);
      visit(next, at_, "reads its log:", id);
    }
    if (role != Role::kStandby) return;
    if (!log.fence) {
      World next = world;
      next.log.fence = true;
      next.log.end = log.placed;
      visit(next, at_, "fences:", id);
      if (mutant_ == Mutant::kWitnessNotAsked) {
        World rash = next;
        rash.node(id).rules.on_leader_lost();
        rash.node(id).rules.on_answer(*rash.node(id).rules.wanted(),
                                      rash.node(id).rules.wanted()->expected);
        after_change(rash, id);
        visit(rash, at_, "leads without asking:", id);
      }
    } else if (log.taken == end || mutant_ == Mutant::kLeadBeforeDrain) {
      World next = world;
      next.node(id).rules.on_leader_lost();
      after_change(next, id);
      visit(next, at_, "claims:", id);
    }
  }

  // An outsider renounces and meets the other one.
  void join(const World& world, int id) {
    if (world.joins >= budget_.joins || world.node(id).asking) return;
    const Node& node = world.node(id);
    const Node& peer = world.node(3 - id);
    const bool outside = node.rules.role() == Role::kOutsider;
    // Who led a pair and cannot ask gives up where the other one is there.
    const bool stuck = node.rules.blocked() && !node.rules.wanted();
    if (!outside && !stuck) return;
    if (!peer.alive || peer.rules.role() == Role::kOutsider) return;
    if (!outside && peer.rules.role() == Role::kLeader && peer.rules.word().leader == id) return;
    World next = world;
    Node& joiner = next.node(id);
    Node& other = next.node(3 - id);
    joiner.rules.renounce();
    joiner.newcomer = false;
    joiner.logged_on = false;
    joiner.recorded = {};
    write_down(joiner);
    if (other.rules.role() != Role::kLeader || other.rules.needs_confirmation()) {
      // It settles its own side first; a standby reads its log to the end.
      if (other.rules.role() == Role::kStandby && next.log.writer == id)
        take_entries(next, 3 - id, next.log.placed);
      other.rules.on_peer_renounced();
      write_down(other);
      post(other);
    }
    if (other.rules.role() != Role::kLeader) return;
    ++next.joins;
    next.log = Log{};
    next.log.writer = static_cast<std::uint8_t>(3 - id);
    joiner.book = other.book;  // the snapshot
    visit(next, at_, "joins the other:", id);
  }

  const Budget budget_;
  const Mutant mutant_;
  std::unordered_map<World, std::size_t, Hash> seen_;
  std::vector<const World*> worlds_;
  std::vector<std::size_t> from_;
  std::vector<std::string> how_;
  std::deque<std::size_t> queue_;
  std::size_t at_ = 0;
  Result result_;
};

}  // namespace tickpath::oeg::model

// A small world for the rules of succession: two gateways, a log between them, a witness that may
// forget, a venue that takes one session. Equal worlds have equal hashes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "oeg/succession.hpp"

namespace tickpath::oeg::model {

using wire::Leadership;
using Role = Succession::Role;

// One rule is broken at a time. The tests must find each.
enum class Mutant : std::uint8_t {
  kNone,
  kNoFence,            // the standby asks without having fenced its log
  kLeadBeforeDrain,    // ... and without having read it to the end
  kActUnconfirmed,     // the leader acts before its standby has confirmed
  kWitnessNotAsked,    // a suspicious standby leads without the word
  kLeaderNotAsking,    // a leader that misses its standby goes on without the word
  kEpochNotChecked,    // any word that the witness holds is taken for the one expected
  kMoveUntold,         // a new life of the witness decides before the standby knows
  kFoundUnasked,       // a pair is founded where the witness holds no word, whoever remembers what
  kMemoryTrusted,      // who begins again goes by its memory alone, also where that was put back
  kFullLogWaits,       // a standby that takes nothing of a full log is waited for
  kJoinerWaits,        // ... and a joiner
  kNewcomerRenounces,  // who asks to join without a memory counts as having renounced
  kHandedOverLeads,    // who is handed the place leads without asking for the word
};

inline constexpr int kEntriesMax = 8;

struct Budget {
  int orders = 2;
  int logons = 2;
  int crashes = 0;
  int cuts = 0;
  int lost_answers = 0;
  int witness_lives = 1;
  int witnesses = 1;  // there at a time
  int moves = 100;    // from one to another: of two it could turn for ever
  int joins = 1;
  int hand_overs = 0;
  int losses = 0;              // of a memory, with the journal
  int copies = 0;              // of both, put back at a later start
  int hangs = 0;               // of a program that follows, for good
  int log_room = kEntriesMax;  // entries that the standby has not taken, as far as the leader knows
  bool from_nothing = false;   // neither has a memory; else one leads and the other one stands by
  std::uint32_t epoch_max = 6;
};

struct Entry {
  enum class Kind : std::uint8_t { kNone, kMessage, kOffer, kMove, kHandedOver };
  Kind kind = Kind::kNone;
  std::uint8_t order = 0;  // kMessage: 0 is a Logon
  std::uint8_t seq = 0;    // kMessage
  Leadership word;
  std::uint8_t witness = 0;
  bool operator==(const Entry&) const = default;
};

// What a side knows of the trade: replicated, and in the journal.
struct Book {
  std::uint8_t orders = 0;    // a bit each
  std::uint8_t next_seq = 1;  // MsgSeqNum of our next message
  bool operator==(const Book&) const = default;
};

// A joiner's way: the leader streams to it, then it has the snapshot, then it is offered its place.
enum class Joining : std::uint8_t { kNo, kStreams, kInstalled };

struct Node {
  Succession rules{1};
  Succession journaled{1};  // what a restart begins with
  bool alive = true;
  Book book;
  // A message recorded and not sent yet, and one on its way from the check to the socket.
  Entry recorded;
  Entry leaving;
  bool logged_on = false;  // as it believes
  // A request to the witness: at its device, executed, or neither.
  bool asking = false;
  bool answered = false;
  Succession::Change change{};
  Leadership found;
  bool told_move = false;
  bool newcomer = false;  // it remembers nothing
  Joining joining = Joining::kNo;
  // The other one has renounced that, and this one has not looked yet.
  std::optional<Leadership> told;
  bool hangs = false;
  bool operator==(const Node&) const = default;

  // What it renounces.
  bool knows() const noexcept { return !newcomer && !rules.superseded(); }
};

// The log from `writer` to the other node: the standby's memory, and what the writer knows of it.
struct Log {
  std::uint8_t writer = 0;  // 0: there is none
  std::array<Entry, kEntriesMax> entries{};
  std::uint8_t appended = 0;
  std::uint8_t placed = 0;
  std::uint8_t confirmed = 0;
  bool cut = false;
  bool given_up = false;  // by its writer
  bool reading = false;   // a READ was executed, its answer is out
  std::uint8_t read_to = 0;
  bool read_fence = false;
  bool saw_fence = false;
  bool fence = false;
  std::uint8_t end = 0;
  std::uint8_t taken = 0;
  std::uint8_t known_taken = 0;  // by the writer
  std::uint8_t read_taken = 0;   // what the READ under way brings
  bool operator==(const Log&) const = default;

  // Where a log cannot be full nobody looks at how much of it is known to be taken, but for offers.
  void forget_known_taken() noexcept {
    const auto is_offer = [](const Entry& entry) { return entry.kind == Entry::Kind::kOffer; };
    for (std::uint8_t* const known : {&known_taken, &read_taken})
      if (std::none_of(entries.begin() + std::min(*known, taken), entries.begin() + taken,
                       is_offer))
        *known = taken;
  }
  // Nobody looks at entries again that are taken and confirmed. Without them worlds that differ
  // only in their past are one.
  void forget_done() noexcept {
    std::uint8_t done = std::min(confirmed, taken);
    done = std::min(done, known_taken);
    if (reading) done = std::min({done, read_to, read_taken});
    if (fence) done = std::min(done, end);
    if (done == 0) return;
    std::rotate(entries.begin(), entries.begin() + done, entries.end());
    std::fill(entries.end() - done, entries.end(), Entry{});
    for (std::uint8_t* const at :
         {&appended, &placed, &confirmed, &taken, &known_taken, &read_to, &read_taken, &end})
      *at = *at < done ? std::uint8_t{0} : static_cast<std::uint8_t>(*at - done);
  }
};

// A copy of a node's memory and journal.
struct Copy {
  bool there = false;
  Succession journaled{1};
  Book book;
  bool operator==(const Copy&) const = default;
};

struct World {
  std::array<Node, 2> nodes{};
  Log log;
  std::array<Leadership, 3> words{};  // by life of the witness
  std::array<bool, 3> newcomer{};     // likewise: 2 has said that it remembers nothing
  std::array<Copy, 2> copies{};
  std::uint8_t life = 1;
  std::uint8_t session = 0;  // the venue's; 0: nobody
  std::uint8_t expected_seq = 1;
  std::uint8_t accepted = 0;  // orders, a bit each
  std::uint8_t taken_over_by = 0;
  // Spent.
  std::uint8_t orders = 0, logons = 0, crashes = 0, cuts = 0, lost = 0, joins = 0, hand_overs = 0,
               moves = 0, losses = 0, copied = 0, hangs = 0;
  bool operator==(const World&) const = default;

  Node& node(int id) { return nodes[static_cast<std::size_t>(id - 1)]; }
  const Node& node(int id) const { return nodes[static_cast<std::size_t>(id - 1)]; }
};

struct Hash {
  static void mix(std::size_t& seed, std::uint64_t value) {
    seed = (seed ^ value) * 0x9e3779b97f4a7c15ull;
    seed ^= seed >> 29;
  }
  static void mix(std::size_t& seed, const Entry& e) {
    mix(seed,
        (std::uint64_t(e.kind) << 24 | std::uint64_t(e.order) << 16 | e.seq << 8 | e.witness) ^
            e.word.word() << 3);
  }
  static void mix(std::size_t& seed, const Succession& s) {
    mix(seed, s.word().word() ^ (std::uint64_t(s.role()) << 20) ^ s.witness() << 16);
    const auto wanted = s.wanted();
    mix(seed, wanted ? wanted->expected.word() * 31 + wanted->desired.word() : 7);
    mix(seed, (s.needs_confirmation() ? 1u : 0u) | (s.moved() ? 2u : 0u));
  }
  std::size_t operator()(const World& w) const {
    std::size_t seed = 1;
    for (const Node& n : w.nodes) {
      mix(seed, n.rules);
      mix(seed, n.journaled);
      mix(seed, std::uint64_t(n.book.orders) << 8 | n.book.next_seq | (n.alive ? 1u : 0u) << 16 |
                    (n.logged_on ? 1u : 0u) << 17 | (n.asking ? 1u : 0u) << 18 |
                    (n.answered ? 1u : 0u) << 19 | std::uint64_t(n.joining) << 20 |
                    (n.told ? 1u : 0u) << 22 | (n.hangs ? 1u : 0u) << 23);
      mix(seed, n.recorded);
      mix(seed, n.leaving);
      mix(seed, n.found.word());
    }
    for (const Entry& e : w.log.entries) mix(seed, e);
    mix(seed, std::uint64_t(w.log.writer) | std::uint64_t(w.log.appended) << 4 |
                  std::uint64_t(w.log.placed) << 8 | std::uint64_t(w.log.confirmed) << 12 |
                  std::uint64_t(w.log.read_to) << 16 | std::uint64_t(w.log.end) << 20 |
                  std::uint64_t(w.log.taken) << 24 | std::uint64_t(w.log.cut) << 28 |
                  std::uint64_t(w.log.reading) << 29 | std::uint64_t(w.log.given_up) << 31 |
                  std::uint64_t(w.log.fence) << 30 | std::uint64_t(w.log.known_taken) << 32 |
                  std::uint64_t(w.log.read_taken) << 36);
    for (const Leadership& word : w.words) mix(seed, word.word());
    mix(seed, std::uint64_t(w.life) | std::uint64_t(w.session) << 4 |
                  std::uint64_t(w.expected_seq) << 8 | std::uint64_t(w.accepted) << 16 |
                  std::uint64_t(w.orders) << 24 | std::uint64_t(w.crashes) << 28 |
                  std::uint64_t(w.cuts) << 32 | std::uint64_t(w.lost) << 36 |
                  std::uint64_t(w.joins) << 40 | std::uint64_t(w.logons) << 44 |
                  std::uint64_t(w.hand_overs) << 48 | std::uint64_t(w.moves) << 52 |
                  std::uint64_t(w.losses) << 56 | std::uint64_t(w.copied) << 60);
    return seed;
  }
};

inline World first_world(const Budget& budget) {
  World first;
  first.nodes[0].rules = first.nodes[0].journaled = Succession(1);
  first.nodes[1].rules = first.nodes[1].journaled = Succession(2);
  first.life = static_cast<std::uint8_t>(budget.witnesses);
  if (budget.from_nothing) {
    for (Node& node : first.nodes) node.newcomer = true;
    return first;
  }
  // The pair as it trades: 1 leads, 2 stands by.
  Node& leader = first.node(1);
  leader.rules.found();
  (void)leader.rules.enrol(1, {1, 1, true});
  leader.rules.on_offer_taken(*leader.rules.offer());
  leader.rules.on_answer(*leader.rules.wanted(), {1, 1, true});
  first.words[1] = {2, 1, false};
  first.node(2).rules.on_offer({2, 1, false}, 1);
  for (Node& node : first.nodes) node.journaled = node.rules;
  first.log.writer = 1;
  first.session = 1;
  first.expected_seq = 2;
  for (Node& node : first.nodes) node.book.next_seq = 2;
  leader.logged_on = true;
  return first;
}

// ---- what changes a world, of itself

inline void write_down(Node& node) { node.journaled = node.rules; }

inline bool replicates(const World& world, int id) {
  return world.log.writer == id && !world.log.given_up;
}

inline bool confirmed(const World& world, int id) {
  return replicates(world, id) && world.log.confirmed == world.log.appended && !world.log.saw_fence;
}

inline void take(Node& node, const Entry& message) {
  if (message.order != 0)
    node.book.orders = static_cast<std::uint8_t>(node.book.orders | 1u << message.order);
  // A joiner's snapshot may be ahead of its log.
  node.book.next_seq = std::max(node.book.next_seq, static_cast<std::uint8_t>(message.seq + 1));
}

// At the venue. FIX: a Logon whose number is too low is refused; a new session ends the old one.
inline void arrive(World& world, int id) {
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

inline void die(World& world, int id) {
  Node& node = world.node(id);
  Node rest;
  rest.rules = Succession(static_cast<std::uint8_t>(id));
  rest.journaled = node.journaled;
  rest.book = node.book;
  rest.alive = false;
  rest.newcomer = node.newcomer;
  // What its device has taken may still be executed; nobody hears the answer.
  rest.asking = node.asking && !node.answered;
  rest.change = node.change;
  // What the kernel has taken arrives.
  rest.leaving = node.leaving;
  node = rest;
  if (world.log.writer != 0) world.log.cut = true;
}

inline void fence(World& world) {
  if (world.log.fence) return;
  world.log.fence = true;
  world.log.end = world.log.placed;
}

inline bool is_there(const World& world, int id) {
  return world.node(id).alive && !world.node(id).hangs;
}

inline bool is_streamed_to(const World& world, int id) {
  return replicates(world, 3 - id) && !world.log.cut && world.node(3 - id).alive;
}

inline bool leads(const World& world, int id) {
  const Succession& rules = world.node(id).rules;
  return rules.role() == Role::kLeader && !rules.blocked();
}

// A claim whose answer would leave it as it is: the offer in its word has not got to the witness.
inline bool is_settled_by_none(const World& world, const Succession::Change& wanted) {
  const Leadership& word = world.words[wanted.witness];
  return word.leader == wanted.expected.leader && word.epoch < wanted.expected.epoch;
}

// The node has no right to go on without a word, and no witness from first_life on gives it one.
inline bool waits_for_word(const World& world, int id, int first_life) {
  const Succession& rules = world.node(id).rules;
  if (!rules.blocked() && rules.role() != Role::kClaimant) return false;
  const auto wanted = rules.wanted();
  return !wanted || static_cast<int>(wanted->witness) < first_life || rules.other_came_first() ||
         is_settled_by_none(world, *wanted);
}

// The answer of a life that is gone is lost. One that is there executes what it was asked.
inline void forget_answer(World& world, int id, int first_life) {
  Node& node = world.node(id);
  if (!node.asking || static_cast<int>(node.change.witness) >= first_life) return;
  node.asking = node.answered = false;
}

// A leader that hangs for good is ended by a person, and so is one that asks for its place.
inline bool follows(const World& world, int id) {
  const Node& node = world.node(id);
  const bool fenced = world.log.writer == 3 - id && world.log.fence;
  return leads(world, 3 - id) && !node.asking && !fenced &&
         (node.rules.role() == Role::kStandby || node.rules.role() == Role::kOutsider);
}

// Its process starts again, without the log.
inline void end_joining(World& world, int id) {
  world.node(id).joining = Joining::kNo;
  if (world.log.writer != 3 - id) return;
  fence(world);
  world.log.cut = true;
  world.log.taken = world.log.end;
}

}  // namespace tickpath::oeg::model

// A small world for the rules of succession: two gateways, a log between them, a witness that may
// forget, a venue that takes one session. Equal worlds have equal hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "oeg/succession.hpp"

namespace tickpath::oeg::model {

using wire::Leadership;

// How the world breaks the rules, one at a time: each has to be found.
enum class Mutant : std::uint8_t {
  kNone,
  kNoFence,          // the standby asks without having fenced its log
  kLeadBeforeDrain,  // ... and without having read it to the end
  kActUnconfirmed,   // the leader acts before its standby has confirmed
  kWitnessNotAsked,  // a suspicious standby leads without the word
  kLeaderNotAsking,  // a leader that misses its standby goes on without the word
  kEpochNotChecked,  // any word that the witness holds is taken for the one expected
  kMoveUntold,       // a new life of the witness decides before the standby knows
  kFoundUnasked,     // a pair is founded where the witness holds no word, whoever remembers what
  kMemoryTrusted,    // who begins again goes by its memory alone, also where that was put back
};

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
  int losses = 0;  // of a memory, with the journal
  int copies = 0;  // of both, put back at a later start
  std::uint32_t epoch_max = 6;
};

inline constexpr int kEntriesMax = 8;

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
  bool operator==(const Node&) const = default;
};

// From `writer` to the other one. The standby's memory, and what the writer knows of it.
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
  bool operator==(const Log&) const = default;
};

// Of a node's memory and journal.
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
               moves = 0, losses = 0, copied = 0;
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
                    (n.answered ? 1u : 0u) << 19);
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
                  std::uint64_t(w.log.fence) << 30);
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

}  // namespace tickpath::oeg::model

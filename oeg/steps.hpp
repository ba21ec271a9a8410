// Where a test may stop or end an oeg of a pair between two of its steps, and rules that it may
// have it break, to see that fault runs find it (tests/fault/pair.py). Only the program oeg_steps
// of tests/fault is compiled with TICKPATH_STEPS; in any other this is nothing.
#pragma once

#include <cstdint>

namespace tickpath::oeg {

enum class Step : std::uint32_t {
  kNone,
  // The leader, on the way of an order and its reports.
  kRecorded,   // in the journal and staged for the standby, not sent to it yet
  kPosted,     // WRITEs, and the READ behind them
  kConfirmed,  // by the READ; nothing has followed from it yet
  kSent,       // the order is handed to the kernel
  kReported,   // a report is sent to its strategy
  kOffered,    // to a standby that has caught up
  kAsked,      // either: a COMPARE_SWAP of the witness's word is on its way
  // The standby that becomes the leader.
  kFenced,     // its log takes no more, and is not read to its end yet
  kDecided,    // the word is its own
  kRecovered,  // from journal and FIX store; not logged on yet
  kLast = kRecovered,
};

enum class Rule : std::uint32_t {
  kFence = 1,       // a standby fences its log before it asks for the leader's place
  kConfirm = 2,     // nothing takes effect before the standby has confirmed it
  kWitness = 4,     // who takes over asks the witness before
  kEpoch = 8,       // and looks whether the word was what it expected
  kTaken = 16,      // a standby that takes nothing of a full log is given up
  kJoiner = 32,     // nothing waits for a joiner
  kFollows = 64,    // a standby without room in its journal gives itself up
  kProgress = 128,  // what counts is how long confirmation stands still
};

#ifdef TICKPATH_STEPS
void at(Step step) noexcept;
bool broken(Rule rule) noexcept;
#else
constexpr void at(Step) noexcept {}
constexpr bool broken(Rule) noexcept { return false; }
#endif

}  // namespace tickpath::oeg

// The entries of a pair's log, and their payloads. Host order: both sides are this program.
#pragma once

#include <cstdint>

namespace tickpath::oeg {

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

// A joiner acknowledges this before any offer, whose epoch has 32 bits: its datapath reads the log.
inline constexpr std::uint64_t kTakesItself = ~std::uint64_t{0};

}  // namespace tickpath::oeg

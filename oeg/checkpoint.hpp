// The file that spares a restart the journal's former segments: a JournalState at the end of one.
//
// A checkpoint is written beside the journal as a whole and then renamed into place. So there is
// always a whole one, the former or the new one.
//
// File: CheckpointHeader, then so many sections: CheckpointSection, then its items.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oeg/journal_state.hpp"

namespace tickpath::oeg {

// Host order, version 1.
//  0 magic | 8 version | 12 sections | 16 segment | 24 sequence | 32 body_bytes | 40 checksum
// 48 incarnation | 52 reserved                                                       (56 bytes)
struct CheckpointHeader {
  static constexpr char kMagic[8] = {'t', 'k', 'c', 'h', 'e', 'c', 'k', 'p'};
  static constexpr std::uint32_t kVersion = 1;
  char magic[8];
  std::uint32_t version;
  std::uint32_t sections;
  std::uint64_t segment;     // the first whose records are not in it
  std::uint64_t sequence;    // of the last record that is in it
  std::uint64_t body_bytes;  // of all sections
  std::uint64_t checksum;    // of those bytes: FNV-1a, 64 bits
  std::uint32_t incarnation;
  std::uint32_t reserved;
};
static_assert(sizeof(CheckpointHeader) == 56);

// Numbers are stable. A section that a program does not know ends its start: what it says would be
// lost. One that is missing is empty, so that a program reads the checkpoints of its elders.
enum class SectionKind : std::uint32_t {
  kFacts = 1,            // CheckpointFacts, one
  kInstruments = 2,      // CheckpointInstrument: the symbols of ids in use
  kFormerPositions = 3,  // CheckpointFormerRow, in the order of rows: of former versions
  kOrders = 4,           // SavedOrder, of each strategy the oldest first
  kStrategies = 5,       // JournalState::StrategyIds
  kExecutions = 6,       // Execution: those remembered, oldest first
  kExceptions = 7,     // JournalRecord: those not known to be listed; left out where there are none
  kSecondCancels = 8,  // CheckpointSecondCancel, after the orders; likewise
  kOrderTerms = 9,     // CheckpointOrderTerms, likewise
  kPositions = 10,     // wire::PositionRow, in the order of rows; before the orders
  kUnfinished = 11,    // JournalRecord: of an entry whose last record is not in it; likewise
};

struct CheckpointSection {
  SectionKind kind;
  std::uint32_t item_bytes;  // of another size: of another version
  std::uint64_t count;
};

struct CheckpointFacts {
  RecoveredCounts counts;
  std::uint64_t records;
  std::uint64_t impossible;
  // The last record of the last entry. A restart decides whether it took effect outside
  // (recovery.hpp).
  JournalRecord last;
};
static_assert(sizeof(CheckpointFacts) == 272);

struct CheckpointInstrument {
  std::uint32_t id;
  char symbol[16];  // NUL-padded
};
static_assert(sizeof(CheckpointInstrument) == 20);

// A row without fees, as it was written once.
struct CheckpointFormerRow {
  std::uint32_t instrument_id;
  std::uint8_t strategy_id;
  std::uint8_t reserved[3];
  std::int64_t position_shares;
  std::int64_t cash;
  std::uint32_t open_buy_shares;
  std::uint32_t open_sell_shares;
  std::uint64_t events;
  std::uint64_t fills;
};
static_assert(sizeof(CheckpointFormerRow) == 48);

// The second request of an order that has two on their way.
struct CheckpointSecondCancel {
  std::uint64_t order_id;
  std::uint64_t cancel_id;
  std::uint8_t own;
  std::uint8_t stale;  // Order::second_cancel_stale
  std::uint8_t reserved[6];
};
static_assert(sizeof(CheckpointSecondCancel) == 24);

// Terms of an order beyond price and shares.
struct CheckpointOrderTerms {
  std::uint64_t order_id;
  std::uint32_t display_shares;
  std::uint32_t minimum_shares;
  std::uint32_t stop_price;
  std::uint32_t pending_stop_price;
  std::uint8_t instructions;
  std::uint8_t reserved[7];
};
static_assert(sizeof(CheckpointOrderTerms) == 32);

// The whole file. Control thread.
std::string checkpoint_bytes(const JournalState& state, std::uint64_t segment,
                             std::uint32_t incarnation);
// Control thread. `renaming` is called between the writing and the renaming. Throws SystemError;
// then the former one stands.
void write_checkpoint(const std::string& path, const JournalState& state, std::uint64_t segment,
                      std::uint32_t incarnation, const std::function<void()>& renaming);

// The header alone. False: there is no such file. Throws SystemError, Error.
bool read_checkpoint_header(const std::string& path, CheckpointHeader& header);
// What was held, alone; for readers beside oeg. All empty: there is no such file. Throws
// SystemError, Error.
struct CheckpointHoldings {
  std::uint64_t sequence = 0;  // of the last record that is in it
  std::vector<CheckpointInstrument> instruments;
  std::vector<wire::PositionRow> positions;
};
CheckpointHoldings read_checkpoint_holdings(const std::string& path);
// Into a fresh state. Throws SystemError, Error: damaged, of another version, more than it has room
// for.
void read_checkpoint(const std::string& path, JournalState& state);

}  // namespace tickpath::oeg

// What a journal adds up to: the state that a restart goes on from. Built by applying records to a
// checkpoint, the same way after a crash and, on the control thread, behind the living datapath.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "oeg/executions.hpp"
#include "oeg/gateway_counters.hpp"
#include "oeg/instruments.hpp"
#include "oeg/journal_entry.hpp"

namespace tickpath::oeg {

struct JournalSizes {
  std::uint32_t orders_max = 1u << 16;
  std::uint32_t positions_max = 1u << 12;
  std::uint32_t instruments_max = 1u << 14;
  std::uint32_t executions_max = 1u << 18;
};

// Control thread.
class JournalState {
 public:
  explicit JournalState(const JournalSizes& sizes);

  // Takes the next record. The state changes once its entry is whole. Throws Error where `sizes`
  // have no room for it.
  void apply(const JournalRecord& record);

  // A new day: counts from 0. carry: positions, used ids and the orders that outlive a day go with
  // it. A position is then worth what the newest execution in its instrument says, so that the
  // day's result begins at zero. Without carry nothing goes on.
  std::unique_ptr<JournalState> next_day(bool carry) const;

  // The ids that a strategy has used, up to last_id (its low 48 bits), in order of first
  // appearance.
  struct StrategyIds {
    std::uint64_t last_id;
    std::uint8_t strategy;
    std::uint8_t reserved[7];
  };

  const JournalSizes sizes;
  Ledger ledger;
  Instruments instruments;  // their symbols alone
  std::vector<StrategyIds> strategies;
  Executions executions;
  // A second copy for a standby, which may have to lead at any moment: a copy made then would take
  // the longer the later in the day. nullptr: this oeg is no standby.
  std::unique_ptr<Executions> executions_to_lead;
  GatewayCounters counters;
  // Reports that could not be booked, in order: those that whoever owns this has not taken off,
  // because they are not known to stand in the list for a person (exceptions.hpp).
  std::vector<JournalRecord> exceptions;
  std::uint64_t sequence = 0;    // of the last record taken, or of the checkpoint
  JournalRecord last{};          // of the last whole entry; its sequence is 0 where there is none
  JournalEntries entries;        // records of an entry without an end are in nothing else here
  std::uint64_t records = 0;     // taken since the start of the day
  std::uint64_t impossible = 0;  // that do not follow from those before

 private:
  void book(const JournalRecord& record);
  bool change(const JournalRecord& record);
  void begin_session(bool new_day);
  StrategyIds& ids_of(std::uint8_t strategy);
  bool requested(const JournalRecord& record);
  bool reported(const JournalRecord& record);
  bool fill_changed(const wire::OrderEvent& event);
  void carry_orders(JournalState& next) const;
};
static_assert(sizeof(JournalState::StrategyIds) == 16);

}  // namespace tickpath::oeg

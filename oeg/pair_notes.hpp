// What one of a pair counts, and the log events of its datapath (OegApplication::define_notes()).
#pragma once

#include <cstdint>

#include "common/base/counter.hpp"

namespace tickpath::oeg {

struct PairCounters {
  TICKPATH_COUNTERS(entries_sent,   // into the standby's log
                    entries_taken,  // out of the leader's
                    waits,          // what was to take effect had to wait for the standby
                    standbys_joined, standbys_lost,
                    log_full,  // no room: the standby takes too slowly
                    damaged);  // logs that were none
};

enum class PairNote : std::uint16_t {
  kStandbyJoined = 100,
  kStandbyReady,
  kStandbyLost,
  kSuspects,
  kTakesOver,
  kRetires,
  kWitnessUp,
  kWitnessDown,
  kLogDamaged,
  kJournalFull,
  kUnsaved,
  kNotHandedOver,
};

}  // namespace tickpath::oeg

// What a restart makes of the last run's journal and FIX store.
#pragma once

#include <cstdint>

#include "common/fix/session.hpp"
#include "oeg/gateway.hpp"
#include "oeg/journal.hpp"

namespace tickpath::oeg {

struct RecoveryResult {
  std::uint64_t records = 0;
  std::uint64_t open_orders = 0;
  std::uint64_t positions = 0;
  std::uint64_t unsent = 0;      // journaled, but the process died before it was sent: 0 or 1
  std::uint64_t impossible = 0;  // records that do not follow from those before
  bool report_was_processed =
      false;  // the last report was booked, but not yet taken off the session
};

// Brings the gateway into the journal's state. Control thread, before the datapath starts and
// before the session is attached. next_sender, next_target: of the FIX store. Throws Error when the
// journal needs more room than the configuration gives.
RecoveryResult recover(Gateway& gateway, Journal& journal, std::uint32_t next_sender,
                       std::uint32_t next_target);

}  // namespace tickpath::oeg

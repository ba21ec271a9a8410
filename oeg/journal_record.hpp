// A record of the order journal: a change of state, complete enough to be replayed. An entry is all
// records of one message of the venue. It counts as a whole or not at all (journal_entry.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/order_event.hpp"

namespace tickpath::oeg {

// Which part of its entry a record is.
struct EntryPart {
  static constexpr std::uint8_t kMore = 1;       // another record of the entry follows
  static constexpr std::uint8_t kContinues = 2;  // one came before it
  static constexpr std::uint8_t kEndsOnly = 4;   // no change of state: it ends the entry
};

//   0 sequence | 8 event (56) | 64 realtime_ns | 72 execution_id | 80 fix_seq | 84 order_shares
//  88 limit_price | 92 type | 93 time_in_force | 94 own | 95 exception | 96 symbol[16]
// 112 display_shares | 116 minimum_shares | 120 stop_price | 124 instructions | 125 reserved
// 126 part | 127 timed                                                             (128 bytes)
//
// Host order; a file, not a message. Of segments of version 3 (journal_segment.hpp). The reserved
// byte 125 may be 1 in those of version 2.
struct JournalRecord {
  std::uint64_t sequence;  // from 1, over all segments without gaps; 0: never written. Stored last.
  wire::OrderEvent event;  // kRequested, kReported, kException, kNewSession, kRefused (new orders)
  std::int64_t realtime_ns;
  std::uint64_t execution_id;  // kReported, kException: the venue's; else exchange_time_ns()
  // kRequested: the FIX MsgSeqNum that it is sent with; else that it came with, 0 where oeg itself
  // is the author.
  std::uint32_t fix_seq;
  std::uint32_t order_shares;  // kRequested, new and replace: total asked for
  std::uint32_t limit_price;
  trading::OrderType type;
  trading::TimeInForce time_in_force;
  std::uint8_t own;        // 1: a cancel by oeg itself; kNewSession: it begins another day
  std::uint8_t exception;  // kException: its ExceptionKind (exceptions.hpp)
  char symbol[16];         // NUL-padded: instrument ids are mdh's and may differ after a restart
  // kRequested, new and replace: as wire::OrderRequest has them, for later replacements. kReported,
  // a fill: its fee is in place of the first two. 0 in records of former versions.
  std::uint32_t display_shares;
  std::uint32_t minimum_shares;
  std::uint32_t stop_price;
  std::uint8_t instructions;
  std::uint8_t reserved1;
  std::uint8_t part;   // bits of EntryPart; 0: an entry by itself
  std::uint8_t timed;  // 1: it has an exchange_time_ns(); 0 in records of former versions

  // In 1/1,000,000, of a fill; below 0 a rebate.
  std::int64_t fee() const noexcept {
    return static_cast<std::int64_t>(std::uint64_t{minimum_shares} << 32 | display_shares);
  }
  void set_fee(std::int64_t fee) noexcept {
    display_shares = static_cast<std::uint32_t>(static_cast<std::uint64_t>(fee));
    minimum_shares = static_cast<std::uint32_t>(static_cast<std::uint64_t>(fee) >> 32);
  }

  // The exchange's time of day when this was recorded, by the newest message of the feed that oeg
  // had; 0: not known. For people alone. A request holds it in execution_id, a report in
  // order_shares and limit_price, which its event has as well.
  std::uint64_t exchange_time_ns() const noexcept {
    if (timed == 0) return 0;
    return event.event == wire::EventKind::kReported
               ? std::uint64_t{limit_price} << 32 | order_shares
               : execution_id;
  }
  // Behind the fields that it is in place of.
  void set_exchange_time(std::uint64_t ns) noexcept {
    if (ns == 0 || event.event == wire::EventKind::kException) return;
    timed = 1;
    if (event.event == wire::EventKind::kReported) {
      order_shares = static_cast<std::uint32_t>(ns);
      limit_price = static_cast<std::uint32_t>(ns >> 32);
    } else {
      execution_id = ns;
    }
  }
};
static_assert(std::is_trivially_copyable_v<JournalRecord>);
static_assert(sizeof(JournalRecord) == 128 && offsetof(JournalRecord, event) == 8 &&
              offsetof(JournalRecord, exception) == 95 && offsetof(JournalRecord, symbol) == 96 &&
              offsetof(JournalRecord, part) == 126);

}  // namespace tickpath::oeg

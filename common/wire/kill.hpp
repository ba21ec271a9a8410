// Which strategies are killed, since when and why: in risk's and oeg's files, and in the control
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tickpath::wire {

// What a kill covers: a strategy id, or all of them.
inline constexpr std::uint32_t kKillAll = 256;
inline constexpr std::uint32_t kKillIds = kKillAll + 1;

// Values are stable: files keep them by name, the control block by number.
enum class KillCause : std::uint8_t {
  kNone = 0,
  kLoss = 1,
  kGrossNotional = 2,
  kPositionValue = 3,
  kPositionShares = 4,
  kOpenOrders = 5,
  kRequestRate = 6,
  kRejectRate = 7,
  kTotalLoss = 8,
  kTotalGrossNotional = 9,
  kOperator = 10,  // not a limit: a person said so
  kUnknown = 11,   // whoever knew has lost it; the kill stays
};

//  0 since_ns | 8 value | 16 limit | 24 operator_name[24] | 48 id | 50 cause | 51 keep_orders
// 52 reserved[4]                                                                    (56 bytes)
struct KillRecord {
  std::int64_t since_ns;     // CLOCK_REALTIME
  std::int64_t value;        // a limit: what went beyond it; money in 1/10,000
  std::int64_t limit;        // a limit: as configured
  char operator_name[24];    // kOperator: NUL-padded, at most 23 characters
  std::uint16_t id;          // a strategy, or kKillAll
  KillCause cause;           // kNone: no record
  std::uint8_t keep_orders;  // 1: what is open stays; 0: it is cancelled
  std::uint8_t reserved[4];
};
static_assert(std::is_trivially_copyable_v<KillRecord>);
static_assert(sizeof(KillRecord) == 56 && offsetof(KillRecord, operator_name) == 24 &&
              offsetof(KillRecord, cause) == 50);

}  // namespace tickpath::wire

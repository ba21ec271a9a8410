// The words of common/book: what goes in, what comes out, what can be wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/units.hpp"

namespace tickpath::book {

// A symbol as the feed names it: ITCH's stock locate (Nasdaq TotalView-ITCH 5.0, 1.1), every value
// of which may be used.
using Locate = std::uint16_t;
inline constexpr std::size_t kLocatesMax = 65'536;

// A resting order, as long as it rests. Stable while other orders come and go; never on the wire.
using Handle = std::uint32_t;
inline constexpr Handle kNoOrder = 0;

// What became of a call. Everything but kOk is counted, leaves every other order as it was, and is
// never fatal: a feed may send anything.
enum class Status : std::uint8_t {
  kOk = 0,
  kUnknownReference,    // no such order: nothing changed
  kDuplicateReference,  // add: nothing changed; replace: the old order is gone, no new one came
  kSharesExceeded,      // more taken than rests: the order is gone, Change::shares is what rested
  kZeroShares,          // add, execute, reduce: nothing changed; replace: as kDuplicateReference
  kZeroPrice,           // likewise
  kOrdersFull,          // Options::orders_max rest already; otherwise as kDuplicateReference
  kLevelsFull,          // Options::levels_max are in use; otherwise as kDuplicateReference
};
inline constexpr std::size_t kStatusCount = 8;
const char* to_string(Status status) noexcept;

// The answer to every changing call. 16 bytes: comes back in registers.
struct Change {
  Status status = Status::kOk;
  Side side = Side::kBuy;       // of the order concerned; undefined if kUnknownReference
  Locate locate = 0;            // likewise
  std::uint32_t price = 0;      // Price(4), of the order (replace: of the new one)
  std::uint32_t shares = 0;     // added, taken or removed
  std::uint32_t remaining = 0;  // what rests of the order after the call; 0: it is gone

  bool ok() const noexcept { return status == Status::kOk; }
};
static_assert(sizeof(Change) == 16);

struct Quote {
  std::uint32_t price = 0;   // Price(4); 0: the side is empty
  std::uint64_t shares = 0;  // of all orders at that price
  friend bool operator==(const Quote&, const Quote&) = default;
};

struct LevelView {
  std::uint32_t price = 0;
  std::uint32_t orders = 0;
  std::uint64_t shares = 0;
  friend bool operator==(const LevelView&, const LevelView&) = default;
};

struct OrderView {
  std::uint64_t reference = 0;
  std::uint64_t user = 0;
  std::uint32_t price = 0;
  std::uint32_t shares = 0;
  Locate locate = 0;
  Side side = Side::kBuy;
};

// Everything is allocated and touched by the constructor; nothing grows afterwards, whatever
// references come. Bytes: 64 an order (LevelBookSet) or 112 (BookSet), where orders_max is a power
// of two, at most 104 and 184 just above one; 64 a level; 8 MiB of symbols.
//
// A day of 500 million references needs no more than what rests at one time: 4 million orders and 1
// million levels, which is room for 8,000 instruments, are 320 MiB without queues and 512 with
// them.
struct Options {
  std::uint32_t orders_max = 1u << 20;  // resting at one time, all symbols
  std::uint32_t levels_max = 1u << 18;  // in use at one time, all symbols and both sides
};

}  // namespace tickpath::book

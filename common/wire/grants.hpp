// Which regions come with each service: the program's own grants ("extras" of common/link), in this
// order, from the side that listens. A connecting side grants what its pattern needs, and its
// heartbeat where the other side depends on it.
#pragma once

#include <cstddef>

namespace tickpath::wire {

// Service::kBookUpdates: subscriber -> mdh, over an update ring with images.
struct BookUpdatesGrants {
  static constexpr std::size_t kDirectory = 0;  // remote table of DirectoryEntry (READ)
  static constexpr std::size_t kHeartbeat = 1;  // of mdh's datapath thread (READ)
  static constexpr std::size_t kClock = 2;      // link::ClockGrants, two of them
};

// Service::kOrders: strategy -> oeg, over a message channel.
struct OrdersGrants {
  static constexpr std::size_t kHeartbeat = 0;  // of oeg's datapath thread (READ)
  static constexpr std::size_t kClock = 1;      // link::ClockGrants, two of them
};

// From the side that connects for kOrders or kDropCopy: oeg depends on it.
struct OegClientGrants {
  static constexpr std::size_t kHeartbeat = 0;  // of the program (READ); may be missing
};

// Service::kDropCopy: risk -> oeg, over an update ring of OrderEvents without images.
//
// risk writes the control block whenever it changes, and at least every kRiskRefreshMs with a
// raised generation: that is its sign of life to oeg, and it comes from the thread that watches
// the limits.
struct DropCopyGrants {
  static constexpr std::size_t kControlBlock = 0;  // link::ControlBlock<ControlBlock> (WRITE, READ)
  static constexpr std::size_t kPositions = 1;     // remote table of NamedPosition (READ)
  static constexpr std::size_t kHeartbeat = 2;     // of oeg's datapath thread (READ)
  static constexpr std::size_t kClock = 3;         // link::ClockGrants, two of them
};
inline constexpr unsigned kRiskRefreshMs = 50;

// Service::kRemoteTables: a tool -> mdh or oeg, no pattern at all.
struct MdhTablesGrants {
  static constexpr std::size_t kDirectory = 0;
  static constexpr std::size_t kImages = 1;  // VersionedRecord<BookImage> by instrument (READ)
  static constexpr std::size_t kHeartbeat = 2;
};
struct OegTablesGrants {
  static constexpr std::size_t kPositions = 0;
  static constexpr std::size_t kHeartbeat = 1;
};

// Service::kPrices: anyone -> mdh, no pattern at all. A service of its own, because the store may
// be larger than all tables together, and who does not read it need not map it.
struct PricesGrants {
  static constexpr std::size_t kStore = 0;  // wire/prices.hpp (READ)
  static constexpr std::size_t kHeartbeat = 1;
};

// Service::kWitness: oeg -> risk, no pattern at all.
struct WitnessGrants {
  static constexpr std::size_t kBlock = 0;  // WitnessBlock (READ, atomics)
};

}  // namespace tickpath::wire

// What the gateway keeps for one strategy, connected or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/wire/order_id.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/limits.hpp"

namespace tickpath::oeg {

using wire::kOwnStrategyId;

// Written by the datapath; any thread reads the counters.
struct StrategyCounters {
  Counter orders_received;
  Counter changes_received;
  Counter refused;
  Counter reports_sent;
  Counter reports_dropped;
  Counter fills;
  Counter connections;
  Counter connection_requests;  // received on the newest of them
  Counter connection_reports;   // sent on it
  Counter open_orders;          // while it is killed
};

struct alignas(64) StrategySlot {
  // Relaxed: it changes while the slot is nobody's. What the datapath hears of the new strategy
  // first, a connection or an order, came to it through a queue, which orders both.
  std::atomic<std::uint8_t> id{0};
  // Control thread: it has orders, ids or a position of its strategy, so it never is another one's.
  bool for_good = false;
  bool connected = false;     // datapath
  bool orphans = false;       // some of its open orders are to be cancelled
  TscTicks next_own_cancel;   // not before, after the venue refused one
  std::uint64_t last_id = 0;  // low 48 bits of the newest order id: each must be larger
  // The id before the first that the present connection used. Ids at or below it are of a former
  // one, and some of those may never have arrived here.
  std::uint64_t floor_id = 0;
  bool first_request = true;  // of the present connection is still to come
  // oeg restarted, and the strategy may come back: its reports wait in the queue for it.
  bool awaited = false;
  // After a connect: the ledger's next row to tell the strategy; kPositionsTold: all are sent.
  static constexpr std::uint32_t kPositionsTold = ~std::uint32_t{0};
  std::uint32_t next_position = kPositionsTold;
  bool lead_untold = false;  // of a pair: kLeads goes before everything else
  // The reason in the last kAccepting, and whether this connection still lacks its first one.
  trading::RejectReason accepting_told = trading::RejectReason::kNone;
  bool accepting_untold = false;
  // Versions of the list of held symbols: the one that it has, the one under way, and how far.
  std::uint64_t held_told = 1;
  std::uint64_t held_telling = 0;
  std::size_t held_next = 0;
  RateLimiter rate;

  // Reports that found no credit, oldest first: a ring.
  std::vector<wire::OrderReport> queue;
  std::size_t queue_head = 0;
  std::size_t queue_size = 0;
  bool crowded = false;    // connected, and as much waits as it may
  TscTicks crowded_since;  // or the last report that it took since

  StrategyCounters counters;
  // Set by the control thread when it accepts a connection, cleared by the datapath when that is
  // gone: a strategy id is connected once. Cleared with release, read with acquire where the slot
  // may become another strategy's. Otherwise the control thread could miss the first order of the
  // strategy that was here.
  std::atomic<bool> taken{false};
};

}  // namespace tickpath::oeg

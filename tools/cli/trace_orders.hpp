// What `tickpath trace` says of single orders: the slowest ones hop by hop, one by its id, and
// latencies by what orders have in common.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/trace/order_paths.hpp"
#include "tools/cli/trades.hpp"

namespace tickpath::cli {

// By id, what the journals of a run say.
class TradedOrders {
 public:
  struct Found {
    std::uint8_t venue = 0;  // 0: the only one
    const TradedOrder* order = nullptr;
    std::vector<const TradedFill*> fills;
  };

  void add(std::uint8_t venue, const Trades& trades);  // trades: outlives this
  // nullptr for a change or a cancel, which has an id of its own.
  const Found* find(std::uint64_t order_id) const;
  // The order that this request was to change or to cancel; nullptr: none is known.
  const Found* changed_by(std::uint64_t request_id) const;
  bool empty() const noexcept { return orders_.empty(); }

 private:
  std::unordered_map<std::uint64_t, Found> orders_;
  std::unordered_map<std::uint64_t, std::uint64_t> changes_;  // by request: the order's id
};

enum class OrderFormat : std::uint8_t { kText, kJson, kCsv };

struct OrderQuery {
  trace::Hop from = trace::Hop::kMdhKernelRx;
  trace::Hop to = trace::Hop::kOegSent;
  std::uint64_t worst = 0;            // so many
  std::vector<std::uint64_t> orders;  // these
  std::string by;                     // one of kOrderGroups; empty: none
};

inline constexpr std::array<const char*, 8> kOrderGroups{"strategy", "instrument", "side",  "type",
                                                         "tif",      "venue",      "burst", "time"};

// The orders that are asked for, as waterfalls; or rows by group. JSON: an array of {"order_id",
// "tick", "rank", "of", "from", "to", "ns", "burst", "since_start_s", "order", "fills", "hops":
// [{"hop", "at_ns", "took_ns"}]}; took_ns is null where two hosts' clocks were not compared. By
// group, JSON and CSV: {"group", "count", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"}.
// Throws Error: an order without a stamp; no order has both stamps.
std::string orders_report(std::span<const trace::TraceFile> files, const OrderQuery& query,
                          const TradedOrders& traded, OrderFormat format);

}  // namespace tickpath::cli

// What `tickpath trace` says of single orders: the slowest ones hop by hop, one by its id, and
// latencies by what orders have in common.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

// Which orders: those that fit every part that is given. Symbol, side and type are known of new
// orders alone, so changes and cancels fit none.
struct OrderFilter {
  std::vector<std::string> instruments;  // any of these
  std::vector<unsigned> strategies;
  std::string side;                // "buy", "sell"
  std::vector<std::string> types;  // as trading's table names them: "limit"
  std::optional<double> since_s;   // of the run, to the tick: not before
  std::optional<double> until_s;   // before

  bool empty() const noexcept {
    return instruments.empty() && strategies.empty() && side.empty() && types.empty() && !since_s &&
           !until_s;
  }
  bool needs_journal() const noexcept {
    return !instruments.empty() || !side.empty() || !types.empty();
  }
};

struct OrderQuery {
  trace::Hop from = trace::Hop::kMdhKernelRx;
  trace::Hop to = trace::Hop::kOegSent;
  std::uint64_t worst = 0;            // so many
  std::vector<std::uint64_t> orders;  // these
  std::string by;                     // one of kOrderGroups; empty: none
  OrderFilter filter;                 // of worst, by and histograms
};

inline constexpr std::array<const char*, 8> kOrderGroups{"strategy", "instrument", "side",  "type",
                                                         "tif",      "venue",      "burst", "time"};

// The orders of the run that the query's filter lets pass, the slowest first. Throws Error: none is
// left; the filter needs a journal, and there is none.
std::vector<trace::OrderLatency> filtered(const trace::OrderLatencies& latencies,
                                          const OrderQuery& query, const TradedOrders& traded);

// "mdh.kernel_rx to oeg.sent"
std::string between(const OrderQuery& query);

// The orders that are asked for, as waterfalls; or rows by group. JSON: an array of {"order_id",
// "tick", "rank", "of", "from", "to", "ns", "burst", "late_ns", "since_start_s", "order", "fills",
// "hops":
// [{"hop", "at_ns", "took_ns"}]}; took_ns is null where two hosts' clocks were not compared. By
// group, JSON and CSV: {"group", "count", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"}.
// Throws Error: an order without a stamp; no order has both stamps.
std::string orders_report(std::span<const trace::TraceFile> files, const OrderQuery& query,
                          const TradedOrders& traded, OrderFormat format);

}  // namespace tickpath::cli

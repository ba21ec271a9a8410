// The router's decisions, done again from what it saw: `tickpath routes`.
//
// A decision must be as good as that of any single venue, on the books that the strategy's program
// had when it decided; these must be the feeds' own; and what was sent must be what was decided.
// What became of it in flight is told in figures: a venue's book may have moved before an order is
// there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "strategy/route_record.hpp"
#include "tools/cli/recorded_books.hpp"
#include "tools/cli/trades.hpp"

namespace tickpath::cli {

// What became of a part of a routed order, by oeg's journal.
struct RoutedFate {
  TradedOrder order;
  std::vector<TradedFill> fills;
};

struct RoutedDecision {
  strategy::RouteRecord record;
  // By place among the venues of the record: how far the venue's exchange had sent its feed when
  // the decision was made, and when it matched the part's order. 0: not known.
  std::array<std::uint64_t, TICKPATH_VENUES_MAX> sent_at_decision{};
  std::array<std::uint64_t, TICKPATH_VENUES_MAX> sent_at_match{};
};

struct RoutedRun {
  std::vector<RoutedDecision> decisions;
  std::map<std::uint8_t, RecordedBooks> books;          // by venue number
  std::unordered_map<std::uint64_t, RoutedFate> fates;  // by order id
  std::vector<std::string> unchecked;                   // what could not be looked at, and why
};

struct RouteCheck {
  struct Rule {
    std::string text;
    std::uint64_t checked = 0;
    std::uint64_t broken = 0;
    std::vector<std::string> examples;  // of what is broken, the first ones
  };
  // In this order.
  enum Which : std::uint8_t { kSeen, kShares, kPrice, kSplit, kSent, kFills, kRules };
  std::array<Rule, kRules> rules;
  std::uint64_t decisions = 0;
  std::array<std::uint64_t, TICKPATH_VENUES_MAX + 1> by_orders{};  // decisions by their orders
  std::vector<std::string> figures;
  std::vector<std::string> unchecked;

  bool holds() const noexcept;
  std::string problem() const;  // empty if it holds
};

RouteCheck check_routes(const RoutedRun& run);

std::string to_text(const RouteCheck& check);

}  // namespace tickpath::cli

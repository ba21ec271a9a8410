// Takes one symbol's order flow out of a recording: what happened when, where in the book, how
// large and after how long. What the generator's parameters and the report's statistics are made
// of.
//
// Not for a datapath: everything is kept in memory, some 60 bytes an event.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/units.hpp"
#include "common/feeds/generator/flow_parameters.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::flow {

using itch::FlowEvent;

struct TimedEvent {
  std::uint64_t time_ns;  // since midnight
  FlowEvent kind;
};

struct MidPrice {
  std::uint64_t time_ns;
  double mid;  // 1/10,000 dollars
};

// The flow of one symbol. A replacement counts as the deletion of its old order.
struct FlowRecord {
  std::uint16_t locate = 0;
  std::array<std::uint64_t, 256> by_type{};  // the symbol's messages
  std::vector<TimedEvent> events;
  std::vector<MidPrice> mids;        // each change
  std::vector<double> shares;        // of each new order
  std::vector<double> executed;      // of each trade, hidden ones too
  std::vector<double> behind_ticks;  // kAddBehind: cents from the best of its side
  std::vector<double> inside;        // kAddInside: share of the spread given up
  std::vector<double> age_rank;      // of each deletion: orders of the symbol younger than it
  std::vector<double> lifetime_s;    // of orders that were deleted or fully executed
  std::vector<double> spread_ticks;  // before each event, cents
  std::vector<double> spread_bp;     // the same, of the mid price
  std::vector<double> touch_shares;  // before each event: mean of both sides' best
  std::vector<int> trade_signs;      // 1: a buyer hit an offer
  std::uint64_t added = 0, deleted = 0, replaced = 0;
};

// The symbol with the most messages (its stock locate); 0 when there is none. Reads all of it.
std::uint16_t busiest_locate(itch::RecordingReader& recording);

// Reads to the end, or to where another day begins.
FlowRecord observe(itch::RecordingReader& recording, std::uint16_t locate);

}  // namespace tickpath::flow

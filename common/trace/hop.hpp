// The hops of a tick's way to an order and back, in order (DESIGN: Tracing).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tickpath::trace {

// "posted" and "sent" are stamped when the call that hands the message over has returned, so that
// no store lies between a decision and the wire. The receiver may have been quicker: the hop from
// there on can come out below zero, and the one before it holds the call.
//
// Values are stored in trace files; append, never renumber.
enum class Hop : std::uint8_t {
  kNone = 0,
  kSimSent = 1,          // sim handed the packet to the kernel
  kMdhKernelRx = 2,      // the kernel received the packet (CLOCK_REALTIME, not TSC)
  kMdhRx = 3,            // mdh has the packet in user space
  kMdhBook = 4,          // the book holds the message
  kMdhPosted = 5,        // the update was posted to every subscriber
  kStrategySeen = 6,     // a strategy engine took the update from its ring
  kStrategyDecided = 7,  // a plugin asked for an order (order id from here on)
  kStrategyPosted = 8,
  kOegSeen = 9,
  kOegRiskPassed = 10,
  // 11 is retired
  kOegEncoded = 12,
  kOegSent = 13,
  kSimOrderRx = 14,
  kSimMatched = 15,
  kOegReportRx = 16,
  kStrategyReportSeen = 17,
  kOegReplicated = 18,  // the standby of a pair has the order and its message; before kOegSent
  kOrderLink = 64,      // not a hop: key is an order id, time is the trace id that caused it
  // Not a hop: key is the feed's sequence number, time is when sim's schedule had the message
  // leave. The loop is open: a stall of sim's does not move it. Only a replay with a schedule has
  // it.
  kTickDue = 65,
};

struct HopInfo {
  Hop hop;
  std::string_view name;
  bool keyed_by_order;    // id is an order id; otherwise the feed's sequence number
  bool realtime_clock;    // time is CLOCK_REALTIME ns instead of TSC ticks
  bool optional = false;  // not every order has it
};

// The one table of hops: a row a hop, in the order of time. All of a tick's hops come before those
// of an order. A hop's row is its place; everything that is kept by hop is kept by place, in arrays
// of kHopCount (or kTickHopCount) elements. A new hop is an enumerator and a row.
inline constexpr auto kHops = std::to_array<HopInfo>({
    {Hop::kNone, "none", false, false},  // of every number that is no hop's
    {Hop::kSimSent, "sim.sent", false, false},
    {Hop::kMdhKernelRx, "mdh.kernel_rx", false, true},
    {Hop::kMdhRx, "mdh.rx", false, false},
    {Hop::kMdhBook, "mdh.book", false, false},
    {Hop::kMdhPosted, "mdh.posted", false, false},
    {Hop::kStrategySeen, "strategy.seen", false, false},
    {Hop::kStrategyDecided, "strategy.decided", true, false},
    {Hop::kStrategyPosted, "strategy.posted", true, false},
    {Hop::kOegSeen, "oeg.seen", true, false},
    {Hop::kOegRiskPassed, "oeg.risk_passed", true, false},
    {Hop::kOegEncoded, "oeg.encoded", true, false},
    {Hop::kOegReplicated, "oeg.replicated", true, false, true},
    {Hop::kOegSent, "oeg.sent", true, false},
    {Hop::kSimOrderRx, "sim.order_rx", true, false},
    {Hop::kSimMatched, "sim.matched", true, false},
    {Hop::kOegReportRx, "oeg.report_rx", true, false},
    {Hop::kStrategyReportSeen, "strategy.report_seen", true, false},
});
inline constexpr std::size_t kHopCount = kHops.size();

// Row 0 is that of no hop, and each number stands once. An order's hops follow all of a tick's, so
// that the first rows are all that is kept of a tick.
template <std::size_t N>
constexpr bool is_well_formed(const std::array<HopInfo, N>& hops) noexcept {
  if (hops[0].hop != Hop::kNone || hops[0].keyed_by_order) return false;
  for (std::size_t row = 1; row < N; ++row) {
    if (hops[row - 1].keyed_by_order && !hops[row].keyed_by_order) return false;
    for (std::size_t before = 0; before < row; ++before)
      if (hops[before].hop == hops[row].hop) return false;
  }
  return true;
}

// The rows that a tick has, row 0 with them.
template <std::size_t N>
constexpr std::size_t tick_rows(const std::array<HopInfo, N>& hops) noexcept {
  std::size_t rows = 0;
  for (const HopInfo& each : hops) rows += each.keyed_by_order ? 0 : 1;
  return rows;
}

// By number, the row; 0 for a number that no row has.
template <std::size_t N>
constexpr std::array<std::uint8_t, 256> rows_by_number(
    const std::array<HopInfo, N>& hops) noexcept {
  static_assert(N <= 256);
  std::array<std::uint8_t, 256> rows{};
  for (std::size_t row = 0; row < N; ++row)
    rows[static_cast<std::size_t>(hops[row].hop)] = static_cast<std::uint8_t>(row);
  return rows;
}

static_assert(is_well_formed(kHops));
inline constexpr std::size_t kTickHopCount = tick_rows(kHops);
inline constexpr std::array<std::uint8_t, 256> kRowsByNumber = rows_by_number(kHops);

// Where a hop stands in time, from 1: below kHopCount for every value; 0 for what is no hop.
constexpr std::size_t place(Hop hop) noexcept {
  return kRowsByNumber[static_cast<std::uint8_t>(hop)];
}

constexpr const HopInfo& info(Hop hop) noexcept { return kHops[place(hop)]; }

// False: a number that is not used any more, or not yet; files of other versions may have it.
constexpr bool is_known(Hop hop) noexcept { return place(hop) != 0; }

// Its stamps are keyed by the feed's sequence number, and its place is below kTickHopCount.
constexpr bool is_tick_hop(Hop hop) noexcept { return is_known(hop) && !info(hop).keyed_by_order; }

constexpr bool is_optional(Hop hop) noexcept { return info(hop).optional; }

// kNone for a name that no hop has.
constexpr Hop hop_named(std::string_view name) noexcept {
  for (const HopInfo& each : kHops)
    if (each.name == name) return each.hop;
  return Hop::kNone;
}

}  // namespace tickpath::trace

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
};
inline constexpr std::size_t kHopCount = 19;

struct HopInfo {
  Hop hop;
  std::string_view name;
  bool keyed_by_order;  // id is an order id; otherwise the feed's sequence number
  bool realtime_clock;  // time is CLOCK_REALTIME ns instead of TSC ticks
};

inline constexpr std::array<HopInfo, kHopCount> kHops{{
    {Hop::kNone, "none", false, false},
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
    {Hop::kNone, "retired", false, false},
    {Hop::kOegEncoded, "oeg.encoded", true, false},
    {Hop::kOegSent, "oeg.sent", true, false},
    {Hop::kSimOrderRx, "sim.order_rx", true, false},
    {Hop::kSimMatched, "sim.matched", true, false},
    {Hop::kOegReportRx, "oeg.report_rx", true, false},
    {Hop::kStrategyReportSeen, "strategy.report_seen", true, false},
    {Hop::kOegReplicated, "oeg.replicated", true, false},
}};

// An order's way in time: by number, but for what was numbered later.
constexpr std::size_t place(Hop hop) noexcept {
  const auto number = static_cast<std::size_t>(hop);
  if (hop == Hop::kOegReplicated) return static_cast<std::size_t>(Hop::kOegSent);
  return number < static_cast<std::size_t>(Hop::kOegSent) ? number : number + 1;
}
inline constexpr std::array<Hop, kHopCount> kHopsInTime = [] {
  std::array<Hop, kHopCount> hops{};
  for (std::size_t i = 0; i < kHopCount; ++i)
    hops[place(static_cast<Hop>(i))] = static_cast<Hop>(i);
  return hops;
}();

// Not every order has it.
constexpr bool is_optional(Hop hop) noexcept { return hop == Hop::kOegReplicated; }

constexpr const HopInfo& info(Hop hop) noexcept {
  return kHops[static_cast<std::size_t>(hop) < kHopCount ? static_cast<std::size_t>(hop) : 0];
}

// False: an index that is not used any more, or not yet; files of other versions may have it.
constexpr bool is_known(Hop hop) noexcept { return hop != Hop::kNone && info(hop).hop == hop; }

// kNone for a name that no hop has.
constexpr Hop hop_named(std::string_view name) noexcept {
  for (const HopInfo& each : kHops)
    if (each.name == name) return each.hop;
  return Hop::kNone;
}

}  // namespace tickpath::trace

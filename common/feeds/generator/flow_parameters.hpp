// What the generated order flow is modelled on: a Hawkes process over kinds of events, and where
// and how large orders are. The numbers are measured on a recording (tickpath generate
// --calibrate).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tickpath::itch {

// Marks of the process. A replacement is a removal that brings its successor with it.
enum class FlowEvent : std::uint8_t {
  kAddInside = 0,  // better than every order of its side
  kAddTouch,       // at the best price of its side
  kAddBehind,      // worse than the best of its side
  kDelete,         // the whole order
  kReduce,         // part of it
  kExecute,        // of a displayed order
  kHidden,         // a trade with an order that is not displayed
};
inline constexpr std::size_t kFlowEvents = 7;
const char* name_of(FlowEvent event) noexcept;

inline constexpr std::size_t kFlowKernels = 5;
// Points of a quantile table: the values at (i + 1/2) / kFlowQuantiles.
inline constexpr std::size_t kFlowQuantiles = 32;
using FlowQuantiles = std::array<double, kFlowQuantiles>;

// Event i raises the intensity of kind j by
//   branching[i][j] * sum over k of kernel_share[i][k] / kernel_s[k] * exp(-t / kernel_s[k])
// t seconds later (A. G. Hawkes, "Spectra of some self-exciting and mutually exciting point
// processes", 1971, with a sum of exponentials for its long memory).
struct FlowParameters {
  std::string origin;                           // what they were measured on
  double events_per_second = 1;                 // of the recording; not used to generate
  std::array<double, kFlowEvents> share{};      // of the events, sums to 1
  std::array<double, kFlowKernels> kernel_s{};  // rising
  std::array<std::array<double, kFlowEvents>, kFlowEvents> branching{};      // [cause][effect]
  std::array<std::array<double, kFlowKernels>, kFlowEvents> kernel_share{};  // sum to 1

  double spread_ticks = 1;        // mean, of the recording: the unit of `behind`
  FlowQuantiles behind{};         // kAddBehind: from the best price of its side, in mean spreads
  FlowQuantiles inside{};         // kAddInside: share of the spread that it gives up
  FlowQuantiles shares{};         // of a new order
  FlowQuantiles executed{};       // of a trade
  FlowQuantiles age_rank{};       // orders of the symbol that are younger than the one deleted
  double replace_share = 0;       // of the removals: with a successor
  double sign_persistence = 0.5;  // that a trade hits the same side as the one before
};

// Measured on the hour 09:30 to 10:30 of AAPL at NASDAQ, 2012-06-21 (LOBSTER's free sample).
const FlowParameters& default_flow_parameters();

// The largest eigenvalue of the branching matrix: share of the events that others caused. Below 1,
// or the flow explodes.
double branching_ratio(const FlowParameters& parameters) noexcept;

}  // namespace tickpath::itch

// Recordings of several venues, read as one market: how much of the time their quotes are locked
// (the best bid of one is the best ask of another) or crossed (it is above), for how long at a
// time, and which venue's prices move first.
//
// Not for a datapath. Time is the recordings' own, which must be of one clock; what one instant
// brings at all venues counts as one step. A symbol is compared while every venue has it in
// continuous trading and quotes both sides.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/feeds/recordings/recording.hpp"

namespace tickpath::flow {

// Edges of the lags at which changes of mid prices are set against each other, in nanoseconds; a
// change that follows later than the last one follows nothing.
inline constexpr std::array<std::uint64_t, 6> kLagEdgesNs{30'000,    100'000,   300'000,
                                                          1'000'000, 3'000'000, 10'000'000};
// Before, at the same instant, after.
inline constexpr std::size_t kLagBins = 2 * kLagEdgesNs.size() + 1;
// Bin of "the second venue moves by so much after the first"; negative: before.
std::size_t lag_bin(std::int64_t lag_ns) noexcept;

// How often and how long a symbol's quotes were in one state.
struct QuoteEpisodes {
  std::uint64_t times = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t median_ns = 0;
  std::uint64_t longest_ns = 0;
};

struct ComparedSymbol {
  std::string symbol;
  std::uint64_t changes = 0;  // of the mid price, all venues
  std::uint64_t compared_ns = 0;
  std::uint64_t locked_ns = 0;
  std::uint64_t crossed_ns = 0;
};

struct VenueComparison {
  std::uint64_t symbols = 0;      // that every recording lists
  std::uint64_t compared_ns = 0;  // of all symbols
  QuoteEpisodes locked, crossed;
  ComparedSymbol busiest;  // by changes of the mid price
  // The part of the co-movement of mid prices within the last lag in which this venue was first;
  // and that in which two moved at one instant. The sum is 1, or 0 where nothing moves together.
  std::vector<double> leads;
  double together = 0;
  // The correlation of the mid changes of the first two venues, by lag_bin(): the sum of products
  // of relative changes that lie so far apart, over the root of the product of both sums of
  // squares.
  std::array<double, kLagBins> correlation{};
  std::uint64_t unseen_orders = 0;  // that found no room in these books
};

// Reads two or more recordings to their ends or damage (see RecordingReader::damage()). One day:
// reading ends where a recording begins another. Throws Error for less than two.
VenueComparison compare_venues(std::span<itch::RecordingReader* const> venues);

}  // namespace tickpath::flow

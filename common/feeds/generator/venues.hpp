// Several venues that trade the same instruments: a recording a venue, on one clock. What each
// symbol is worth is one seeded random walk with jumps; each venue learns of a move a little later,
// by a lag of its own, and its quotes are locked or crossed with those of the others in between.
// See DESIGN.md.
//
//   const itch::VenueMarket market = itch::market_of(options, 2);
//   for (std::uint32_t venue = 0; venue < 2; ++venue) {
//     itch::Generator generator(itch::options_of_venue(options, market, venue));
//     ...
//   }
//
// What holds of every generated recording holds of each venue's. With a lag of 0 no venue's quote
// ever locks or crosses another's. The same options give the same bytes, whichever venue is
// generated first.
#pragma once

#include <cstdint>
#include <vector>

#include "common/feeds/generator/generator.hpp"

namespace tickpath::itch {

inline constexpr std::uint32_t kVenuesMin = 2;
inline constexpr std::uint32_t kVenuesMax = 8;

struct VenueProfile {
  double volume = 1;  // its part of the messages, all venues' together being 1
  double leads = 1;   // how often it is the first to follow a move, likewise
  double spread = 1;  // that its makers like, in the symbol's own
  double depth = 1;   // orders in its books, in those of a generated market of one venue
};

// What the venues have in common. Everything in it is the same for each, to the bit.
struct VenueMarket {
  // By the first's example (NYSE, Nasdaq and Cboe are each some 100 to 200 us of fibre apart):
  // median time by which a venue follows the first one.
  static constexpr double kLagNs = 300e3;

  std::vector<VenueProfile> venues;
  std::uint64_t seed = 1;
  double lag_ns = kLagNs;  // 0: all at the instant of the move
  double day_ns = 0;       // from a day's first message to its last
  // Moves of all symbols' values, at the mean of the day.
  double moves_per_second = 0;
  std::uint32_t halts = 0;  // a day; at all venues at once
};

// So many venues, whose volumes fall as 2 / (2 + i): 60 and 40 of a hundred for two. Messages and
// rate are of all venues together. Throws RecordingError unless there are 2 to 8.
VenueMarket market_of(const GeneratorOptions& all, std::uint32_t venues);

// Gives the venues other volumes (any weights, one a venue) and, where `leads` is not empty, other
// leads than their volumes. Throws RecordingError for another number of them, or one that is not
// above 0 (a lead: not below).
void set_shares(VenueMarket& market, const GeneratorOptions& all,
                const std::vector<double>& volumes, const std::vector<double>& leads);

// What one venue's Generator is given; `market` must outlive it. The venues' messages add up to
// all.messages. Throws RecordingError for a lag below 0 or above a second.
GeneratorOptions options_of_venue(const GeneratorOptions& all, const VenueMarket& market,
                                  std::uint32_t venue);

}  // namespace tickpath::itch

// What instruments were worth while a run went on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/control/long_names.hpp"
#include "common/control/summary.hpp"

namespace tickpath::report {

// Times of a curve, in seconds of the market since midnight, evenly spaced.
struct Grid {
  double first = 0;
  double step = 1;
  std::size_t points = 0;
  double at(std::size_t index) const { return first + step * static_cast<double>(index); }
};

// A symbol at a venue; 0: the only one.
using Listing = std::pair<std::uint8_t, std::string>;

// At each point of a grid the price in currency units, not a number before the first one that is
// known.
using PricePaths = std::map<Listing, std::vector<double>>;

// A recording that a sim of the run has replayed, as its ledger says.
struct Replayed {
  std::uint8_t venue = 0;
  std::string path;
  std::string stock;  // LOBSTER: symbol in place of the one in the file's name
  std::uint64_t messages = 0;
  std::string digest;
};
// summaries: name the venue of each sim. By path. Throws Error for a ledger that is damaged.
std::vector<Replayed> replayed_in(const std::vector<std::string>& run_dirs,
                                  const std::vector<control::Summary>& summaries);

// Longer ones are not read: half a minute is what a person waits for a page.
inline constexpr std::uint64_t kMessagesMax = 40'000'000;

// Adds the middle of the best bid and ask of those of these listings that are of its venue. Returns
// why it did not: the recording cannot be read here, is another one by its digest, or is too long;
// empty: it did. Then `paths` stays as it was.
std::string add_prices(const Replayed& replayed, const control::LongNames& names,
                       const std::set<Listing>& listings, const Grid& grid, PricePaths& paths);

}  // namespace tickpath::report

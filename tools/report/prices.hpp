// What instruments were worth while a run went on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/control/long_names.hpp"

namespace tickpath::report {

// Times of a curve, in seconds of the market since midnight, evenly spaced.
struct Grid {
  double first = 0;
  double step = 1;
  std::size_t points = 0;
  double at(std::size_t index) const { return first + step * static_cast<double>(index); }
  // The last point that is not after it; the first one for a time before it.
  std::size_t index_of(double market_s) const;
};

// By symbol, at each point of a grid: the price in currency units, not a number before the first
// one that is known.
using PricePaths = std::map<std::string, std::vector<double>>;

// A recording that a sim of the run has replayed, as its ledger says.
struct Replayed {
  std::string path;
  std::string stock;  // LOBSTER: symbol in place of the one in the file's name
  std::uint64_t messages = 0;
  std::string digest;
};
std::vector<Replayed> replayed_in(const std::vector<std::string>& run_dirs);

// Longer ones are not read: half a minute is what a person waits for a page.
inline constexpr std::uint64_t kMessagesMax = 40'000'000;

// Adds the middle of the best bid and ask of these symbols. Returns why it did not: the recording
// cannot be read here, is another one by its digest, or is too long; empty: it did. Then `paths`
// stays as it was.
std::string add_prices(const Replayed& replayed, const control::LongNames& names,
                       const std::set<std::string>& symbols, const Grid& grid, PricePaths& paths);

}  // namespace tickpath::report

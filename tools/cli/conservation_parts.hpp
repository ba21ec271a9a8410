// What the checks of one venue and of several have in common (conservation.cpp,
// conservation_alone.cpp, conservation_venues.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/conservation.hpp"

namespace tickpath::cli {

using Terms = std::vector<std::uint64_t>;

std::uint64_t sum(const Terms& terms);

// "3 + 4"
template <class Numbers>
std::string text_of(const Numbers& terms) {
  std::string text;
  for (const auto term : terms) text += (text.empty() ? "" : " + ") + std::to_string(term);
  return text;
}

// One strategy in one instrument.
using Holder = std::pair<int, std::string>;
struct Holding {
  std::int64_t shares = 0;
  std::int64_t cash = 0;
  std::int64_t fills = 0;
  bool operator==(const Holding&) const = default;
};
using Book = std::map<Holder, Holding>;

// The sums over all; none that never traded.
Book book_of(const std::vector<const control::Summary*>& summaries);
void remove_untraded(Book& book);
Conservation::Line compared(const std::string& rule, const Book& a, const Book& b);

// Summary::details[name]; 0 where it says nothing of it, or is of an older version.
std::uint64_t detail_of(const control::Summary& summary, const std::string& name);

// What a summary says, against the rest of it.
void check_alone(const control::Summary& summary, std::vector<Conservation::Line>& lines);
// Whether the shards of a venue have taken all of the feed between them.
void check_shards(const std::vector<const control::Summary*>& mdhs,
                  const std::vector<const control::Summary*>& oegs, Conservation& result);

// Checks one venue, which may be one of several.
Conservation check_venue(const std::vector<control::Summary>& summaries,
                         const std::vector<std::string>& expected);
bool are_of_several_venues(const std::vector<control::Summary>& summaries);
Conservation check_venues(const std::vector<control::Summary>& summaries,
                          const std::vector<std::string>& expected);

}  // namespace tickpath::cli

#include "tools/cli/conservation_parts.hpp"

#include <numeric>
#include <set>

namespace tickpath::cli {

using control::PositionSummary;
using control::Summary;

std::uint64_t sum(const Terms& terms) {
  return std::accumulate(terms.begin(), terms.end(), std::uint64_t{0});
}

Book book_of(const std::vector<const Summary*>& summaries) {
  Book book;
  for (const Summary* summary : summaries)
    for (const PositionSummary& row : summary->positions) {
      Holding& holding = book[{row.strategy_id, row.symbol}];
      holding.first += row.shares;
      holding.second += row.cash;
    }
  std::erase_if(book, [](const auto& entry) { return entry.second == Holding{0, 0}; });
  return book;
}

namespace {

std::string holding_text(const Holding& holding) {
  return std::to_string(holding.first) + " shares, cash " + std::to_string(holding.second);
}

}  // namespace

Conservation::Line compared(const std::string& rule, const Book& a, const Book& b) {
  std::set<Holder> holders;
  for (const auto& [holder, holding] : a) holders.insert(holder);
  for (const auto& [holder, holding] : b) holders.insert(holder);
  std::string differences;
  std::size_t count = 0;
  const auto get = [](const Book& book, const Holder& holder) {
    const auto found = book.find(holder);
    return found == book.end() ? Holding{} : found->second;
  };
  for (const Holder& holder : holders) {
    const Holding left = get(a, holder);
    const Holding right = get(b, holder);
    if (left == right) continue;
    // A person looks at the first few.
    if (++count <= 3)
      differences += "; strategy " + std::to_string(holder.first) + " " + holder.second + ": " +
                     holding_text(left) + " against " + holding_text(right);
  }
  return {count == 0, rule,
          std::to_string(holders.size()) + " positions, " + std::to_string(count) + " differ" +
              differences};
}

std::uint64_t detail_of(const Summary& summary, const std::string& name) {
  const auto found = summary.details.find(name);
  return found == summary.details.end() ? 0 : found->second;
}

}  // namespace tickpath::cli

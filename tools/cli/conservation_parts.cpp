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
      holding.shares += row.shares;
      holding.cash += row.cash;
      holding.fills += row.fills;
    }
  remove_untraded(book);
  return book;
}

void remove_untraded(Book& book) {
  std::erase_if(book, [](const auto& entry) { return entry.second == Holding{}; });
}

namespace {

std::string holding_text(const Holding& holding, bool with_fills) {
  return std::to_string(holding.shares) + " shares, cash " + std::to_string(holding.cash) +
         (with_fills ? ", fills " + std::to_string(holding.fills) : "");
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
    const bool fills = left.fills != right.fills;
    if (++count <= 3)
      differences += "; strategy " + std::to_string(holder.first) + " " + holder.second + ": " +
                     holding_text(left, fills) + " against " + holding_text(right, fills);
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

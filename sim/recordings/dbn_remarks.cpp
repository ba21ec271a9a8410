#include "sim/recordings/dbn_remarks.hpp"

#include <set>

#include "sim/recordings/detail/remarks.hpp"

namespace tickpath::itch {
namespace {

// ": ES, NQ and 3 more".
std::string names_text(const std::set<std::string>& symbols) {
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& symbol : symbols) {
    if (shown == kShown) return text + " and " + std::to_string(symbols.size() - kShown) + " more";
    text += (shown++ == 0 ? ": " : ", ") + symbol;
  }
  return text;
}

}  // namespace

std::string remarks_of(const DbnOrders& orders, std::size_t file) {
  if (file + 1 != orders.files()) return "market by order, times UTC";
  constexpr std::size_t kNamesShown = 8;
  const DbnCounts& counts = orders.counts();
  std::string text = std::to_string(counts.records) + " records of market by order" +
                     (orders.files() == 1 ? "" : " in all files") + ", times UTC";
  const detail::Remarks add{text};
  add(counts.other_publishers, "of other venues left out");
  add(counts.not_by_order, "of price levels left out");
  add(counts.unknown_orders, "name unknown orders");
  add(counts.lone_fills, "fills without their cancel");
  add(counts.clamped_fills, "fills cut to the shares that their order had left");
  add(counts.unusable_orders, "orders without shares or side left out");
  add(counts.repeated_orders, "orders added twice");
  add(counts.unusable_prices, "prices that ITCH cannot say");
  add(counts.rounded_prices,
      "prices rounded to 1/10,000, bids down and asks up" + names_text(orders.rounded()));
  add(counts.beyond_locates, "of instruments beyond 65,535");
  add(counts.unknown_actions, "of unknown actions");
  add(counts.snapshot_times, "told at the time of the snapshot that has them");
  add(counts.time_reversals, "earlier than the one before, told at its time");
  add(counts.unusable_times, "without a usable time, told at the one before");
  add(counts.renamed, "instruments named anew, which begin without orders");
  add(counts.named_late, "names of instruments behind their first record, left out");
  add(counts.unmapped, "instruments that have no name on their day, listed by number");
  const auto& names = orders.names();
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i)
    text += (i == 0 ? "; " : ", ") + names[i].first + " is " + names[i].second;
  if (names.size() > kNamesShown)
    text += " and " + std::to_string(names.size() - kNamesShown) + " more (tickpath inspect)";
  return text;
}

}  // namespace tickpath::itch

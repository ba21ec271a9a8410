#include "common/feeds/recordings/dbn_remarks.hpp"

#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {
namespace {

constexpr std::size_t kShown = 8;

// "ES, NQ and 3 more": the first of them, each as `text` says it.
std::string some_of(const auto& all, const auto& text) {
  std::string shown;
  std::size_t count = 0;
  for (const auto& each : all) {
    if (count == kShown) return shown + " and " + std::to_string(all.size() - kShown) + " more";
    shown += (count++ == 0 ? "" : ", ") + text(each);
  }
  return shown;
}

}  // namespace

std::string remarks_of(const DbnOrders& orders, std::size_t file) {
  if (file + 1 != orders.files()) return "market by order, times UTC";
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
      "prices rounded to 1/10,000, bids down and asks up: " +
          some_of(orders.rounded(), [](const std::string& symbol) { return symbol; }));
  add(counts.beyond_locates, "of instruments beyond 65,535");
  add(counts.unknown_actions, "of unknown actions");
  add(counts.snapshot_times, "told at the time of the snapshot that has them");
  add(counts.time_reversals, "earlier than the one before, told at its time");
  add(counts.unusable_times, "without a usable time, told at the one before");
  add(counts.renamed, "instruments named anew, which begin without orders");
  add(counts.named_late, "names of instruments behind their first record, left out");
  add(counts.unmapped, "instruments that have no name on their day, listed by number");
  const auto& names = orders.names();
  if (names.empty()) return text;
  text += "; " + some_of(names, [](const auto& name) { return name.first + " is " + name.second; });
  if (names.size() > kShown) text += " (tickpath inspect)";
  return text;
}

}  // namespace tickpath::itch

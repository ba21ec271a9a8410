#include "tools/report/holdings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tickpath::report {
namespace {

using nlohmann::ordered_json;

constexpr double kUnitsInCash = 1e4;
constexpr double kUnitsInFees = 1e6;

double price_of(const cli::TradedFill& fill) {
  return (static_cast<double>(fill.price.price) + fill.price.hundredths / 100.0) / kUnitsInCash;
}
double rounded(double value, double digits) { return std::round(value * digits) / digits; }

struct Held {
  std::int64_t shares = 0;
  std::int64_t cash = 0;
};
struct Strategy {
  std::map<Listing, Held> held;
  double fees = 0;
};
using Strategies = std::map<std::uint8_t, Strategy>;

struct TimedFill {
  double at;  // market seconds
  Listing listing;
  const cli::TradedFill* fill;
};

std::vector<TimedFill> fills_in_time(std::span<const cli::VenueTrades> venues,
                                     const MarketClock& clock) {
  std::vector<TimedFill> fills;
  for (const cli::VenueTrades& venue : venues)
    for (const cli::TradedFill& fill : venue.trades.fills)
      fills.push_back({clock.at(fill.time_ns), {venue.venue, fill.symbol}, &fill});
  std::ranges::stable_sort(fills, {}, &TimedFill::at);
  return fills;
}

Strategies carried_in(std::span<const cli::VenueTrades> venues) {
  Strategies strategies;
  for (const cli::VenueTrades& venue : venues) {
    for (const cli::TradedOrder& order : venue.trades.orders) strategies[order.strategy];
    for (const cli::CarriedPosition& each : venue.trades.carried) {
      Held& held = strategies[each.strategy].held[{venue.venue, each.symbol}];
      held.shares += each.shares;
      held.cash += each.cash;
    }
  }
  return strategies;
}

// What is held at a point of the grid, valued.
class Valuation {
 public:
  explicit Valuation(const PricePaths& paths) : paths_(paths) {}

  void book(const TimedFill& each, Strategies& strategies) {
    const cli::TradedFill& fill = *each.fill;
    Strategy& strategy = strategies[fill.strategy];
    Held& held = strategy.held[each.listing];
    trading::apply_fill(cli::fill_of(fill), held.shares, held.cash);
    strategy.fees += static_cast<double>(fill.fee) / kUnitsInFees;
    last_[each.listing] = price_of(fill);
  }
  struct Values {
    double pnl = 0, net = 0, gross = 0;
  };
  Values of(const Strategy& strategy, std::size_t point) const {
    Values values{.pnl = -strategy.fees};
    for (const auto& [listing, held] : strategy.held) {
      const double worth = static_cast<double>(held.shares) * price(listing, point);
      values.pnl += static_cast<double>(held.cash) / kUnitsInCash + worth;
      values.net += worth;
      values.gross += std::abs(worth);
    }
    return values;
  }

 private:
  double price(const Listing& listing, std::size_t point) const {
    if (const auto path = paths_.find(listing); path != paths_.end())
      if (const double middle = path->second[point]; !std::isnan(middle)) return middle;
    const auto last = last_.find(listing);
    return last == last_.end() ? 0 : last->second;
  }
  const PricePaths& paths_;
  std::map<Listing, double> last_;  // price of the last fill
};

// Evenly spread ones of a list that is too long, first and last among them.
ordered_json thinned(std::vector<ordered_json> rows) {
  if (rows.size() <= kPointsOfOne) return rows;
  ordered_json some = ordered_json::array();
  for (std::size_t i = 0; i < kPointsOfOne; ++i)
    some.push_back(std::move(rows[i * (rows.size() - 1) / (kPointsOfOne - 1)]));
  return some;
}

ordered_json fills_of(const std::vector<TimedFill>& fills, const Listing& listing,
                      std::size_t& all) {
  std::vector<ordered_json> rows;
  for (const TimedFill& each : fills) {
    const cli::TradedFill& fill = *each.fill;
    if (each.listing != listing || fill.kind == wire::ReportKind::kFillCanceled) continue;
    const auto shares = static_cast<std::int64_t>(fill.shares);
    rows.push_back(ordered_json::array(
        {rounded(each.at, 1e6), price_of(fill), fill.side == Side::kBuy ? shares : -shares,
         std::to_string(fill.strategy), std::to_string(fill.order_id)}));
  }
  all = rows.size();
  return thinned(std::move(rows));
}

ordered_json orders_of(std::span<const cli::VenueTrades> venues, const MarketClock& clock,
                       const Listing& listing, std::size_t& all) {
  std::vector<ordered_json> rows;
  for (const cli::VenueTrades& venue : venues)
    for (const cli::TradedOrder& order : venue.trades.orders) {
      if (Listing{venue.venue, order.symbol} != listing || order.price == 0) continue;
      const auto shares = static_cast<std::int64_t>(order.shares);
      rows.push_back(ordered_json::array(
          {rounded(clock.at(order.sent_ns), 1e6), order.price / kUnitsInCash,
           order.side == Side::kBuy ? shares : -shares, std::to_string(order.strategy)}));
    }
  all = rows.size();
  return thinned(std::move(rows));
}

ordered_json held_in(std::span<const cli::VenueTrades> venues, const std::vector<TimedFill>& fills,
                     const Listing& listing, const Grid& grid) {
  std::map<std::uint8_t, std::int64_t> shares;
  std::vector<ordered_json> rows;
  for (const auto& [strategy, each] : carried_in(venues))
    if (const auto held = each.held.find(listing); held != each.held.end()) {
      shares[strategy] = held->second.shares;
      rows.push_back(
          ordered_json::array({grid.first, std::to_string(strategy), held->second.shares}));
    }
  for (const TimedFill& each : fills) {
    if (each.listing != listing) continue;
    std::int64_t cash = 0;
    std::int64_t& held = shares[each.fill->strategy];
    trading::apply_fill(cli::fill_of(*each.fill), held, cash);
    rows.push_back(
        ordered_json::array({rounded(each.at, 1e6), std::to_string(each.fill->strategy), held}));
  }
  return thinned(std::move(rows));
}

std::vector<Listing> most_filled(const std::vector<TimedFill>& fills) {
  std::map<Listing, std::size_t> counts;
  for (const TimedFill& each : fills) ++counts[each.listing];
  std::vector<std::pair<Listing, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<Listing> listings;
  for (const auto& [listing, count] : sorted)
    if (listings.size() < kInstruments) listings.push_back(listing);
  return listings;
}

std::string name_of(const Listing& listing) {
  return listing.second + (listing.first == 0 ? "" : " at venue " + std::to_string(listing.first));
}

}  // namespace

std::set<Listing> traded_listings(std::span<const cli::VenueTrades> venues) {
  std::set<Listing> listings;
  for (const cli::VenueTrades& venue : venues) {
    for (const cli::TradedFill& fill : venue.trades.fills)
      listings.insert({venue.venue, fill.symbol});
    for (const cli::CarriedPosition& each : venue.trades.carried)
      listings.insert({venue.venue, each.symbol});
  }
  return listings;
}

ordered_json curves_json(std::span<const cli::VenueTrades> venues, const MarketClock& clock,
                         const Grid& grid, const PricePaths& paths) {
  const std::vector<TimedFill> fills = fills_in_time(venues, clock);
  Strategies strategies = carried_in(venues);
  for (const TimedFill& each : fills) strategies[each.fill->strategy];
  Valuation valuation(paths);
  std::map<std::uint8_t, std::vector<Valuation::Values>> curves;
  ordered_json times = ordered_json::array();
  auto next = fills.begin();
  for (std::size_t point = 0; point < grid.points; ++point) {
    const bool last = point + 1 == grid.points;
    for (; next != fills.end() && (last || next->at <= grid.at(point)); ++next)
      valuation.book(*next, strategies);
    times.push_back(rounded(grid.at(point), 1e3));
    for (const auto& [id, strategy] : strategies)
      curves[id].push_back(valuation.of(strategy, point));
  }
  ordered_json rows = ordered_json::array();
  for (const auto& [id, values] : curves) {
    ordered_json row{{"name", std::to_string(id)}};
    for (const Valuation::Values& each : values) {
      row["pnl"].push_back(rounded(each.pnl, 1e2));
      row["net"].push_back(std::round(each.net));
      row["gross"].push_back(std::round(each.gross));
    }
    rows.push_back(std::move(row));
  }
  return {{"times", std::move(times)}, {"strategies", std::move(rows)}};
}

ordered_json instruments_json(std::span<const cli::VenueTrades> venues, const MarketClock& clock,
                              const Grid& grid, const PricePaths& paths) {
  const std::vector<TimedFill> fills = fills_in_time(venues, clock);
  ordered_json rows = ordered_json::array();
  for (const Listing& listing : most_filled(fills)) {
    ordered_json mid = ordered_json::array();
    if (const auto path = paths.find(listing); path != paths.end())
      for (const double each : path->second)
        mid.push_back(std::isnan(each) ? ordered_json() : ordered_json(rounded(each, 1e5)));
    std::size_t fills_all = 0;
    std::size_t orders_all = 0;
    ordered_json its_fills = fills_of(fills, listing, fills_all);
    ordered_json its_orders = orders_of(venues, clock, listing, orders_all);
    rows.push_back({{"symbol", name_of(listing)},
                    {"fills_all", fills_all},
                    {"orders_all", orders_all},
                    {"mid", std::move(mid)},
                    {"fills", std::move(its_fills)},
                    {"orders", std::move(its_orders)},
                    {"held", held_in(venues, fills, listing, grid)}});
  }
  return rows;
}

}  // namespace tickpath::report

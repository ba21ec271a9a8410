#include "tools/cli/route_check.hpp"

#include <algorithm>
#include <span>

#include "common/base/format.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/route_decision.hpp"

namespace tickpath::cli {
namespace {

using strategy::LeftOut;
using strategy::RoutedLevel;
using strategy::RouteVenue;

constexpr std::size_t kExamplesMax = 5;

// As the engine says that it makes them: the newest update's best price, and behind it the image.
BookLevels combined(const RecordedBook& update, const RecordedBook* image, Side side,
                    bool update_is_newer) {
  BookLevels levels;
  const BookLevels& newest = update.against(side);
  if (image == nullptr || update_is_newer)
    if (!newest.empty()) levels.push_back(newest.front());
  if (image == nullptr || (update_is_newer && levels.empty())) return levels;
  BookLevels behind = image->against(side);
  if (behind.size() > wire::kImageLevels) behind.resize(wire::kImageLevels);
  for (const RoutedLevel& level : behind)
    if (levels.empty() || cost_of(side, level.price) > cost_of(side, levels.back().price))
      levels.push_back(level);
  return levels;
}

bool same(std::span<const RoutedLevel> a, std::span<const RoutedLevel> b) {
  return std::ranges::equal(a, b, [](const RoutedLevel& x, const RoutedLevel& y) {
    return x.price == y.price && x.shares == y.shares;
  });
}

// ------------------------------------------------------------------------------------ the check

class Checker {
 public:
  explicit Checker(const RoutedRun& run) : run_(run) {
    check_.unchecked = run.unchecked;
    const auto rule = [&](RouteCheck::Which which, const char* text) {
      check_.rules[which].text = text;
    };
    rule(RouteCheck::kSeen, "the books that it saw are those of the feeds");
    rule(RouteCheck::kShares, "never fewer shares than the best venue alone");
    rule(RouteCheck::kPrice, "never a worse price than the best venue alone, for as many shares");
    rule(RouteCheck::kSplit, "split by price, then size, then fee");
    rule(RouteCheck::kSent, "orders were sent as decided");
    rule(RouteCheck::kFills, "fills within what was planned for their venue");
  }

  RouteCheck run() {
    for (const RoutedDecision& each : run_.decisions) take(each);
    tell_decisions();
    tell_flight();
    return std::move(check_);
  }

 private:
  void take(const RoutedDecision& each) {
    const Decision decision(each.record);
    ++check_.decisions;
    const Dues dues = decision.chosen();
    ++check_.by_orders[dues.size()];
    if (!decision.carried_out()) {
      ++not_sent_;
      return;
    }
    check_seen(decision);
    check_decision(decision, dues);
    check_orders(decision);
    follow(each, decision);
  }

  // holds: else `why` becomes an example.
  template <class Why>
  void judge(RouteCheck::Which which, bool holds, Why why) {
    RouteCheck::Rule& rule = check_.rules[which];
    ++rule.checked;
    if (holds) return;
    ++rule.broken;
    if (rule.examples.size() < kExamplesMax) rule.examples.push_back(why());
  }

  const RecordedBook* book(std::uint8_t venue, std::uint64_t tick,
                           const std::string& symbol) const {
    const auto found = run_.books.find(venue);
    return found == run_.books.end() ? nullptr : found->second.find(tick, symbol);
  }

  void check_seen(const Decision& decision) {
    for (const RouteVenue& venue : decision.venues()) {
      not_accepting_ += venue.left_out == LeftOut::kNotAccepting ? 1 : 0;
      if (venue.left_out != LeftOut::kNo) continue;
      const std::string symbol = decision.symbol();
      const RecordedBook* const update = book(venue.venue, venue.update_tick, symbol);
      const RecordedBook* const image = book(venue.venue, venue.image_tick, symbol);
      if (update == nullptr || (image == nullptr && venue.image_tick != 0)) {
        ++books_unknown_;
        continue;
      }
      const BookLevels expected =
          combined(*update, image, decision.side(), venue.image_tick < venue.update_tick);
      judge(RouteCheck::kSeen, same(expected, std::span(venue.levels).first(venue.level_count)),
            [&] {
              return decision.name() + formatted(": venue %u at message %llu, image %llu",
                                                 unsigned{venue.venue},
                                                 static_cast<unsigned long long>(venue.update_tick),
                                                 static_cast<unsigned long long>(venue.image_tick));
            });
    }
  }

  void check_decision(const Decision& decision, const Dues& dues) {
    const Against against = compare(decision, decision.seen());
    judge(RouteCheck::kShares, against.fewer == 0, [&] {
      return decision.name() + formatted(": %llu fewer than venue %u shows",
                                         static_cast<unsigned long long>(against.fewer),
                                         unsigned{against.fewer_than});
    });
    judge(RouteCheck::kPrice, against.dearer == 0, [&] {
      return decision.name() + formatted(": %s worse than venue %u alone",
                                         money_text(against.dearer).c_str(),
                                         unsigned{against.dearer_than});
    });
    const Dues right = decision.due();
    judge(RouteCheck::kSplit, dues == right, [&] {
      return decision.name() + ": chosen were " + decision.text_of(dues) + "; the rules say " +
             decision.text_of(right);
    });
    better_ += against.saved > 0 ? 1 : 0;
    saved_ += std::max<std::int64_t>(against.saved, 0);
    if (against.dearer_fees == 0) return;
    ++dearer_by_fees_;
    const auto shares = static_cast<std::int64_t>(std::max<std::uint64_t>(against.of_shares, 1));
    fee_worst_ = std::max(fee_worst_, against.dearer_fees / shares);
  }

  void check_orders(const Decision& decision) {
    for (const RouteVenue& venue : decision.venues()) {
      if (venue.order_id == 0) continue;
      const auto found = run_.fates.find(venue.order_id);
      if (found == run_.fates.end()) {
        ++orders_unknown_;
        continue;
      }
      const TradedOrder& order = found->second.order;
      if (trading::refuses_every_order(order.reason)) ++in_vain_;
      const bool limit = decision.head().type == TICKPATH_LIMIT;
      const std::uint32_t price = limit ? venue.price : 0;
      const bool terms = order.side == decision.side() && order.price == price &&
                         (order.shares == venue.shares || venue.rests != 0);
      const bool ends = venue.rests != 0 || !limit ||
                        order.time_in_force == trading::TimeInForce::kImmediateOrCancel;
      judge(RouteCheck::kSent, terms && ends, [&] {
        return decision.name() +
               formatted(": %u at %s were decided for venue %u, oeg has %u at %s", venue.shares,
                         money_text(venue.price * kFeeOfAPrice).c_str(), unsigned{venue.venue},
                         order.shares, money_text(order.price * kFeeOfAPrice).c_str());
      });
      for (const TradedFill& fill : found->second.fills) {
        // A price with hundredths of 1/10,000 lies between two prices: above the one it has.
        const std::uint32_t worst = decision.side() == Side::kBuy
                                        ? fill.price.price + (fill.price.hundredths != 0)
                                        : fill.price.price;
        judge(RouteCheck::kFills, within(decision.side(), price, worst), [&] {
          return decision.name() + formatted(": filled at %s by venue %u, beyond %s",
                                             money_text(fill.price.price * kFeeOfAPrice).c_str(),
                                             unsigned{venue.venue},
                                             money_text(price * kFeeOfAPrice).c_str());
        });
      }
    }
  }

  // ---- in flight

  void follow(const RoutedDecision& each, const Decision& decision) {
    compare_with_exchange(each, decision);
    bool known = false, still = true, as_planned = true;
    for (std::size_t i = 0; i < decision.venues().size(); ++i) {
      const RouteVenue& venue = decision.venues()[i];
      const auto found = run_.fates.find(venue.order_id);
      if (venue.order_id == 0 || found == run_.fates.end() || decision.post_only()) continue;
      const Pieces plan =
          walk(decision.seen()[i], decision.side(), venue.price, venue.shares, venue.taker_fee);
      if (plan.empty()) continue;  // it was to rest
      std::uint64_t shares = 0;
      std::int64_t value = 0;
      for (const TradedFill& fill : found->second.fills) {
        // All that was there: what is left of it rests, and those who come later fill that.
        if (venue.rests != 0 && shares >= shares_of(plan)) break;
        shares += fill.shares;
        value += cost_of(decision.side(), fill.price.price) * kFeeOfAPrice * fill.shares +
                 (decision.side() == Side::kBuy ? 1 : -1) * std::int64_t{fill.price.hundredths} *
                     fill.shares;
      }
      planned_ += shares_of(plan);
      const std::uint64_t common = std::min(shares, shares_of(plan));
      filled_ += common;
      beyond_ += shares - common;
      if (shares == common) slipped_ += value - value_of(plan, shares, false);
      const bool same_fills = shares == shares_of(plan) && value == value_of(plan, shares, false);
      const RecordedBook* const then = book(venue.venue, each.sent_at_match[i], decision.symbol());
      known = known || then != nullptr;
      still = still && then != nullptr && !moved(*then, decision.seen()[i], decision.side());
      as_planned = as_planned && same_fills;
    }
    if (!known) return;
    ++arrivals_;
    still_ += still ? 1 : 0;
    still_as_planned_ += still && as_planned ? 1 : 0;
  }

  // The levels that were seen; behind them an image shows no more.
  static bool moved(const RecordedBook& now, std::span<const RoutedLevel> seen, Side side) {
    const BookLevels& levels = now.against(side);
    const std::size_t count = std::min(seen.size(), wire::kImageLevels);
    return levels.size() < count || !same(std::span(levels).first(count), seen.first(count)) ||
           (seen.empty() && !levels.empty());
  }

  // On the books that the exchanges had already sent out when it decided.
  void compare_with_exchange(const RoutedDecision& each, const Decision& decision) {
    RoutedBooks books = decision.seen();
    bool any_moved = false;
    for (std::size_t i = 0; i < decision.venues().size(); ++i) {
      const RouteVenue& venue = decision.venues()[i];
      if (venue.left_out != LeftOut::kNo) continue;
      const RecordedBook* const then =
          book(venue.venue, each.sent_at_decision[i], decision.symbol());
      if (then == nullptr) return;
      any_moved = any_moved || moved(*then, books[i], decision.side());
      books[i] = then->against(decision.side());
    }
    ++exchange_compared_;
    if (!any_moved) return;
    ++exchange_moved_;
    const Against against = compare(decision, books);
    if (against.fewer == 0 && against.dearer == 0) return;
    ++exchange_worse_;
    exchange_dearer_ += against.dearer;
    exchange_fewer_ += against.fewer;
  }

  void figure(std::string text) { check_.figures.push_back(std::move(text)); }

  void tell_decisions() {
    if (better_ != 0)
      figure(grouped(better_) + " decisions better than the best venue alone, by " +
             money_text(saved_) + " in all");
    if (dearer_by_fees_ != 0)
      figure("after taker fees " + grouped(dearer_by_fees_) +
             " decisions cost more than a venue alone, by " + money_text(fee_worst_) +
             " a share at most: the price goes before the fee, and so does the size at one price");
    if (not_accepting_ != 0)
      figure(grouped(not_accepting_) +
             " times a venue was left out because its oeg accepted no orders");
    if (in_vain_ != 0)
      figure(grouped(in_vain_) +
             " orders were on their way when an oeg began to refuse every order");
    if (not_sent_ != 0)
      figure(grouped(not_sent_) + " were not sent: the plugin had no room for more orders");
    if (books_unknown_ != 0)
      check_.unchecked.push_back(grouped(books_unknown_) +
                                 " books that it saw were compared with no recording");
    if (orders_unknown_ != 0)
      check_.unchecked.push_back(grouped(orders_unknown_) + " orders are in no journal of an oeg");
  }

  void tell_flight() {
    if (exchange_compared_ != 0)
      figure("when it decided, " + grouped(exchange_moved_) + " of " + grouped(exchange_compared_) +
             " had books that the exchanges had changed already; on " + "these " +
             grouped(exchange_worse_) + " would have had " + grouped(exchange_fewer_) +
             " shares less than at the best venue alone, or paid " + money_text(exchange_dearer_) +
             " more");
    if (planned_ != 0)
      figure(
          formatted("filled %s of %s shares that it saw (%.1f %%), and %s that it did not see; "
                    "%s dearer than planned in all",
                    grouped(filled_).c_str(), grouped(planned_).c_str(),
                    100.0 * static_cast<double>(filled_) / static_cast<double>(planned_),
                    grouped(beyond_).c_str(), money_text(slipped_).c_str()));
    if (arrivals_ != 0)
      figure(grouped(still_) + " of " + grouped(arrivals_) +
             " met the books that it saw; of these " + grouped(still_as_planned_) +
             " were filled to the share and price as planned");
  }

  const RoutedRun& run_;
  RouteCheck check_;
  std::uint64_t not_sent_ = 0, books_unknown_ = 0, orders_unknown_ = 0;
  std::uint64_t not_accepting_ = 0, in_vain_ = 0;
  std::uint64_t better_ = 0, dearer_by_fees_ = 0;
  std::int64_t saved_ = 0, fee_worst_ = 0;
  std::uint64_t exchange_compared_ = 0, exchange_moved_ = 0, exchange_worse_ = 0;
  std::uint64_t exchange_fewer_ = 0;
  std::int64_t exchange_dearer_ = 0;
  std::uint64_t planned_ = 0, filled_ = 0, beyond_ = 0;
  std::int64_t slipped_ = 0;
  std::uint64_t arrivals_ = 0, still_ = 0, still_as_planned_ = 0;
};

}  // namespace

bool RouteCheck::holds() const noexcept {
  return unchecked.empty() &&
         std::ranges::all_of(rules, [](const Rule& rule) { return rule.broken == 0; });
}

std::string RouteCheck::problem() const {
  if (holds()) return {};
  const bool broken = std::ranges::any_of(rules, [](const Rule& rule) { return rule.broken != 0; });
  return broken ? "the router did not do what it promises" : "not everything could be checked";
}

RouteCheck check_routes(const RoutedRun& run) { return Checker(run).run(); }

std::string to_text(const RouteCheck& check) {
  std::string text = grouped(check.decisions) + " orders were routed";
  for (std::size_t orders = 0; orders < check.by_orders.size(); ++orders)
    if (const std::uint64_t count = check.by_orders[orders]; count != 0)
      text +=
          ", " + grouped(count) +
          (orders == 0 ? " nowhere" : formatted(" to %zu venue%s", orders, orders == 1 ? "" : "s"));
  text += "\n";
  for (const RouteCheck::Rule& rule : check.rules) {
    text += (rule.checked == 0  ? "  none    "
             : rule.broken == 0 ? "  ok      "
                                : "  BROKEN  ") +
            rule.text + ": " + grouped(rule.checked - rule.broken) + " of " +
            grouped(rule.checked) + "\n";
    for (const std::string& example : rule.examples) text += "            " + example + "\n";
  }
  for (const std::string& what : check.unchecked) text += "  UNCHECKED  " + what + "\n";
  for (const std::string& figure : check.figures) text += "  " + figure + "\n";
  return text;
}

}  // namespace tickpath::cli

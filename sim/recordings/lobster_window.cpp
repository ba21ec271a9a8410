// LOBSTER messages with their orderbook file: after each event the book is what its row displays.
// Adds that the row asks for go before the event and removals behind it, so that a level that
// follows one that empties is there in time: no message shows a side empty, or crossed, that is
// not.
#include <algorithm>
#include <iterator>
#include <limits>

#include "sim/recordings/lobster.hpp"

namespace tickpath::itch {

namespace {

using detail::LobsterLevel;
using detail::LobsterOrder;
using detail::LobsterQueue;

constexpr std::uint32_t kSharesMax = std::numeric_limits<std::uint32_t>::max();

std::uint64_t shares_in(const LobsterQueue& queue) noexcept {
  std::uint64_t shares = 0;
  for (const LobsterOrder& order : queue) shares += order.shares;
  return shares;
}

const std::vector<LobsterLevel>& side_of(const detail::LobsterRow& row, Side side) noexcept {
  return side == Side::kBuy ? row.bids : row.asks;
}

}  // namespace

// Converts the event and makes the book that of its row. False at damage.
bool LobsterReader::follow_row(const detail::LobsterEvent& event) {
  std::swap(row_, previous_row_);
  if (!rows_->next(row_)) {
    damage_ = rows_->error();
    if (damage_.empty())
      damage_ = orderbook_->name() +
                ": ends before the message file: " + std::to_string(counts_.lines) + " rows";
    return false;
  }
  forget_hidden(event);
  gone_.clear();
  convert(event);
  const std::vector<Target> missing = missing_shares();
  const auto before_event = pending_.size();
  for (const Target& target : missing)
    if (!crosses_what_was_shown(target)) enter_level(target);
  std::rotate(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(before_event),
              pending_.end());
  for (const Side side : {Side::kBuy, Side::kSell}) remove_from_window(side);
  for (const Target& target : missing)
    if (crosses_what_was_shown(target)) enter_level(target);
  return true;
}

void LobsterReader::check_rows_ended() {
  if (rows_->next(row_)) rows_->fail("has no line in the message file, which ends before it");
  damage_ = rows_->error();
}

// An order whose level is out of sight may be named by an event all the same: it is known again.
void LobsterReader::forget_hidden(const detail::LobsterEvent& event) {
  const auto hidden = hidden_.find(
      {event.side, static_cast<std::uint32_t>(std::max<std::int64_t>(event.price, 0))});
  if (hidden == hidden_.end()) return;
  std::erase_if(hidden->second,
                [&](const LobsterOrder& order) { return order.id == event.order_id; });
}

// An event on an order that is not known by name: its shares are among the unnamed ones. An
// execution must be told in any case, so it takes from the front of the queue if there are none;
// the shares of anything else are taken to where the row says.
void LobsterReader::stand_in(const detail::LobsterEvent& event, std::uint32_t shares) {
  const detail::LobsterPlace place{event.side, static_cast<std::uint32_t>(event.price)};
  while (shares > 0) {
    const LobsterQueue& queue = open_.queue(place);
    auto order = std::ranges::find_if(queue, detail::is_unnamed, &LobsterOrder::id);
    if (order == queue.end() && event.type == detail::LobsterType::kExecution)
      order = queue.begin();
    if (order == queue.end()) return;  // the row tells what is left
    const std::uint32_t taken = std::min(shares, order->shares);
    take(order->id, taken, event.type);
    shares -= taken;
  }
}

// Shares that the row displays and the book lacks.
std::vector<LobsterReader::Target> LobsterReader::missing_shares() const {
  std::vector<Target> missing;
  for (const Side side : {Side::kBuy, Side::kSell}) {
    for (const LobsterLevel& level : side_of(row_, side)) {
      const detail::LobsterPlace place{side, level.price};
      const std::uint64_t shown = shares_in(open_.queue(place));
      if (shown < level.shares) missing.push_back({place, level.shares - shown});
    }
  }
  return missing;
}

// Whether it would cross what the other side displayed before the event: then it must wait until
// that is removed.
bool LobsterReader::crosses_what_was_shown(const Target& target) const noexcept {
  const auto& [side, price] = target.place;
  const std::vector<LobsterLevel>& other = side_of(previous_row_, opposite(side));
  return !other.empty() && detail::crosses(side, price, other.front().price);
}

// First the orders that were there when the level was last displayed, then an unnamed one. One that
// the event has taken stands in the book until then, under the same id at another price: a file may
// name an order twice.
void LobsterReader::enter_level(const Target& target) {
  std::uint64_t missing = target.shares;
  const auto hidden = hidden_.find({target.place.side, target.place.price});
  if (hidden != hidden_.end()) {
    for (const LobsterOrder& order : hidden->second) {
      if (order.shares > missing || open_.find(order.id) != nullptr ||
          std::ranges::find(gone_, order.id) != gone_.end())
        continue;
      submit(order.id, order.shares, target.place);
      missing -= order.shares;
    }
    hidden_.erase(hidden);
  }
  add_unnamed(target.place, missing);
}

void LobsterReader::add_unnamed(detail::LobsterPlace place, std::uint64_t shares) {
  while (shares > 0) {
    const auto some = static_cast<std::uint32_t>(std::min<std::uint64_t>(shares, kSharesMax));
    submit(next_unnamed_++, some, place);
    ++counts_.unnamed_orders;
    shares -= some;
  }
}

// Takes out what the book has and the row does not display.
void LobsterReader::remove_from_window(Side side) {
  const std::vector<LobsterLevel>& displayed = side_of(row_, side);
  const bool more_may_rest = displayed.size() == row_.levels;
  const std::uint32_t worst = displayed.empty() ? 0 : detail::rank_of(side, displayed.back().price);
  auto next = displayed.begin();
  for (auto level = open_.levels(side).begin(); level != open_.levels(side).end();) {
    const std::uint32_t rank = level->first;
    const detail::LobsterPlace place{side, detail::price_of(side, rank)};
    const std::uint64_t shares = shares_in(level->second);
    ++level;  // what follows may erase the level
    while (next != displayed.end() && detail::rank_of(side, next->price) < rank) ++next;
    const bool is_displayed = next != displayed.end() && next->price == place.price;
    if (!is_displayed) {
      remove_level(place, !(more_may_rest && rank > worst));
    } else if (shares > next->shares) {
      remove_shares(place, shares - next->shares);
    }
  }
}

// `ended`: its price is within the window, so its orders are gone; else they are out of sight.
void LobsterReader::remove_level(detail::LobsterPlace place, bool ended) {
  const LobsterQueue orders = open_.queue(place);
  for (const LobsterOrder& order : orders)
    take(order.id, order.shares, detail::LobsterType::kDeletion);
  if (ended) return;
  counts_.left_window += orders.size();
  LobsterQueue& hidden = hidden_[{place.side, place.price}];
  std::ranges::remove_copy_if(orders, std::back_inserter(hidden), detail::is_unnamed,
                              &LobsterOrder::id);
}

// The orders that came last are the likeliest to have gone.
void LobsterReader::remove_shares(detail::LobsterPlace place, std::uint64_t excess) {
  while (excess > 0) {
    const LobsterOrder last = open_.queue(place).back();
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(last.shares, excess));
    take(last.id, taken, detail::LobsterType::kPartialCancel);
    excess -= taken;
  }
}

}  // namespace tickpath::itch

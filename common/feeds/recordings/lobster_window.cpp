// LOBSTER messages with their orderbook file: after each event the book is what its row displays.
// Adds that the row asks for go before the event and removals behind it, so that a level that
// follows one that empties is there in time: no message shows a side empty, or crossed, that is
// not.
#include <algorithm>
#include <limits>

#include "common/feeds/recordings/lobster.hpp"

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
  convert(event);
  const std::vector<Target> missing = missing_shares();
  const auto before_event = pending_.size();
  for (const Target& target : missing)
    if (!crosses_what_was_shown(target)) add_unnamed(target.place, target.shares);
  std::rotate(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(before_event),
              pending_.end());
  for (const Side side : {Side::kBuy, Side::kSell}) remove_from_window(side);
  for (const Target& target : missing)
    if (crosses_what_was_shown(target)) add_unnamed(target.place, target.shares);
  return true;
}

void LobsterReader::check_rows_ended() {
  if (rows_->next(row_)) rows_->fail("has no line in the message file, which ends before it");
  damage_ = rows_->error();
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

void LobsterReader::add_unnamed(detail::LobsterPlace place, std::uint64_t shares) {
  while (shares > 0) {
    const auto some = static_cast<std::uint32_t>(std::min<std::uint64_t>(shares, kSharesMax));
    submit(next_unnamed_++, some, place);
    ++counts_.unnamed_orders;
    shares -= some;
  }
}

// Takes out what the book has and the row shows to be gone. What is out of sight stays: an order
// there has its place in the queue for when its level is displayed again.
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
      if (!more_may_rest || rank <= worst) remove_level(place);
    } else if (shares > next->shares) {
      remove_shares(place, shares - next->shares);
    }
  }
}

void LobsterReader::remove_level(detail::LobsterPlace place) {
  const LobsterQueue orders = open_.queue(place);
  for (const LobsterOrder& order : orders)
    take(order.id, order.shares, detail::LobsterType::kDeletion);
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

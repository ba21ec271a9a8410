#include "common/book/book.hpp"

#include <limits>
#include <map>
#include <string>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/error.hpp"
#include "common/base/names.hpp"

namespace tickpath::book {
namespace {

const Options& checked(const Options& options) {
  // Handles are 32 bits, three for every order: 2^30 orders would need 64 GiB anyway.
  if (options.orders_max == 0 || options.orders_max > (1u << 30))
    throw Error("book: orders_max must be between 1 and 1073741824, not " +
                std::to_string(options.orders_max));
  if (options.levels_max == 0 || options.levels_max > (1u << 28))
    throw Error("book: levels_max must be between 1 and 268435456, not " +
                std::to_string(options.levels_max));
  return options;
}

}  // namespace

const char* to_string(Status status) noexcept {
  using enum Status;
  return name_in(status, {{kOk, "ok"},
                          {kUnknownReference, "unknown_reference"},
                          {kDuplicateReference, "duplicate_reference"},
                          {kSharesExceeded, "shares_exceeded"},
                          {kZeroShares, "zero_shares"},
                          {kZeroPrice, "zero_price"},
                          {kOrdersFull, "orders_full"},
                          {kLevelsFull, "levels_full"}});
}

template <bool kQueues>
BasicBookSet<kQueues>::BasicBookSet(const Options& options)
    : options_(checked(options)),
      orders_(options.orders_max),
      levels_(options.levels_max, "the price levels"),
      ladders_(options.levels_max),
      heads_(kLocatesMax * 2, "the symbols") {}

// Drops the levels of a side whose orders are gone.
template <bool kQueues>
void BasicBookSet<kQueues>::drop_side(SideHead& head) noexcept {
  const detail::Rung* const rungs = ladders_.rungs(head.offset);
  for (std::uint32_t i = 0; i < head.count; ++i) levels_.give_back(detail::level_at(rungs[i]));
  // Blocks of uncommon size go back; the side keeps none, so that a day of changing symbols cannot
  // use the arena up.
  if (head.capacity > 0) ladders_.give_back(head.offset, head.capacity);
  head = {};
}

template <bool kQueues>
void BasicBookSet<kQueues>::clear(Locate locate) noexcept requires kQueues {
  for (const Side side : {Side::kBuy, Side::kSell}) {
    SideHead& head = heads_[index_of(locate, side)];
    for (std::uint32_t i = 0; i < head.count; ++i)
      for (Handle node = level_of(head, i).first; node != kNoOrder; node = orders_[node].next)
        orders_.erase(node);
    drop_side(head);
  }
}

template <bool kQueues>
void BasicBookSet<kQueues>::clear() noexcept {
  orders_.clear();
  for (std::uint32_t side = 0; side < kLocatesMax * 2; ++side) drop_side(heads_[side]);
}

// ------------------------------------------------------------------ questions

template <bool kQueues>
LevelView BasicBookSet<kQueues>::level(Locate locate, Side side,
                                       std::uint32_t rank) const noexcept {
  const SideHead& head = head_of(locate, side);
  if (rank >= head.count) return {};
  const Level& level = level_of(head, head.count - 1 - rank);
  return {level.price, level.orders, level.shares};
}

template <bool kQueues>
std::size_t BasicBookSet<kQueues>::levels(Locate locate, Side side,
                                          std::span<LevelView> out) const noexcept {
  const SideHead& head = head_of(locate, side);
  const std::size_t filled = out.size() < head.count ? out.size() : head.count;
  if (filled == 0) return 0;
  const detail::Rung* const best = ladders_.best(head.offset, head.count);
  for (std::size_t i = 0; i < filled; ++i)
    detail::prefetch_line(&levels_[detail::level_at(*(best - i))]);
  for (std::size_t i = 0; i < filled; ++i) {
    const Level& level = levels_[detail::level_at(*(best - i))];
    out[i] = {level.price, level.orders, level.shares};
  }
  return filled;
}

template <bool kQueues>
std::uint32_t BasicBookSet<kQueues>::level_index_at(Locate locate, Side side,
                                                    std::uint32_t price) const noexcept {
  const SideHead& head = head_of(locate, side);
  if (head.count == 0) return kNoLevel;
  const std::int32_t key = key_of(index_of(locate, side), price);
  const detail::Rung* const rungs = ladders_.rungs(head.offset);
  const std::uint32_t at = detail::LadderStore::below(rungs, head.count, key);
  return at < head.count && detail::key_at(rungs[at]) == key ? detail::level_at(rungs[at])
                                                             : kNoLevel;
}

template <bool kQueues>
LevelView BasicBookSet<kQueues>::level_at(Locate locate, Side side,
                                          std::uint32_t price) const noexcept {
  const std::uint32_t index = level_index_at(locate, side, price);
  if (index == kNoLevel) return {};
  const Level& level = levels_[index];
  return {level.price, level.orders, level.shares};
}

template <bool kQueues>
OrderView BasicBookSet<kQueues>::order(Handle handle) const noexcept {
  const Order& order = orders_[handle];
  const Level& level = levels_[order.level];
  OrderView view{orders_.reference_of(handle), 0, level.price, order.shares, locate_at(level.side),
                 side_at(level.side)};
  if constexpr (kQueues) view.user = order.user;
  return view;
}

template <bool kQueues>
Handle BasicBookSet<kQueues>::front(Locate locate, Side side) const noexcept requires kQueues {
  const SideHead& head = head_of(locate, side);
  if (head.count == 0) return kNoOrder;
  return level_of(head, head.count - 1).first;
}

template <bool kQueues>
Handle BasicBookSet<kQueues>::front(Locate locate, Side side,
                                    std::uint32_t price) const noexcept requires kQueues {
  const std::uint32_t index = level_index_at(locate, side, price);
  return index == kNoLevel ? kNoOrder : levels_[index].first;
}

template <bool kQueues>
void BasicBookSet<kQueues>::verify_queue(std::uint32_t level_index) const {
  const Level& level = levels_[level_index];
  std::uint32_t orders = 0;
  std::uint32_t last = kNoOrder;
  if constexpr (kQueues) {
    for (std::uint32_t node = level.first; node != kNoOrder; node = orders_[node].next) {
      TICKPATH_CHECK(orders_[node].level == level_index, "an order stands in its level's queue");
      TICKPATH_CHECK(orders_[node].previous == last, "queue links agree both ways");
      ++orders;
      last = node;
    }
    TICKPATH_CHECK(level.last == last && level.orders == orders, "a level knows its queue's ends");
  }
}

template <bool kQueues>
void BasicBookSet<kQueues>::verify_side(std::uint32_t side) const {
  const SideHead& head = heads_[side];
  std::int64_t last_key = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t i = 0; i < head.count; ++i) {
    const detail::Rung rung = ladders_.rungs(head.offset)[i];
    const std::uint32_t index = detail::level_at(rung);
    const std::int32_t key = detail::key_at(rung);
    const Level& level = levels_[index];
    TICKPATH_CHECK(key > last_key && key == key_of(side, level.price), "the ladder is sorted");
    TICKPATH_CHECK(level.side == side && level.orders > 0, "a level is on its own side, in use");
    verify_queue(index);
    last_key = key;
  }
  const LevelView best = level(locate_at(side), side_at(side), 0);
  TICKPATH_CHECK(head.best_price == best.price && head.best_shares == best.shares,
                 "the best quote is that of the best level");
}

template <bool kQueues>
void BasicBookSet<kQueues>::verify_orders() const {
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> sums;  // by level
  std::uint32_t orders = 0;
  for (std::uint32_t node = 1; node <= orders_.last_node(); ++node) {
    if (!orders_.in_use(node)) continue;
    const Order& order = orders_[node];
    TICKPATH_CHECK(order.shares > 0, "no empty order rests");
    TICKPATH_CHECK(find(orders_.reference_of(node)) == node, "an order is found by its reference");
    sums[order.level].first += order.shares;
    ++sums[order.level].second;
    ++orders;
  }
  TICKPATH_CHECK(orders == orders_.size().get(), "no order is lost");
  TICKPATH_CHECK(sums.size() == levels_.in_use(), "every level holds orders");
  for (const auto& [level, sum] : sums)
    TICKPATH_CHECK(levels_[level].shares == sum.first && levels_[level].orders == sum.second,
                   "sums of a level agree");
}

template <bool kQueues>
void BasicBookSet<kQueues>::verify() const {
  std::uint64_t levels = 0;
  for (std::uint32_t side = 0; side < kLocatesMax * 2; ++side) {
    verify_side(side);
    levels += heads_[side].count;
  }
  TICKPATH_CHECK(levels == levels_.in_use(), "no level is lost");
  verify_orders();
}

template class BasicBookSet<true>;
// One by one: clang 14 instantiates members of a class whose constraints are not met, too.
template BasicBookSet<false>::BasicBookSet(const Options&);
template void BasicBookSet<false>::clear() noexcept;
template LevelView BasicBookSet<false>::level(Locate, Side, std::uint32_t) const noexcept;
template LevelView BasicBookSet<false>::level_at(Locate, Side, std::uint32_t) const noexcept;
template std::size_t BasicBookSet<false>::levels(Locate, Side, std::span<LevelView>) const noexcept;
template OrderView BasicBookSet<false>::order(Handle) const noexcept;
template void BasicBookSet<false>::verify() const;

}  // namespace tickpath::book

#include "common/book/book.hpp"

#include <cstring>
#include <string>

#include "common/base/error.hpp"

namespace tickpath::book {
namespace {

const Options& checked(const Options& options) {
  // Node numbers are 32 bits with two values reserved, and the reference table holds twice as many
  // slots, found by 29 bits of line number: 2^30 orders would need 48 GiB anyway.
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
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kUnknownReference:
      return "unknown_reference";
    case Status::kDuplicateReference:
      return "duplicate_reference";
    case Status::kSharesExceeded:
      return "shares_exceeded";
    case Status::kZeroShares:
      return "zero_shares";
    case Status::kZeroPrice:
      return "zero_price";
    case Status::kOrdersFull:
      return "orders_full";
    case Status::kLevelsFull:
      return "levels_full";
  }
  return "?";
}

BookSet::BookSet(const Options& options)
    : options_(checked(options)),
      references_(options.orders_max),
      orders_(options.orders_max, "the orders"),
      levels_(options.levels_max, "the price levels"),
      ladders_(options.levels_max),
      symbols_(kLocatesMax, "the symbols") {}

// Doubles the block of a side. False when the arena is used up.
bool BookSet::grow(SideHead& head) noexcept {
  const std::uint32_t capacity =
      head.capacity == 0 ? detail::LadderStore::kFirstCapacity : head.capacity * 2;
  const std::uint32_t offset = ladders_.take(capacity);
  if (offset == detail::LadderStore::kNone) return false;
  if (head.capacity > 0) {
    std::memcpy(ladders_.keys(offset), ladders_.keys(head.offset),
                head.count * sizeof(std::int32_t));
    std::memcpy(ladders_.levels(offset), ladders_.levels(head.offset),
                head.count * sizeof(std::uint32_t));
    ladders_.give_back(head.offset, head.capacity);
  }
  head.offset = offset;
  head.capacity = capacity;
  return true;
}

void BookSet::drop_side(SideHead& head) noexcept {
  const std::uint32_t* levels = ladders_.levels(head.offset);
  for (std::uint32_t i = 0; i < head.count; ++i) {
    for (std::uint32_t node = levels_[levels[i]].next; node != kNoOrder;) {
      const std::uint32_t following = orders_[node].next;
      references_.erase_at(slot_of(orders_[node].reference));
      orders_.give_back(node);
      node = following;
    }
    levels_.give_back(levels[i]);
  }
  // Blocks of uncommon size go back; the side keeps none, so that a day of changing symbols cannot
  // use the arena up.
  if (head.capacity > 0) ladders_.give_back(head.offset, head.capacity);
  head = {};
  resting_.set(orders_.in_use());
}

void BookSet::clear(Locate locate) noexcept {
  for (SideHead& head : symbols_[locate].sides) drop_side(head);
}

void BookSet::clear() noexcept {
  for (std::size_t locate = 0; locate < kLocatesMax; ++locate) clear(static_cast<Locate>(locate));
}

}  // namespace tickpath::book

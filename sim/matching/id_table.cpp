#include "sim/matching/id_table.hpp"

#include <algorithm>
#include <bit>

#include "common/base/error.hpp"

namespace tickpath::sim {
namespace {

std::uint32_t checked(std::uint32_t ids_max) {
  if (ids_max == 0 || ids_max > 1u << 30)
    throw Error("order ids: between 1 and 2^30 must be allowed for");
  return ids_max;
}

}  // namespace

IdTable::IdTable(std::uint32_t ids_max)
    : ids_max_(checked(ids_max)),
      entries_(std::bit_ceil(std::max(std::size_t{ids_max} * 2, kRun * 2)), "the order ids"),
      mask_(entries_.size() - 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(entries_.size() >> kRunBits))) {}

IdTable::Entry* IdTable::find(std::uint64_t order_id) noexcept {
  for (std::size_t at = home(order_id);; at = after(at)) {
    Entry& entry = entries_[at];
    if (entry.number == 0) return nullptr;
    if (entry.order_id == order_id) return &entry;
  }
}

IdTable::Entry* IdTable::insert(std::uint64_t order_id, std::uint32_t number,
                                std::uint32_t node) noexcept {
  if (full()) return nullptr;
  std::size_t at = home(order_id);
  while (entries_[at].number != 0) at = after(at);
  entries_[at] = {order_id, node, number};
  ++size_;
  return &entries_[at];
}

}  // namespace tickpath::sim

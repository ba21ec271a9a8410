#include "common/market/order_limits.hpp"

namespace tickpath::market {
namespace {

// visit(key, member, member of the control block, unit, help) for each.
template <class Visit>
void for_each_limit(Visit&& visit) {
#define TICKPATH_VISIT(key, type, most, unit, reason, help) \
  visit(#key, &OrderLimits::key, &wire::ControlBlock::key, unit, help);
  TICKPATH_ORDER_LIMITS(TICKPATH_VISIT)
#undef TICKPATH_VISIT
}

}  // namespace

config::Schema<OrderLimits> order_limits_schema(const OrderLimits& most) {
  config::Schema<OrderLimits> schema;
  for_each_limit([&](const char* key, auto limit, auto, const char* unit, const char* help) {
    using Value = config::MemberType<OrderLimits, decltype(limit)>;
    if constexpr (sizeof(Value) == sizeof(std::uint64_t))
      schema.money(key, limit, {0, config::kMoneyMax}, help);
    else
      schema.integer(key, limit, {0, most.*limit}, unit, help);
  });
  return schema;
}

bool are_all_off(const OrderLimits& limits) noexcept {
  bool off = true;
  for_each_limit([&](auto, auto limit, auto, auto, auto) { off &= limits.*limit == 0; });
  return off;
}

OrderLimits stricter(OrderLimits ours, const wire::ControlBlock& block) noexcept {
  for_each_limit([&](auto, auto limit, auto given, auto, auto) {
    using Value = config::MemberType<OrderLimits, decltype(limit)>;
    if (block.*given <= 0) return;
    const auto theirs = static_cast<Value>(block.*given);
    if (ours.*limit == 0 || theirs < ours.*limit) ours.*limit = theirs;
  });
  return ours;
}

void write_to(wire::ControlBlock& block, const OrderLimits& limits) noexcept {
  for_each_limit([&](auto, auto limit, auto given, auto, auto) {
    using Value = config::MemberType<wire::ControlBlock, decltype(given)>;
    block.*given = static_cast<Value>(limits.*limit);
  });
}

}  // namespace tickpath::market

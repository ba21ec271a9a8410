// What risk watches itself, beside the limits that oeg checks on every order.
#pragma once

#include <array>
#include <cstdint>

#include "common/wire/kill.hpp"

namespace tickpath::risk {

// A limit, or another reason to kill.
using LimitKind = wire::KillCause;

// Money in 1/10,000 of the currency. 0: no such limit. All are inclusive ("at most").
struct StrategyLimits {
  std::int64_t loss_max = 0;            // of realised and unrealised P&L together
  std::int64_t gross_notional_max = 0;  // sum of |position| x mark
  std::int64_t position_value_max = 0;  // |position| x mark of one instrument
  std::int64_t position_shares_max = 0;
  std::int64_t open_orders_max = 0;
  std::int64_t requests_per_second_max = 0;
  std::int64_t rejects_per_second_max = 0;
};
struct TotalLimits {
  std::int64_t loss_max = 0;
  std::int64_t gross_notional_max = 0;
};

// What there is to say of a limit; its key is wire::name(kind).
template <class Limits>
struct LimitRow {
  LimitKind kind;
  std::int64_t Limits::*member;
  const char* unit;  // nullptr: money
  const char* help;
};
inline constexpr LimitRow<StrategyLimits> kStrategyLimits[] = {
    {LimitKind::kLoss, &StrategyLimits::loss_max, nullptr,
     "Realised and unrealised together, since the start"},
    {LimitKind::kGrossNotional, &StrategyLimits::gross_notional_max, nullptr,
     "Sum of |position| x mark"},
    {LimitKind::kPositionValue, &StrategyLimits::position_value_max, nullptr,
     "|position| x mark in one instrument"},
    {LimitKind::kPositionShares, &StrategyLimits::position_shares_max, "shares",
     "|position| in one instrument"},
    {LimitKind::kOpenOrders, &StrategyLimits::open_orders_max, "orders", "Open at one time"},
    {LimitKind::kRequestRate, &StrategyLimits::requests_per_second_max, "requests",
     "New orders, cancels and replacements in any second"},
    {LimitKind::kRejectRate, &StrategyLimits::rejects_per_second_max, "rejects",
     "By oeg or the venue, in any second"},
};
inline constexpr LimitRow<TotalLimits> kTotalLimits[] = {
    {LimitKind::kTotalLoss, &TotalLimits::loss_max, nullptr,
     "All strategies together: beyond it everything is killed"},
    {LimitKind::kTotalGrossNotional, &TotalLimits::gross_notional_max, nullptr,
     "All strategies together"},
};

// A limit that broke, and by how much.
struct Breach {
  LimitKind kind = LimitKind::kNone;
  std::int64_t value = 0;
  std::int64_t limit = 0;
};

// How many events fell into the last second, to a tenth: the window slides in steps of 100 ms, so a
// burst counts for between 0.9 and 1 second.
class SecondWindow {
 public:
  // now_ns may not run backwards.
  void add(std::uint64_t now_ns) noexcept {
    slide(now_ns);
    ++buckets_[step_ % kBuckets];
    ++sum_;
  }
  std::uint32_t sum(std::uint64_t now_ns) noexcept {
    slide(now_ns);
    return sum_;
  }

 private:
  static constexpr std::uint64_t kBuckets = 10;
  static constexpr std::uint64_t kBucketNs = 100'000'000;

  void slide(std::uint64_t now_ns) noexcept {
    const std::uint64_t step = now_ns / kBucketNs;
    if (step >= step_ + kBuckets) {
      buckets_ = {};
      sum_ = 0;
      step_ = step;
      return;
    }
    while (step_ < step) {
      std::uint32_t& oldest = buckets_[++step_ % kBuckets];
      sum_ -= oldest;
      oldest = 0;
    }
  }

  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t step_ = 0;
  std::uint32_t sum_ = 0;
};

}  // namespace tickpath::risk

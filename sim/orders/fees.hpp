// What the venue charges for a fill: by the share, by what the order did to the book.
#pragma once

#include <array>
#include <cstdint>

#include "common/config/config.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// Fees are summed in millionths of the currency's unit: venues publish theirs with up to six
// decimals ("0.002950 a share").
inline constexpr std::int64_t kFeeScale = 1'000'000;

// Keys of [fees], in the currency's unit a share; below 0: a rebate.
struct FeeConfig {
  double maker = 0;  // of shares that added liquidity
  double taker = 0;  // of shares that removed it
  double cross = 0;  // of shares that traded in an auction, which does neither

  bool any() const noexcept { return maker != 0 || taker != 0 || cross != 0; }
};
// Refuses more than six decimals.
config::Schema<FeeConfig> fee_schema();

// Any thread.
class FeeSchedule {
 public:
  FeeSchedule() = default;
  explicit FeeSchedule(const FeeConfig& config) noexcept;

  // Whether the venue has fees at all: only then is anything said of them.
  bool any() const noexcept { return any_; }
  // What the owner of so many shares pays, in 1 / kFeeScale; below 0: is paid.
  std::int64_t of(Liquidity liquidity, std::uint64_t shares) const noexcept {
    return millionths_[static_cast<std::size_t>(liquidity)] * static_cast<std::int64_t>(shares);
  }

 private:
  std::array<std::int64_t, kLiquidityCount> millionths_{};  // a share
  bool any_ = false;
};

}  // namespace tickpath::sim

#include "sim/orders/fees.hpp"

#include <cmath>
#include <string>

namespace tickpath::sim {
namespace {

std::int64_t millionths(double fee) noexcept {
  return std::llround(fee * static_cast<double>(kFeeScale));
}

void check_fees(const FeeConfig& fees, config::Problems& problems) {
  const auto check = [&problems](const char* key, double fee) {
    const double scaled = fee * static_cast<double>(kFeeScale);
    // What a double makes of six decimals is closer to them than this.
    if (std::abs(scaled - std::round(scaled)) > 1e-4)
      problems.add(key, "has more than six decimals, which nothing could be charged in");
  };
  check("maker", fees.maker);
  check("taker", fees.taker);
  check("cross", fees.cross);
}

}  // namespace

config::Schema<FeeConfig> fee_schema() {
  // More than a unit a share is a fee of another kind, or a slip of the decimal point.
  constexpr config::RealRange kRange{-1, 1};
  config::Schema<FeeConfig> schema;
  schema.real("maker", &FeeConfig::maker, kRange, "currency units a share",
              "Charged for fills of orders that added liquidity; below 0: a rebate");
  schema.real("taker", &FeeConfig::taker, kRange, "currency units a share",
              "Charged for fills of orders that removed liquidity");
  schema.real("cross", &FeeConfig::cross, kRange, "currency units a share",
              "Charged for fills in opening, closing and halt crosses");
  schema.check(check_fees);
  return schema;
}

FeeSchedule::FeeSchedule(const FeeConfig& config) noexcept : any_(config.any()) {
  millionths_[static_cast<std::size_t>(Liquidity::kAdded)] = millionths(config.maker);
  millionths_[static_cast<std::size_t>(Liquidity::kRemoved)] = millionths(config.taker);
  millionths_[static_cast<std::size_t>(Liquidity::kCross)] = millionths(config.cross);
}

}  // namespace tickpath::sim

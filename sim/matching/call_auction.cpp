#include "sim/matching/call_auction.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace tickpath::sim {
namespace {

AuctionOutcome made(std::uint32_t price, std::uint64_t buys, std::uint64_t sells) noexcept {
  const std::uint64_t paired = std::min(buys, sells);
  return {price, paired, std::max(buys, sells) - paired, buys > sells ? Side::kBuy : Side::kSell};
}

std::uint32_t distance(std::uint32_t a, std::uint32_t b) noexcept { return a > b ? a - b : b - a; }

// Candidates come in ascending order, so that the lower of two as good stays.
bool improves(const AuctionOutcome& a, const AuctionOutcome& b, std::uint32_t reference) noexcept {
  if (a.paired_shares != b.paired_shares) return a.paired_shares > b.paired_shares;
  if (a.imbalance_shares != b.imbalance_shares) return a.imbalance_shares < b.imbalance_shares;
  return distance(a.price, reference) < distance(b.price, reference);
}

}  // namespace

// Value-initialised, which touches its pages: an auction takes no page faults.
CallAuction::CallAuction(std::size_t steps_max)
    : steps_max_(steps_max), steps_(std::make_unique<Step[]>(steps_max)) {}

void CallAuction::clear() noexcept {
  count_ = 0;
  market_buys_ = market_sells_ = 0;
}

void CallAuction::add(Side side, std::uint32_t price, std::uint64_t shares) noexcept {
  const bool buy = side == Side::kBuy;
  if (price == 0) {
    (buy ? market_buys_ : market_sells_) += shares;
    return;
  }
  if (count_ != 0 && steps_[count_ - 1].price == price) {
    (buy ? steps_[count_ - 1].buys : steps_[count_ - 1].sells) += shares;
    return;
  }
  TICKPATH_CHECK(count_ != steps_max_, "an auction has room for every order and level");
  steps_[count_++] = {price, buy ? shares : 0, buy ? 0 : shares};
}

void CallAuction::sort() noexcept {
  std::sort(steps_.get(), steps_.get() + count_,
            [](const Step& a, const Step& b) { return a.price < b.price; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (kept == 0 || steps_[kept - 1].price != steps_[i].price) {
      steps_[kept++] = steps_[i];
      continue;
    }
    steps_[kept - 1].buys += steps_[i].buys;
    steps_[kept - 1].sells += steps_[i].sells;
  }
  count_ = kept;
}

AuctionOutcome CallAuction::outcome(std::uint32_t reference) noexcept {
  if (reference != 0) add(Side::kBuy, reference, 0);
  sort();
  std::uint64_t buys = market_buys_;  // at this price or above
  for (std::size_t i = 0; i < count_; ++i) buys += steps_[i].buys;
  std::uint64_t sells = market_sells_;  // at this price or below
  AuctionOutcome best;
  for (std::size_t i = 0; i < count_; ++i) {
    sells += steps_[i].sells;
    const AuctionOutcome here = made(steps_[i].price, buys, sells);
    if (i == 0 || improves(here, best, reference)) best = here;
    buys -= steps_[i].buys;
  }
  if (best.paired_shares == 0) best.price = 0;
  return best;
}

AuctionOutcome CallAuction::at(std::uint32_t price) const noexcept {
  std::uint64_t buys = market_buys_;
  std::uint64_t sells = market_sells_;
  for (std::size_t i = 0; i < count_; ++i) {
    if (steps_[i].price >= price) buys += steps_[i].buys;
    if (steps_[i].price <= price) sells += steps_[i].sells;
  }
  return made(price, buys, sells);
}

}  // namespace tickpath::sim

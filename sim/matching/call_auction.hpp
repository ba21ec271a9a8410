// At which price an auction trades.
//
// A library without orders: interest goes in, price by price; out comes the price that trades most.
// One thread; nothing allocates after the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/units.hpp"

namespace tickpath::sim {

// What would trade at a price, and what would be left over there.
struct AuctionOutcome {
  std::uint32_t price = 0;          // 0: nothing would trade
  std::uint64_t paired_shares = 0;  // that trade
  std::uint64_t imbalance_shares = 0;
  Side imbalance_side = Side::kBuy;  // of those shares
};

class CallAuction {
 public:
  // Prices of interest at one time.
  explicit CallAuction(std::size_t steps_max);

  void clear() noexcept;
  // Interest in a side at `price` or better for the other; price 0: at any.
  void add(Side side, std::uint32_t price, std::uint64_t shares) noexcept;

  // The rule of Nasdaq's crosses (Rules 4752(d)(2) and 4754(b)(2)): the price that trades the most
  // shares; among several, the one that leaves the smallest imbalance; then the one nearest to the
  // reference, the lower of two as near. Candidates are the prices of the interest, and the
  // reference (0: none). Sorts what was added.
  AuctionOutcome outcome(std::uint32_t reference) noexcept;
  // At a price that somebody else has set. After outcome().
  AuctionOutcome at(std::uint32_t price) const noexcept;

 private:
  struct Step {
    std::uint32_t price;
    std::uint64_t buys;  // interest at this price
    std::uint64_t sells;
  };
  void sort() noexcept;

  std::size_t steps_max_;
  std::size_t count_ = 0;
  std::uint64_t market_buys_ = 0;
  std::uint64_t market_sells_ = 0;
  std::unique_ptr<Step[]> steps_;  // sorted: ascending, each price once
};

}  // namespace tickpath::sim

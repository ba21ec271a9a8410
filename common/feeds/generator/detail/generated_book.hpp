// The order books that the generator keeps so that what it writes is a possible market: no
// crossed book, no reference to an order that is gone, executions in price-time priority.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/random.hpp"
#include "common/base/units.hpp"

namespace tickpath::itch::detail {

inline constexpr std::uint32_t kNoOrder = 0xffff'ffff;

struct GeneratedOrder {
  std::uint64_t reference = 0;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
  std::uint32_t next = kNoOrder;      // behind it in its level's queue
  std::uint32_t previous = kNoOrder;  // before it
  std::uint32_t live_slot = 0;        // in GeneratedBook::live_
  std::uint32_t older = kNoOrder;     // of its symbol
  std::uint32_t younger = kNoOrder;
  Side side = Side::kBuy;
};

// Orders of all books; indices stay valid while the order lives.
class OrderPool {
 public:
  std::uint32_t take();
  void give_back(std::uint32_t index) { free_.push_back(index); }
  GeneratedOrder& operator[](std::uint32_t index) noexcept { return orders_[index]; }
  const GeneratedOrder& operator[](std::uint32_t index) const noexcept { return orders_[index]; }
  // Orders open now, all books.
  std::size_t open() const noexcept { return orders_.size() - free_.size(); }

 private:
  std::vector<GeneratedOrder> orders_;
  std::vector<std::uint32_t> free_;
};

class GeneratedBook {
 public:
  // Ranks are walked to, one order after the other.
  static constexpr std::size_t kWalkMax = 64;

  explicit GeneratedBook(OrderPool& pool) noexcept : pool_(&pool) {}

  // Appends to its level's queue. The price must not cross (CHECK). Returns the pool index.
  std::uint32_t add(std::uint64_t reference, Side side, std::uint32_t price, std::uint32_t shares);
  void remove(std::uint32_t index);

  // 0 when the side is empty.
  std::uint32_t best_price(Side side) const noexcept;
  // First of the best level's queue; kNoOrder when the side is empty.
  std::uint32_t front(Side side) const noexcept;
  // Orders of a side at `price` or better.
  std::size_t orders_up_to(Side side, std::uint32_t price) const noexcept;
  std::size_t orders(Side side) const noexcept { return orders_[slot(side)]; }
  std::size_t orders() const noexcept { return live_.size(); }
  // The order than which so many are younger; from kWalkMax on any order. The book is not empty.
  std::uint32_t pick(Random& random, std::size_t age_rank) const noexcept;
  std::uint32_t youngest() const noexcept { return youngest_; }

 private:
  struct Level {
    std::uint32_t price;
    std::uint32_t first;
    std::uint32_t last;
  };
  // The best level is the last one: most changes happen there, and cost no move.
  using Levels = std::vector<Level>;

  static std::size_t slot(Side side) noexcept { return side == Side::kBuy ? 0 : 1; }
  static bool is_better(Side side, std::uint32_t a, std::uint32_t b) noexcept {
    return side == Side::kBuy ? a > b : a < b;
  }
  std::size_t find_level(Side side, std::uint32_t price) const noexcept;

  OrderPool* pool_;
  std::array<Levels, 2> levels_;
  std::array<std::size_t, 2> orders_{};
  std::vector<std::uint32_t> live_;
  std::uint32_t youngest_ = kNoOrder;
};

}  // namespace tickpath::itch::detail

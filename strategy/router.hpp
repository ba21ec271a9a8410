// Where an order goes when it may go to several venues: arithmetic on books, without the engine.
//
// What can trade at once is taken level by level, the best price of all venues first; at one price
// the larger size first, then the lower fee of the taker, then the venue that is configured first.
// So for any number of shares up to what is shown, no venue alone would give a better price, and no
// venue alone shows more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/units.hpp"
#include "common/wire/book_image.hpp"

namespace tickpath::strategy {

// The best price that an engine knows, and the levels of an image behind it.
inline constexpr std::size_t kRoutedLevels = wire::kImageLevels + 1;

struct RoutedLevel {
  std::uint32_t price;  // 1/10,000
  std::uint32_t shares;
};

// The side of one venue's book that an order would meet, best first.
struct RoutedBook {
  std::uint32_t listing = 0;
  std::int32_t maker_fee = 0;  // 1/1,000,000 of the currency unit a share
  std::int32_t taker_fee = 0;
  std::size_t count = 0;
  std::array<RoutedLevel, kRoutedLevels> levels;

  // Behind the others. Nothing that is no level, nor better than the one before.
  void add(Side side, std::uint32_t price, std::uint32_t shares) noexcept;
};

struct RoutedOrder {
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
  std::uint32_t limit = 0;  // 0: at any price
  bool rests = false;       // what does not trade at once
  bool whole = false;       // fill or kill
  bool post_only = false;
};

// What one venue gets.
struct RoutedPart {
  std::size_t book = 0;  // its place among the books
  std::uint32_t shares = 0;
  std::uint32_t price = 0;  // its limit; 0: any price
  bool rests = false;       // under the terms of the order; else immediate or cancel
};

// How many parts there are, at most one a book and in the order in which to send them. 0: no book
// can take it. parts: as many as books. Any thread.
std::size_t split(const RoutedOrder& order, std::span<const RoutedBook> books,
                  std::span<RoutedPart> parts) noexcept;

}  // namespace tickpath::strategy

// Messages of a burst are known before they are handled: what they will touch in the book is
// fetched meanwhile. Used by whoever builds books from bursts: mdh, and sim's market.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/units.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/detail/byte_order.hpp"
#include "common/feeds/itch/order_messages.hpp"

namespace tickpath::book {

// Hints the book about messages to come, stage after stage. The distances cover a miss to memory
// (about 150 ns) with the work of some messages (20 to 30 ns each).
template <class Books>
class Lookahead {
 public:
  explicit Lookahead(const Books& books) noexcept : books_(books) {}

  // Before the first of `messages` is handled. left_out(message): that it will not touch the book.
  template <class LeftOut>
  void begin(std::span<const std::span<const std::byte>> messages, LeftOut left_out) noexcept {
    const std::size_t count = messages.size();
    if (count < 2) return;  // nothing to overlap with
    for (std::size_t i = 0; i < kFirst && i < count; ++i)
      if (!left_out(messages[i])) first(messages[i], i);
    for (std::size_t i = 0; i < kSecond && i < count; ++i) second(i);
    for (std::size_t i = 0; i < kThird && i < count; ++i) third(i);
  }
  void begin(std::span<const std::span<const std::byte>> messages) noexcept {
    begin(messages, [](std::span<const std::byte>) noexcept { return false; });
  }
  // Before message `at` is handled.
  template <class LeftOut>
  [[gnu::always_inline]] void step(std::span<const std::span<const std::byte>> messages,
                                   std::size_t at, LeftOut left_out) noexcept {
    if (at + kFirst < messages.size() && !left_out(messages[at + kFirst])) [[likely]]
      first(messages[at + kFirst], at + kFirst);
    second(at + kSecond);  // beyond the last, or left out: of earlier ones
    third(at + kThird);
  }
  [[gnu::always_inline]] void step(std::span<const std::span<const std::byte>> messages,
                                   std::size_t at) noexcept {
    step(messages, at, [](std::span<const std::byte>) noexcept { return false; });
  }

 private:
  static constexpr std::size_t kFirst = 15;
  static constexpr std::size_t kSecond = 9;
  static constexpr std::size_t kThird = 4;

  using Hint = typename Books::Hint;
  Hint& coming(std::size_t at) noexcept { return coming_[at % coming_.size()]; }

  [[gnu::always_inline]] void first(std::span<const std::byte> message, std::size_t at) noexcept {
    if (message.size() < kShortest) [[unlikely]]
      return;
    // Behind every order's reference, which follows the header, only an added order has more that
    // matters here. A mask, not a branch: types come in no order that could be predicted. Of
    // another type than those of ITCH 5.0, 1.3 and 1.4, the bytes mean something else, and the hint
    // is a wrong one.
    const std::size_t mask = -std::size_t{message.size() >= itch::AddOrder::kLength};
    const std::byte* const bytes = message.data();
    coming(at) = books_.prefetch_order(
        itch::detail::load_big_endian<std::uint64_t>(bytes + itch::kHeaderBytes),
        itch::stock_locate(bytes), itch::side_of(static_cast<char>(bytes[kAddSideOffset & mask])),
        itch::detail::load_big_endian<std::uint32_t>(bytes + (kAddPriceOffset & mask)));
  }
  void second(std::size_t at) noexcept { books_.prefetch_level(coming(at)); }
  void third(std::size_t at) noexcept { books_.prefetch_added(coming(at)); }

  // Offsets in an Add Order message, ITCH 5.0, 1.3.1 and 1.3.2.
  static constexpr std::size_t kAddSideOffset = 19;
  static constexpr std::size_t kAddPriceOffset = 32;
  // The shortest message about orders.
  static constexpr std::size_t kShortest = itch::kHeaderBytes + 8;

  const Books& books_;
  std::array<Hint, 16> coming_{};
};

}  // namespace tickpath::book

// Messages of a burst are known before they are handled: what they will touch in the book is
// fetched meanwhile. Used by whoever builds books from bursts: mdh, and sim's market.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/units.hpp"
#include "common/book/book.hpp"
#include "common/itch/codec.hpp"
#include "common/itch/detail/byte_order.hpp"
#include "common/itch/order_messages.hpp"

namespace tickpath::flow {

// Hints the book about messages to come, stage after stage. The distances cover a miss to memory
// (about 150 ns) with the work of some messages (20 to 40 ns each).
class Lookahead {
 public:
  explicit Lookahead(const book::BookSet& books) noexcept : books_(books) {}

  // Before the first of `messages` is handled.
  void begin(std::span<const std::span<const std::byte>> messages) noexcept {
    const std::size_t count = messages.size();
    if (count < 2) return;  // nothing to overlap with
    for (std::size_t i = 0; i < kFirst && i < count; ++i) first(messages[i], i);
    for (std::size_t i = 0; i < kSecond && i < count; ++i) second(i);
    for (std::size_t i = 0; i < kThird && i < count; ++i) third(i);
    for (std::size_t i = 0; i < kFourth && i < count; ++i) fourth(i);
  }
  // Before message `at` is handled.
  [[gnu::always_inline]] void step(std::span<const std::span<const std::byte>> messages,
                                   std::size_t at) noexcept {
    if (at + kFirst < messages.size()) first(messages[at + kFirst], at + kFirst);
    if (at + kSecond < messages.size()) second(at + kSecond);
    if (at + kThird < messages.size()) third(at + kThird);
    if (at + kFourth < messages.size()) fourth(at + kFourth);
  }

 private:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kSecond = 11;
  static constexpr std::size_t kThird = 7;
  static constexpr std::size_t kFourth = 3;

  // What the hints need of one message. Of another type than those of ITCH 5.0, 1.3 and 1.4, the
  // bytes mean something else, and the hint is a wrong one.
  struct Coming {
    std::uint64_t reference;
    std::uint32_t price;
    book::Handle order;
    std::uint32_t level;
    book::Locate locate;
    Side side;
  };
  Coming& coming(std::size_t at) noexcept { return coming_[at % coming_.size()]; }

  void first(std::span<const std::byte> message, std::size_t at) noexcept {
    // Behind every order's reference, which follows the header, only an added order has more that
    // matters here. Selects, not branches: types come in no order that could be predicted.
    constexpr std::size_t kReferenceEnd = itch::kHeaderBytes + 8;
    const bool whole = message.size() >= kReferenceEnd;
    const std::byte* const bytes = whole ? message.data() : kNothing.data();
    const bool adds = message.size() >= itch::AddOrder::kLength;
    const std::byte* const added = adds ? bytes : kNothing.data();
    coming(at) = {itch::detail::load_big_endian<std::uint64_t>(bytes + itch::kHeaderBytes),
                  itch::detail::load_big_endian<std::uint32_t>(added + kAddPriceOffset),
                  book::kNoOrder,
                  0,
                  itch::stock_locate(bytes),
                  added[kAddSideOffset] == std::byte{'B'} ? Side::kBuy : Side::kSell};
    books_.prefetch_reference(coming(at).reference);
    books_.prefetch_symbol(coming(at).locate);
  }
  void second(std::size_t at) noexcept {
    coming(at).order = books_.prefetch_order(coming(at).reference);
    books_.prefetch_ladders(coming(at).locate);
  }
  void third(std::size_t at) noexcept {
    Coming& next = coming(at);
    books_.prefetch_neighbours(next.order);
    next.level = books_.prefetch_level(next.locate, next.side, next.price);
  }
  void fourth(std::size_t at) noexcept { books_.prefetch_last(coming(at).level); }

  // Offsets in an Add Order message, ITCH 5.0, 1.3.1 and 1.3.2.
  static constexpr std::size_t kAddSideOffset = 19;
  static constexpr std::size_t kAddPriceOffset = 32;
  static constexpr std::array<std::byte, itch::AddOrder::kLength> kNothing{};

  const book::BookSet& books_;
  std::array<Coming, kFirst> coming_{};
};

}  // namespace tickpath::flow

// Decoding and encoding of IEX DEEP 1.0 and TOPS 1.6 messages. Allocation-free and noexcept: any
// thread, datapath included. A handler is called with one decoded struct, as
// common/feeds/itch/codec.hpp describes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "common/feeds/iex/messages.hpp"

namespace tickpath::iex {

enum class DecodeStatus : std::uint8_t {
  kOk = 0,
  kEmpty = 1,        // no type byte
  kUnknownType = 2,  // the venue may add types: skip it ("Architecture")
  kTooShort = 3,     // a known type that lacks some of its fields
};
std::string_view name(DecodeStatus status) noexcept;

// "Price Level Update (Buy)"; "unknown" for what is no type of DEEP 1.0 or TOPS 1.6.
std::string_view name_of(char type) noexcept;

// The longest message, 'A'; buffers for one encoded message have this size.
inline constexpr std::size_t kMaxMessageBytes = AuctionInformation::kLength;

namespace detail {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

struct FieldReader {
  const std::byte* at;
  template <class... Fields>
  [[gnu::always_inline]] void operator()(Fields&... fields) noexcept {
    const auto read = [this](auto& field) noexcept {
      std::memcpy(&field, at, sizeof(field));
      at += sizeof(field);
    };
    (read(fields), ...);
  }
};

struct FieldWriter {
  std::byte* at;
  template <class... Fields>
  [[gnu::always_inline]] void operator()(const Fields&... fields) noexcept {
    const auto write = [this](const auto& field) noexcept {
      std::memcpy(at, &field, sizeof(field));
      at += sizeof(field);
    };
    (write(fields), ...);
  }
};

// Adds up what fields() names, so that a forgotten field is a compile error and not a bad decode.
struct LengthCounter {
  std::size_t bytes = 1;
  template <class... Fields>
  constexpr void operator()(const Fields&...) noexcept {
    bytes += (sizeof(Fields) + ... + 0);
  }
};

template <class Message>
consteval bool length_is_right() {
  const Message message{};
  LengthCounter counter;
  Message::fields(message, counter);
  return counter.bytes == Message::kLength && Message::kLength <= kMaxMessageBytes;
}

}  // namespace detail

// Calls visitor.template operator()<Message>() with the message struct of `type`; returns false and
// calls nothing when there is none. The one place that lists every type.
template <class Visitor>
[[gnu::always_inline]] inline bool dispatch(char type, Visitor&& visitor) {
  const auto among = [&]<class... Messages>() {
    return ((type == Messages::kType ? (visitor.template operator()<Messages>(), true) : false) ||
            ...);
  };
  return among.template
  operator()<BuyLevelUpdate, SellLevelUpdate, TradeReport, QuoteUpdate, TradingStatus,
             RetailLiquidityIndicator, OperationalHaltStatus, ShortSalePriceTest, SecurityEvent,
             OfficialPrice, AuctionInformation, TradeBreak, SecurityDirectory, SystemEvent>();
}

// Decodes one message and calls handler(const Message&). The handler is not called unless the
// answer is kOk. `message` is exactly one message, without framing; bytes behind the known ones are
// ignored ("Architecture": messages may grow).
template <class Handler>
[[gnu::always_inline]] inline DecodeStatus decode(std::span<const std::byte> message,
                                                  Handler&& handler) noexcept {
  if (message.empty()) [[unlikely]]
    return DecodeStatus::kEmpty;
  DecodeStatus status = DecodeStatus::kOk;
  const bool known = dispatch(static_cast<char>(message[0]), [&]<class Message>() {
    static_assert(detail::length_is_right<Message>());
    if (message.size() < Message::kLength) [[unlikely]] {
      status = DecodeStatus::kTooShort;
      return;
    }
    Message decoded;
    detail::FieldReader reader{message.data() + 1};
    Message::fields(decoded, reader);
    handler(std::as_const(decoded));
  });
  return known ? status : DecodeStatus::kUnknownType;
}

// Writes Message::kLength bytes to `to`, and returns them.
template <class Message>
inline std::size_t encode(const Message& message, std::byte* to) noexcept {
  static_assert(detail::length_is_right<Message>());
  *to = static_cast<std::byte>(Message::kType);
  detail::FieldWriter writer{to + 1};
  Message::fields(message, writer);
  return Message::kLength;
}

}  // namespace tickpath::iex

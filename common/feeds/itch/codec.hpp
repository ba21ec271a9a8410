// Decoding and encoding of Nasdaq TotalView-ITCH 5.0 messages. Header only, allocation-free and
// noexcept: any thread, datapath included.
//
// A handler is called with one decoded struct; fields that it does not use cost nothing once the
// call is inlined, so give decode() a concrete handler, not a std::function:
//
//   struct Handler {
//     void operator()(const itch::AddOrder& m) noexcept { ... }
//     void operator()(const auto&) noexcept {}  // every other type
//   };
//   if (itch::decode(bytes, handler) != itch::DecodeStatus::kOk) bad_messages.add();
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/feeds/itch/detail/byte_order.hpp"
#include "common/feeds/itch/order_messages.hpp"
#include "common/feeds/itch/stock_messages.hpp"

namespace tickpath::itch {

enum class DecodeStatus : std::uint8_t {
  kOk = 0,
  kEmpty = 1,        // no type byte
  kUnknownType = 2,  // not a type of TotalView-ITCH 5.0
  kWrongLength = 3,  // a known type, but not its length
};
std::string_view name(DecodeStatus status) noexcept;

// The longest message, 'I'; buffers for one encoded message have this size.
inline constexpr std::size_t kMaxMessageBytes = NetOrderImbalanceIndicator::kLength;
inline constexpr std::size_t kMessageTypes = 23;

namespace detail {

inline constexpr std::uint64_t kTimestampMask = (std::uint64_t{1} << 48) - 1;

class FieldReader {
 public:
  [[gnu::always_inline]] explicit FieldReader(const std::byte* at) noexcept : at_(at) {}

  template <class... Fields>
  [[gnu::always_inline]] void operator()(Fields&... fields) noexcept {
    (read(fields), ...);
  }

 private:
  [[gnu::always_inline]] void read(char& value) noexcept { value = static_cast<char>(*at_++); }
  [[gnu::always_inline]] void read(std::uint32_t& value) noexcept { read_integer(value); }
  [[gnu::always_inline]] void read(std::uint64_t& value) noexcept { read_integer(value); }
  template <std::size_t N>
  [[gnu::always_inline]] void read(Alpha<N>& value) noexcept {
    std::memcpy(value.characters.data(), at_, N);
    at_ += N;
  }
  template <class Integer>
  [[gnu::always_inline]] void read_integer(Integer& value) noexcept {
    value = load_big_endian<Integer>(at_);
    at_ += sizeof(Integer);
  }

  const std::byte* at_;
};

class FieldWriter {
 public:
  [[gnu::always_inline]] explicit FieldWriter(std::byte* at) noexcept : at_(at) {}

  template <class... Fields>
  [[gnu::always_inline]] void operator()(const Fields&... fields) noexcept {
    (write(fields), ...);
  }

 private:
  [[gnu::always_inline]] void write(char value) noexcept { *at_++ = static_cast<std::byte>(value); }
  [[gnu::always_inline]] void write(std::uint32_t value) noexcept { write_integer(value); }
  [[gnu::always_inline]] void write(std::uint64_t value) noexcept { write_integer(value); }
  template <std::size_t N>
  [[gnu::always_inline]] void write(const Alpha<N>& value) noexcept {
    std::memcpy(at_, value.characters.data(), N);
    at_ += N;
  }
  template <class Integer>
  [[gnu::always_inline]] void write_integer(Integer value) noexcept {
    store_big_endian(at_, value);
    at_ += sizeof(Integer);
  }

  std::byte* at_;
};

// Adds up what fields() names, so that a forgotten field is a compile error and not a bad decode.
class LengthCounter {
 public:
  template <class... Fields>
  constexpr void operator()(const Fields&...) noexcept {
    bytes_ += (sizeof(Fields) + ... + 0);
  }
  constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = kHeaderBytes;
};

template <class Message>
consteval bool length_is_right() {
  const Message message{};
  LengthCounter counter;
  Message::fields(message, counter);
  return counter.bytes() == Message::kLength && Message::kLength <= kMaxMessageBytes;
}

}  // namespace detail

// Fields that every message has at the same place; `message` holds kHeaderBytes bytes or more.
inline char message_type(const std::byte* message) noexcept { return static_cast<char>(*message); }
inline std::uint16_t stock_locate(const std::byte* message) noexcept {
  return detail::load_big_endian<std::uint16_t>(message + 1);
}
inline std::uint64_t timestamp_ns(const std::byte* message) noexcept {
  // Tracking number and timestamp together fill one 8-byte load.
  return detail::load_big_endian<std::uint64_t>(message + 3) & detail::kTimestampMask;
}

// Decodes a message whose type and length the caller knows: Message::kLength bytes are read.
template <class Message>
[[gnu::always_inline]] inline Message decode_as(const std::byte* bytes) noexcept {
  static_assert(detail::length_is_right<Message>());
  Message message;
  const auto tracking_and_time = detail::load_big_endian<std::uint64_t>(bytes + 3);
  message.header.stock_locate = stock_locate(bytes);
  message.header.tracking_number = static_cast<std::uint16_t>(tracking_and_time >> 48);
  message.header.timestamp = tracking_and_time & detail::kTimestampMask;
  detail::FieldReader reader(bytes + kHeaderBytes);
  Message::fields(message, reader);
  return message;
}

// Writes Message::kLength bytes to `to`. Timestamps beyond 48 bits lose their upper bits.
template <class Message>
[[gnu::always_inline]] inline std::size_t encode(const Message& message, std::byte* to) noexcept {
  static_assert(detail::length_is_right<Message>());
  *to = static_cast<std::byte>(Message::kType);
  detail::store_big_endian(to + 1, message.header.stock_locate);
  detail::store_big_endian(to + 3, std::uint64_t{message.header.tracking_number} << 48 |
                                       (message.header.timestamp & detail::kTimestampMask));
  detail::FieldWriter writer(to + kHeaderBytes);
  Message::fields(message, writer);
  return Message::kLength;
}

// Calls visitor.template operator()<Message>() with the message struct of `type`; returns false
// and calls nothing when there is none. The one place that lists every type.
template <class Visitor>
[[gnu::always_inline]] inline bool dispatch(char type, Visitor&& visitor) {
  switch (type) {
#define TICKPATH_ITCH_CASE(Message)         \
  case Message::kType:                      \
    visitor.template operator()<Message>(); \
    return true
    TICKPATH_ITCH_CASE(AddOrder);
    TICKPATH_ITCH_CASE(OrderDelete);
    TICKPATH_ITCH_CASE(OrderExecuted);
    TICKPATH_ITCH_CASE(OrderReplace);
    TICKPATH_ITCH_CASE(OrderCancel);
    TICKPATH_ITCH_CASE(AddOrderMpid);
    TICKPATH_ITCH_CASE(OrderExecutedWithPrice);
    TICKPATH_ITCH_CASE(NonCrossTrade);
    TICKPATH_ITCH_CASE(CrossTrade);
    TICKPATH_ITCH_CASE(BrokenTrade);
    TICKPATH_ITCH_CASE(SystemEvent);
    TICKPATH_ITCH_CASE(StockDirectory);
    TICKPATH_ITCH_CASE(StockTradingAction);
    TICKPATH_ITCH_CASE(RegShoRestriction);
    TICKPATH_ITCH_CASE(MarketParticipantPosition);
    TICKPATH_ITCH_CASE(MwcbDeclineLevel);
    TICKPATH_ITCH_CASE(MwcbStatus);
    TICKPATH_ITCH_CASE(IpoQuotingPeriodUpdate);
    TICKPATH_ITCH_CASE(LuldAuctionCollar);
    TICKPATH_ITCH_CASE(OperationalHalt);
    TICKPATH_ITCH_CASE(NetOrderImbalanceIndicator);
    TICKPATH_ITCH_CASE(RetailPriceImprovementIndicator);
    TICKPATH_ITCH_CASE(DirectListingPriceDiscovery);
#undef TICKPATH_ITCH_CASE
    default:
      return false;
  }
}

// Decodes one message and calls handler(const Message&). The handler is not called unless the
// answer is kOk. `message` is exactly one message, without framing.
template <class Handler>
[[gnu::always_inline]] inline DecodeStatus decode(std::span<const std::byte> message,
                                                  Handler&& handler) noexcept {
  if (message.empty()) [[unlikely]]
    return DecodeStatus::kEmpty;
  DecodeStatus status = DecodeStatus::kOk;
  const bool known = dispatch(
      message_type(message.data()), [&]<class Message>() __attribute__((always_inline)) {
        if (message.size() != Message::kLength) [[unlikely]] {
          status = DecodeStatus::kWrongLength;
          return;
        }
        handler(decode_as<Message>(message.data()));
      });
  return known ? status : DecodeStatus::kUnknownType;
}

// Length of a message of this type, 0 for an unknown one.
std::size_t length_of(char type) noexcept;

// A short form of the specification's name, "Add Order"; "unknown" for an unknown type.
std::string_view name_of(char type) noexcept;

}  // namespace tickpath::itch

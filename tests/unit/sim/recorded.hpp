// Small recordings and ITCH messages for the tests of sim.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"

namespace tickpath::sim {

using Bytes = std::vector<std::byte>;

inline constexpr std::uint64_t kOpenNs = 34'200'000'000'000;  // 09:30

template <class Message>
Bytes encoded(const Message& message) {
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  const std::size_t length = itch::encode(message, buffer.data());
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)};
}

inline Bytes directory(std::uint16_t locate, const char* symbol, std::uint64_t at = kOpenNs) {
  itch::StockDirectory m{.header = {locate, 0, at}, .stock = symbol};
  return encoded(m);
}
inline Bytes add(std::uint16_t locate, const char* symbol, std::uint64_t reference, Side side,
                 std::uint32_t shares, std::uint32_t price, std::uint64_t at = kOpenNs) {
  itch::AddOrder m{.header = {locate, 0, at},
                   .order_reference_number = reference,
                   .buy_sell_indicator = itch::indicator_of(side),
                   .shares = shares,
                   .stock = symbol,
                   .price = price};
  return encoded(m);
}
inline Bytes executed(std::uint16_t locate, std::uint64_t reference, std::uint32_t shares,
                      std::uint64_t at = kOpenNs) {
  itch::OrderExecuted m{
      .header = {locate, 0, at}, .order_reference_number = reference, .executed_shares = shares};
  return encoded(m);
}
inline Bytes trading_action(std::uint16_t locate, const char* symbol, char state) {
  itch::StockTradingAction m{
      .header = {locate, 0, kOpenNs}, .stock = symbol, .trading_state = state};
  return encoded(m);
}
inline Bytes system_event(char code, std::uint64_t at = kOpenNs) {
  itch::SystemEvent m{.header = {0, 0, at}, .event_code = code};
  return encoded(m);
}

inline Bytes executed_at(std::uint16_t locate, std::uint64_t reference, std::uint32_t shares,
                         std::uint32_t price, bool printable) {
  itch::OrderExecutedWithPrice m{.header = {locate, 0, kOpenNs},
                                 .order_reference_number = reference,
                                 .executed_shares = shares,
                                 .printable = printable ? 'Y' : 'N',
                                 .execution_price = price};
  return encoded(m);
}
inline Bytes canceled(std::uint16_t locate, std::uint64_t reference, std::uint32_t shares) {
  itch::OrderCancel m{.header = {locate, 0, kOpenNs},
                      .order_reference_number = reference,
                      .cancelled_shares = shares};
  return encoded(m);
}
inline Bytes deleted(std::uint16_t locate, std::uint64_t reference) {
  itch::OrderDelete m{.header = {locate, 0, kOpenNs}, .order_reference_number = reference};
  return encoded(m);
}
inline Bytes replaced(std::uint16_t locate, std::uint64_t reference, std::uint64_t new_reference,
                      std::uint32_t shares, std::uint32_t price) {
  itch::OrderReplace m{.header = {locate, 0, kOpenNs},
                       .original_order_reference_number = reference,
                       .new_order_reference_number = new_reference,
                       .shares = shares,
                       .price = price};
  return encoded(m);
}
inline Bytes hidden_trade(std::uint16_t locate, const char* symbol, std::uint32_t shares,
                          std::uint32_t price) {
  itch::NonCrossTrade m{.header = {locate, 0, kOpenNs},
                        .buy_sell_indicator = 'B',
                        .shares = shares,
                        .stock = symbol,
                        .price = price};
  return encoded(m);
}

inline void write_recording(const std::string& path, const std::vector<Bytes>& messages) {
  itch::BinaryFileWriter writer(path);
  for (const Bytes& message : messages) writer.write(message);
  writer.finish();
}

// Cuts the last `bytes` off a file.
inline void truncate_file(const std::string& path, std::uintmax_t bytes) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
}

}  // namespace tickpath::sim

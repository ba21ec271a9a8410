// Files of Databento DBN, written by the layout in common/feeds/recordings/dbn.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "common/feeds/recordings/dbn.hpp"

namespace tickpath::test_support {

template <class Integer>
void put(std::vector<std::byte>& to, Integer value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}
inline void put_text(std::vector<std::byte>& to, const std::string& text, std::size_t bytes) {
  const auto all = std::as_bytes(std::span(text));
  const auto kept = all.first(std::min(all.size(), bytes - 1));
  to.insert(to.end(), kept.begin(), kept.end());
  to.resize(to.size() + bytes - kept.size());
}

inline std::vector<std::byte> encode_metadata(const itch::dbn::Metadata& metadata) {
  using namespace itch::dbn;
  constexpr std::size_t kSymbolBytesV1 = 22, kSymbolBytes = 71;
  const bool v1 = metadata.version == 1;
  const std::size_t symbol_bytes = v1 ? kSymbolBytesV1 : kSymbolBytes;
  std::vector<std::byte> bytes{std::byte{'D'}, std::byte{'B'}, std::byte{'N'},
                               static_cast<std::byte>(metadata.version)};
  put(bytes, std::uint32_t{0});  // the length, once known
  put_text(bytes, metadata.dataset, 16);
  put(bytes, metadata.schema);
  put(bytes, metadata.start_ns);
  put(bytes, metadata.end_ns);
  put(bytes, std::uint64_t{0});
  if (v1) put(bytes, ~std::uint64_t{0});
  put(bytes, std::uint8_t{1});  // raw symbols
  put(bytes, std::uint8_t{0});  // as numbers of instruments
  put(bytes, static_cast<std::uint8_t>(metadata.send_times));
  if (!v1) put(bytes, static_cast<std::uint16_t>(symbol_bytes));
  bytes.resize(bytes.size() + (v1 ? 47 : 53));
  put(bytes, std::uint32_t{0});
  put(bytes, static_cast<std::uint32_t>(metadata.symbols.size()));
  for (const auto& [id, symbol] : metadata.symbols) put_text(bytes, symbol, symbol_bytes);
  put(bytes, std::uint64_t{0});  // none in part, none not found
  std::vector<itch::dbn::Mapping> mappings = metadata.mappings;
  for (const auto& [id, symbol] : metadata.symbols)
    mappings.push_back({2000'01'01, 2100'01'01, id, symbol});
  put(bytes, static_cast<std::uint32_t>(mappings.size()));
  for (const itch::dbn::Mapping& mapping : mappings) {
    put_text(bytes, mapping.symbol, symbol_bytes);
    put(bytes, std::uint32_t{1});
    put(bytes, mapping.from);
    put(bytes, mapping.to);
    put_text(bytes, std::to_string(mapping.instrument), symbol_bytes);
  }
  if (metadata.version == 3) bytes.resize((bytes.size() + 7) / 8 * 8);  // records are aligned
  const auto length = static_cast<std::uint32_t>(bytes.size() - kPreludeBytes);
  std::memcpy(&bytes[4], &length, sizeof(length));
  return bytes;
}

// to: kMboBytes.
inline void store_mbo(const itch::dbn::MboMessage& message, std::byte* to) noexcept {
  to[0] = std::byte{itch::dbn::kMboBytes / 4};
  to[1] = std::byte{itch::dbn::kMbo};
  const auto store = [to](std::size_t at, const auto& member) noexcept {
    std::memcpy(to + at, &member, sizeof(member));
  };
  store(2, message.publisher);
  store(4, message.instrument);
  store(8, message.event_time_ns);
  store(16, message.order_id);
  store(24, message.price);
  store(32, message.size);
  store(36, message.flags);
  store(37, message.channel);
  store(38, message.action);
  store(39, message.side);
  store(40, message.receive_time_ns);
  store(48, message.in_delta_ns);
  store(52, message.sequence);
}

inline void append_mbo(const itch::dbn::MboMessage& message, std::vector<std::byte>& file) {
  file.resize(file.size() + itch::dbn::kMboBytes);
  store_mbo(message, &file[file.size() - itch::dbn::kMboBytes]);
}

}  // namespace tickpath::test_support

// The messages of a generated market, for tests and benchmarks that feed them in by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/feeds/generator/generator.hpp"
#include "common/feeds/itch/detail/byte_order.hpp"
#include "common/feeds/recordings/binary_file.hpp"

namespace tickpath::test_support {

inline std::vector<std::vector<std::byte>> generated_messages(std::uint64_t seed,
                                                              std::uint64_t messages,
                                                              std::uint32_t symbols) {
  itch::Generator generator(
      itch::GeneratorOptions{.symbols = symbols, .messages = messages, .seed = seed});
  std::vector<std::vector<std::byte>> all;
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage)
    all.emplace_back(message.bytes.begin(), message.bytes.end());
  return all;
}

// A whole generated recording in memory, framed as BinaryFILE: walk it with itch::FrameCursor.
inline std::vector<std::byte> generate_framed(const itch::GeneratorOptions& options) {
  itch::Generator generator(options);
  std::vector<std::byte> framed;
  // Messages have 30 bytes on average; a quarter of slack spares the copy of a growing vector.
  framed.reserve(options.messages * 40);
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage) {
    const auto length = static_cast<std::uint16_t>(message.bytes.size());
    framed.resize(framed.size() + itch::kFrameLengthBytes);
    itch::detail::store_big_endian(&framed[framed.size() - itch::kFrameLengthBytes], length);
    framed.insert(framed.end(), message.bytes.begin(), message.bytes.end());
  }
  framed.resize(framed.size() + itch::kFrameLengthBytes);  // the end of session: length zero
  return framed;
}

}  // namespace tickpath::test_support

// The messages of a small generated market, for tests that feed them in by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/itch/generator.hpp"

namespace tickpath::test_support {

inline std::vector<std::vector<std::byte>> generated_messages(std::uint64_t seed,
                                                              std::uint64_t messages,
                                                              std::uint32_t symbols) {
  itch::GeneratorOptions options;
  options.symbols = symbols;
  options.messages = messages;
  options.seed = seed;
  itch::Generator generator(options);
  std::vector<std::vector<std::byte>> all;
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage)
    all.emplace_back(message.bytes.begin(), message.bytes.end());
  return all;
}

}  // namespace tickpath::test_support

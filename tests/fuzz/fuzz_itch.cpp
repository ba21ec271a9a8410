// One ITCH message of any bytes. Whatever decodes must encode to the same bytes again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/feeds/itch/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath::itch;
  const std::span<const std::byte> message{reinterpret_cast<const std::byte*>(data), size};
  bool delivered = false;
  const DecodeStatus status = decode(message, [&](const auto& decoded) {
    delivered = true;
    std::array<std::byte, kMaxMessageBytes> again;
    const std::size_t length = encode(decoded, again.data());
    if (length != size || !std::equal(message.begin(), message.end(), again.begin())) std::abort();
  });
  if (delivered != (status == DecodeStatus::kOk)) std::abort();
  const std::size_t expected = size == 0 ? 0 : length_of(static_cast<char>(data[0]));
  if (delivered != (size > 0 && expected == size)) std::abort();
  return 0;
}

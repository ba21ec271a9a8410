// FNV-1a, 64 bits (Fowler, Noll, Vo): names a state, proves nothing against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tickpath::lockstep {

class Digest {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes)
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x0000'0100'0000'01b3;
  }
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  template <class Value>
  void add_value(const Value& value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf2'9ce4'8422'2325;
};

}  // namespace tickpath::lockstep

// FNV-1a, 64 bits (Fowler, Noll, Vo): names a state, proves nothing against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/fnv.hpp"

namespace tickpath::lockstep {

class Digest {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void add(std::string_view text) noexcept { value_ = fnv1a(text, value_); }
  template <class Value>
  void add_value(const Value& value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = kFnvBasis;
};

}  // namespace tickpath::lockstep

// FNV-1a, 64 bits (Fowler, Noll, Vo): names a state, proves nothing against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/base/fnv.hpp"

namespace tickpath::lockstep {

class Digest {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  // A byte that is 0 multiplies alone. Journals are files of fixed size, mostly empty: eight such
  // bytes are one multiplication.
  void add(std::string_view text) noexcept {
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, text.data(), sizeof word);
      value_ = word == 0 ? value_ * kPrimeToTheEighth : fnv1a(text.substr(0, 8), value_);
    }
    value_ = fnv1a(text, value_);
  }
  template <class Value>
  void add_value(const Value& value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  static constexpr std::uint64_t kPrimeToTheEighth = [] {
    std::uint64_t power = 1;
    for (int i = 0; i < 8; ++i) power *= kFnvPrime;
    return power;
  }();

  std::uint64_t value_ = kFnvBasis;
};

}  // namespace tickpath::lockstep

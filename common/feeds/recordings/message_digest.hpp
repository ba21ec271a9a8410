// The digest of a recording's messages, by which a run knows what it replayed: of the messages and
// not of the file, so that a compressed copy is the same, and a part of it has a digest as well.
//
// Each step is a bijection of what came before: two recordings that differ in eight bytes of one
// message never have one digest; any others only by a chance of 2^-64. It finds a file that was
// changed, cut or exchanged. It is no signature: who wants to forge one can.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "common/base/format.hpp"

namespace tickpath::itch {

class MessageDigest {
 public:
  void take(std::span<const std::byte> message) noexcept {
    step(message.size());
    for (; message.size() >= sizeof(std::uint64_t);
         message = message.subspan(sizeof(std::uint64_t)))
      step(word(message.first(sizeof(std::uint64_t))));
    if (!message.empty()) step(word(message));
  }
  std::uint64_t value() const noexcept { return state_; }

 private:
  static std::uint64_t word(std::span<const std::byte> bytes) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // An odd factor, so that multiplying loses nothing; the rotation brings the upper bits, on which
  // all others act, to where the next product begins.
  void step(std::uint64_t word) noexcept {
    state_ = std::rotl((state_ ^ word) * 0x9e37'79b9'7f4a'7c15u, 29);
  }
  std::uint64_t state_ = 0x7469'636b'7061'7468u;  // not 0, of which a product would be 0
};

// As ledgers and messages have it.
inline std::string digest_text(std::uint64_t digest) {
  return formatted("%016llx", static_cast<unsigned long long>(digest));
}

}  // namespace tickpath::itch

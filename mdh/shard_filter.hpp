// Which messages of a feed are about symbols of other shards, where several mdh's share it
// (feed.shard). One compare for a feed that is not split.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/book/types.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/live/live_format.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::mdh {

// The feed's thread; noexcept, no allocation.
class ShardFilter {
 public:
  ShardFilter(wire::Shard own, const feeds::LiveFormat& format) noexcept
      : own_(own), format_(format) {}

  // Whether the symbol has its book here.
  bool takes(const itch::Stock& symbol) const noexcept {
    return own_.whole() || own_.has_padded(symbol.characters.data());
  }
  // Before a message is decoded: it is known to be another shard's. By the symbol, where each
  // message has it at the same place; else by the locate, once a message has named the locate's
  // symbol.
  bool leaves_out(std::span<const std::byte> message) const noexcept {
    if (own_.whole()) [[likely]]
      return false;
    if (format_.symbol_at != 0) return leaves_out_symbol(message);
    return message.size() >= itch::kHeaderBytes && is_other(itch::stock_locate(message.data()));
  }
  bool is_other(book::Locate locate) const noexcept {
    return (others_[locate / kWordBits] >> locate % kWordBits & 1) != 0;
  }

  // A message names the symbol of a locate, and it is another shard's. Locate 0 is no instrument's
  // (ITCH 5.0, 1.1): system events have it, and are of all shards.
  void note_other(book::Locate locate) noexcept {
    if (locate != 0) others_[locate / kWordBits] |= std::uint64_t{1} << locate % kWordBits;
  }
  // Locates are void.
  void begin_session() noexcept { others_.fill(0); }

 private:
  static constexpr std::size_t kWordBits = 64;

  bool leaves_out_symbol(std::span<const std::byte> message) const noexcept {
    if (message.size() < format_.symbol_at + wire::kPaddedSymbolBytes ||
        format_.types_of_no_symbol.find(static_cast<char>(message[0])) != std::string_view::npos)
      return false;
    return !own_.has_padded(message.data() + format_.symbol_at);
  }

  wire::Shard own_;
  const feeds::LiveFormat& format_;
  // A bit a locate: 8 KiB, in the first-level cache whatever the books do.
  std::array<std::uint64_t, book::kLocatesMax / kWordBits> others_{};
};

}  // namespace tickpath::mdh

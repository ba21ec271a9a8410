// What the newest packets of a numbering held, to see when a message comes again as another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "mdh/packet.hpp"

namespace tickpath::mdh {

// Message blocks as all transports have them: two bytes of length, the message, and so on. They are
// copied packet by packet, which costs a message some three instructions; looked into, message by
// message, only where a packet comes again and is not the same. Datapath thread; allocates at
// construction alone.
class RecentPackets {
 public:
  // As far as one line lags behind the other; a second-level cache holds it beside the books.
  static constexpr std::size_t kBytes = 256 * 1024;
  static constexpr std::size_t kPackets = 4'096;

  explicit RecentPackets(feeds::Transport transport)
      : big_endian_(feeds::has_big_endian_blocks(transport)),
        bytes_(new std::byte[kBytes]()),
        entries_(new Entry[kPackets]()) {}

  // Numbers only grow, until clear(). blocks: of `sequence` and what follows it, at most 65,535
  // bytes.
  void keep(std::uint64_t sequence, std::span<const std::byte> blocks) noexcept {
    std::size_t at = written_ % kBytes;
    if (at + blocks.size() > kBytes) [[unlikely]] {
      written_ += kBytes - at;
      at = 0;
    }
    std::memcpy(bytes_.get() + at, blocks.data(), blocks.size());
    entries_[kept_++ % kPackets] = {sequence, written_, blocks.size()};
    written_ += blocks.size();
  }
  void clear() noexcept { first_ = kept_; }

  // A packet was kept that began just so: with these blocks, from this number on.
  bool holds(std::uint64_t sequence, std::span<const std::byte> blocks) const noexcept {
    const Entry* const entry = find(sequence);
    return entry != nullptr && entry->sequence == sequence && entry->bytes >= blocks.size() &&
           std::memcmp(data(*entry), blocks.data(), blocks.size()) == 0;
  }
  // Whether it was kept, as something else.
  bool differs(std::uint64_t sequence, std::span<const std::byte> message) const noexcept {
    std::span<const std::byte> kept;
    return look(sequence, kept) && !std::ranges::equal(kept, message);
  }
  // Whether it was kept, as this.
  bool matches(std::uint64_t sequence, std::span<const std::byte> message) const noexcept {
    std::span<const std::byte> kept;
    return look(sequence, kept) && std::ranges::equal(kept, message);
  }

 private:
  struct Entry {
    std::uint64_t sequence;  // of its first message
    std::uint64_t at;        // of its blocks among all bytes ever written
    std::uint64_t bytes;
  };

  const std::byte* data(const Entry& entry) const noexcept {
    return bytes_.get() + entry.at % kBytes;
  }
  // The newest packet that begins at `sequence` or before it; nullptr: none, or overwritten since.
  const Entry* find(std::uint64_t sequence) const noexcept {
    std::uint64_t low = std::max(first_, kept_ - std::min<std::uint64_t>(kept_, kPackets));
    std::uint64_t high = kept_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (entries_[middle % kPackets].sequence <= sequence)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == first_ || kept_ - (low - 1) > kPackets) return nullptr;
    const Entry& entry = entries_[(low - 1) % kPackets];
    return entry.sequence <= sequence && written_ - entry.at <= kBytes ? &entry : nullptr;
  }
  bool look(std::uint64_t sequence, std::span<const std::byte>& message) const noexcept {
    const Entry* const entry = find(sequence);
    if (entry == nullptr) return false;
    std::span<const std::byte> rest(data(*entry), entry->bytes);
    for (std::uint64_t number = entry->sequence; rest.size() >= 2; ++number) {
      const auto high = static_cast<std::size_t>(rest[big_endian_ ? 0 : 1]);
      const auto low = static_cast<std::size_t>(rest[big_endian_ ? 1 : 0]);
      const std::size_t length = high << 8 | low;
      message = rest.subspan(2, length);  // it was whole when it was kept
      if (number == sequence) return true;
      rest = rest.subspan(2 + length);
    }
    return false;
  }

  bool big_endian_;
  std::unique_ptr<std::byte[]> bytes_;
  std::unique_ptr<Entry[]> entries_;
  std::uint64_t written_ = 0;  // ever
  std::uint64_t kept_ = 0;     // packets, ever
  std::uint64_t first_ = 0;    // of the numbering
};

}  // namespace tickpath::mdh

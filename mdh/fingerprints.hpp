// What the newest messages of a session were, in short: enough to see that one came again as
// another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace tickpath::mdh {

// No protection against who can choose both messages: against who sends one of them. Datapath
// thread.
class Fingerprints {
 public:
  // Message numbers that are remembered: as far as one line lags behind the other. 64 KiB, which a
  // second-level cache holds beside the books.
  static constexpr std::size_t kKept = 8'192;

  Fingerprints() : entries_(new Entry[kKept]()) {}

  void keep(std::uint64_t sequence, std::span<const std::byte> message) noexcept {
    entries_[sequence % kKept] = {static_cast<std::uint32_t>(sequence), of(message)};
  }
  // Whether it was kept, as something else.
  bool differs(std::uint64_t sequence, std::span<const std::byte> message) const noexcept {
    const Entry& entry = entries_[sequence % kKept];
    return entry.fingerprint != 0 && entry.sequence == static_cast<std::uint32_t>(sequence) &&
           entry.fingerprint != of(message);
  }
  // Whether it was kept, as this.
  bool matches(std::uint64_t sequence, std::span<const std::byte> message) const noexcept {
    const Entry& entry = entries_[sequence % kKept];
    return entry.sequence == static_cast<std::uint32_t>(sequence) &&
           entry.fingerprint == of(message);
  }
  void clear() noexcept { std::fill_n(entries_.get(), kKept, Entry{}); }

 private:
  struct Entry {
    std::uint32_t sequence;
    std::uint32_t fingerprint;  // 0: nothing is kept
  };

  static std::uint64_t load(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    return word;
  }
  // Words are multiplied by 2^64 divided by the golden ratio (Knuth, The Art of Computer
  // Programming 3, 6.4), the last one overlapping the one before.
  static std::uint32_t of(std::span<const std::byte> message) noexcept {
    constexpr std::uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;
    std::uint64_t mixed = message.size();
    if (message.size() >= 8) [[likely]] {
      const std::byte* const last = message.data() + message.size() - 8;
      for (const std::byte* at = message.data(); at < last; at += 8)
        mixed = (mixed ^ load(at)) * kMultiplier;
      mixed = (mixed ^ load(last)) * kMultiplier;
    } else {
      for (const std::byte each : message)
        mixed = (mixed ^ static_cast<std::uint64_t>(each)) * kMultiplier;
    }
    // Products move what differs upwards, and the last one may have differed in its top byte alone.
    return static_cast<std::uint32_t>((mixed ^ mixed >> 32) >> 16) | 1;
  }

  std::unique_ptr<Entry[]> entries_;
};

}  // namespace tickpath::mdh

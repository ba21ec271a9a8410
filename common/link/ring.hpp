// The update ring: 64-byte slots in the reader's memory, each written by one WRITE.
//
//   slot  0 payload[7] (56 bytes) | 56 sequence        sequence s lives in slot s mod depth
//
// Sequences start at 1. The writer never waits: a reader that falls a whole ring behind is overrun,
// sees it, counts exactly what it lost, and goes on at the live position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/cpu.hpp"
#include "common/link/versioned_record.hpp"
#include "common/link/words.hpp"

namespace tickpath::link {

template <class T>
concept SlotPayload = Payload<T> && sizeof(T) == 56;

struct alignas(kCacheLineBytes) RingSlot {
  std::uint64_t payload[7];
  std::uint64_t sequence;
};
static_assert(sizeof(RingSlot) == 64 && offsetof(RingSlot, sequence) == 56);

// Set in a slot's sequence: the update of that number was not written to this reader (the writer's
// send queue was full); the ring goes on behind it.
inline constexpr std::uint64_t kHole = std::uint64_t{1} << 63;

enum class SlotStatus : std::uint8_t {
  kUpdate,   // `out` holds the update of the sequence asked for
  kNone,     // not written yet
  kOverrun,  // it was overwritten, or is being overwritten, or was never sent
};

// Reads a ring in local memory, in poll mode. One thread. Knows nothing of connections, so tests
// can place slots by hand.
class RingReader {
 public:
  RingReader() = default;
  // slots: depth of them, depth a power of two, at least 2.
  RingReader(const RingSlot* slots, std::size_t depth) noexcept : slots_(slots), mask_(depth - 1) {}

  // Copies update `next` if it is there.
  //
  // Torn reads are found without assuming that 64 bytes land at once. WRITEs land in order, so
  // before the first byte of sequence next+depth reaches this slot, the slot before it already
  // carries next-1+depth. Both sequences are checked after the copy; the one before is in this
  // core's cache, for it has just been read.
  template <SlotPayload T>
  SlotStatus read(std::uint64_t next, T& out) const noexcept {
    const RingSlot& slot = slots_[next & mask_];
    // Pairs with the WRITE's last word, which lands after the payload: without acquire the payload
    // could be read before it was there.
    const std::uint64_t sequence = load_word(slot.sequence, std::memory_order_acquire);
    if (sequence != next) [[likely]]
      return (sequence & ~kHole) < next ? SlotStatus::kNone : SlotStatus::kOverrun;
    std::uint64_t words[7];
    load_words(words, slot.payload, 7);
    const RingSlot& before = slots_[(next - 1) & mask_];
    if ((load_word(before.sequence, std::memory_order_acquire) & ~kHole) >= next ||
        load_word(slot.sequence, std::memory_order_relaxed) != next) [[unlikely]]
      return SlotStatus::kOverrun;
    std::memcpy(&out, words, sizeof(out));
    return SlotStatus::kUpdate;
  }

  // Immediate mode: a completion vouches for the slot, and the writer leaves it alone until it is
  // given back. Returns the sequence.
  template <SlotPayload T>
  std::uint64_t take(std::uint64_t index, T& out) const noexcept {
    const RingSlot& slot = slots_[index & mask_];
    std::uint64_t words[7];
    load_words(words, slot.payload, 7);
    std::memcpy(&out, words, sizeof(out));
    return load_word(slot.sequence, std::memory_order_relaxed);
  }

  // The newest sequence in the ring, given that the reader at `next` was overrun. About log2(depth)
  // cold lines. The writer may run on meanwhile: then the answer is a little old, never too new.
  std::uint64_t live_position(std::uint64_t next) const noexcept;

  std::size_t depth() const noexcept { return mask_ + 1; }

 private:
  const RingSlot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
};

// publisher -> subscriber: one line, a VersionedRecord, beside the ring.
//  0 join_sequence | 8 flushed_sequence | 16 published_sequence | 24 skipped_sequence | 32 closed
// 40 program_word | 48 program_place
struct Watermark {
  std::uint64_t join_sequence;       // the subscriber counts from the update after this one
  std::uint64_t flushed_sequence;    // every image includes all updates up to this one
  std::uint64_t published_sequence;  // when this was written
  std::uint64_t skipped_sequence;    // newest update that was not written to this subscriber
  std::uint64_t closed;              // 1: published_sequence is final
  std::uint64_t program_word;        // the publishing program's own, as of published_sequence
  std::uint64_t program_place;       // likewise
};
static_assert(sizeof(Watermark) == 56);

// subscriber -> publisher, one line in the publisher's memory; each word by a WRITE of its own.
//  0 returned | 8 leaving
struct ReturnLine {
  // Immediate mode: receives that the subscriber is done with. Multicast: not 0 once it has all
  // that there is after the close.
  std::uint64_t returned;
  std::uint64_t leaving;  // not 0: it ends of its own will, and this update would be its next
};

// Immediate data of a ring: the top bit tells a notice (the watermark changed) from a slot.
inline constexpr std::uint32_t kNoticeImmediate = 1u << 31;

// No images: an overrun reader only counts.
struct NoImage {
  std::uint64_t ring_sequence = 0;
};

// ring_sequence is link's: flush() sets it to the newest sequence that the image includes.
template <class I>
concept ImagePayload = Payload<I> && requires(I image) {
  requires std::is_same_v<decltype(image.ring_sequence), std::uint64_t>;
};

// Where things are in the one region that a subscriber grants (WRITE) to its publisher.
struct RingLayout {
  std::size_t depth = 0;
  std::size_t image_count = 0;
  std::size_t image_stride_bytes = 0;

  static constexpr std::size_t watermark_offset() { return 0; }
  // A line of its own between the watermark (read seldom) and the ring's first slot.
  static constexpr std::size_t ring_offset() { return 2 * kCacheLineBytes; }
  constexpr std::size_t image_offset() const { return ring_offset() + depth * sizeof(RingSlot); }
  constexpr std::size_t size_bytes() const {
    return image_offset() + image_count * image_stride_bytes;
  }
};

}  // namespace tickpath::link

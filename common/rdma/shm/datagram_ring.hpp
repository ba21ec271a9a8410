// The ring by which one sender's datagrams reach any number of receivers of one host.
//
// One ring for each destination of a queue pair: a group that it sends to, or another queue pair.
// Only its sender writes it. Receivers map it read-only, each keeps a position of its own, and the
// sender looks at none of them: it overwrites its oldest datagram, and whoever had not taken that
// yet finds out by the sequence in the slot.
//
//   slots      sender -> receivers   stride bytes each, see DatagramSlot; the bytes beyond 48
//   follow
//
// Beside it is a page for wake-ups, which receivers may write (WakePage).
//
// Datagram number n (0, 1, ...) is in slot n mod slots.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/rdma/shm/wire.hpp"

namespace tickpath::rdma::detail {

inline constexpr std::uint32_t kDatagramNear = 48;  // bytes beside the word: one cache line in all
inline constexpr unsigned kSequenceShift = 16;

// Direction sender -> receivers, little-endian, 64 bytes. `word` is written last.
//   0 word: sequence n + 1 (48 bits) | kind (2 bits) | length (14 bits)   8 imm | 12 q_key | 16
//   near
// 48 bits, because a receiver that was stopped must still tell older from newer: at 10 million
// datagrams a second they last 160 days.
struct alignas(kCacheLineBytes) DatagramSlot {
  std::uint64_t word;
  std::uint64_t imm_and_q_key;
  std::byte near[kDatagramNear];
};
static_assert(sizeof(DatagramSlot) == 64 && offsetof(DatagramSlot, near) == 16);

inline constexpr std::uint64_t kDatagramWithImm = 1u << 14;
inline constexpr std::uint64_t kDatagramLengthMask = (1u << 14) - 1;

// The longest datagram of this provider: InfiniBand's largest MTU.
inline constexpr std::uint32_t kDatagramBytesMax = 4096;
static_assert(kDatagramBytesMax <= kDatagramLengthMask);
inline constexpr std::uint32_t kRingDatagramsMax = 1u << 16;

struct DatagramRingLayout {
  std::uint32_t slots = 0;  // a power of two, at least 4
  std::uint32_t datagram_bytes_max = 0;

  std::size_t stride() const noexcept {
    if (datagram_bytes_max <= kDatagramNear) return sizeof(DatagramSlot);
    return (offsetof(DatagramSlot, near) + std::size_t{datagram_bytes_max} + kCacheLineBytes - 1) /
           kCacheLineBytes * kCacheLineBytes;
  }
  std::size_t size_bytes() const noexcept { return slots * stride(); }
  bool valid() const noexcept {
    return std::has_single_bit(slots) && slots >= 4 && slots <= kRingDatagramsMax &&
           datagram_bytes_max <= kDatagramBytesMax;
  }
};

// ------------------------------------------------------------------------------------ wake-ups

// The first line says whether any receiver may be asleep, and is all that the sender looks at: one
// load of a line that stays in its cache. Each receiver that can sleep has a line of its own behind
// it, by which the sender's monitor finds whom to wake. So a datagram costs its sender one system
// call if anybody sleeps, however many do, and none while all spin.
inline constexpr std::uint32_t kSleepersMax = 255;
struct WakePage {
  WireWake any;
  WireWake each[kSleepersMax];
};
static_assert(sizeof(WakePage) == 64 * 256);

// Receiver: asks for one wake-up at the next datagram, and looks at the ring once more afterwards.
// first_time(): must run a full barrier on every core that may be sending. Each receiver runs it
// for itself: another one may have stepped away from kNeverParks, but not be through its barrier
// yet.
template <class Barrier>
void arm_sleeper(WakePage& page, std::uint32_t index, bool solicited_only, bool first,
                 Barrier&& first_time) noexcept {
  std::atomic_ref<std::uint32_t> any(page.any.state);
  if (first) {
    std::uint32_t never = kNeverParks;
    any.compare_exchange_strong(never, kMayPark, std::memory_order_seq_cst);
    first_time();
  }
  const std::uint32_t wanted = solicited_only ? kArmedSolicited : kArmed;
  // Our own line before the common one: whoever takes the latter back looks at the former after it.
  std::atomic_ref<std::uint32_t>(page.each[index].state)
      .exchange(wanted, std::memory_order_seq_cst);
  // Store of the state before the look at the ring; pairs with the fence in sleepers_wait(). Where
  // another one armed already, its exchange or ours above is that store. kArmed is never narrowed.
  std::uint32_t now = any.load(std::memory_order_seq_cst);
  while (now != kArmed && now != wanted &&
         !any.compare_exchange_weak(now, wanted, std::memory_order_seq_cst)) {
  }
}

// Sender, after a datagram: must its monitor wake somebody? True once for one arming.
inline bool sleepers_wait(WakePage& page, bool solicited) noexcept {
  std::atomic_ref<std::uint32_t> state(page.any.state);
  // As WireSender::wake_needed(): without a fence, because the step away from kNeverParks brings a
  // barrier on every core with it.
  if (state.load(std::memory_order_relaxed) == kNeverParks) [[likely]]
    return false;
  // Store of the slot before load of the state; pairs with the exchange in arm_sleeper(). Without
  // it both sides could look before the other's store arrives: a receiver sleeps beside a datagram.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t now = state.load(std::memory_order_seq_cst);
  if (now != kArmed && !(now == kArmedSolicited && solicited)) return false;
  return state.compare_exchange_strong(now, kMayPark, std::memory_order_seq_cst);
}

// Sender's monitor: was this receiver asleep? Then it is to be woken, once.
inline bool take_sleeper(WakePage& page, std::uint32_t index) noexcept {
  std::atomic_ref<std::uint32_t> state(page.each[index].state);
  std::uint32_t now = state.load(std::memory_order_seq_cst);
  if (now != kArmed && now != kArmedSolicited) return false;
  return state.compare_exchange_strong(now, kMayPark, std::memory_order_seq_cst);
}

// ------------------------------------------------------------------------------------ the ring

// A slot may be written while somebody reads it, who then throws away what he read. So its bytes
// move as relaxed words of 8: a plain copy would be a data race, whatever comes of it. `to` and
// `from` in the ring are aligned, and a slot has room for the last word.
inline constexpr std::uint32_t kWord = sizeof(std::uint64_t);

inline void store_words(std::byte* to, const std::byte* from, std::uint32_t length) noexcept {
  auto* words = reinterpret_cast<std::uint64_t*>(to);
  for (; length != 0; ++words) {
    const std::uint32_t bytes = length < kWord ? length : kWord;
    std::uint64_t word = 0;
    if (bytes == kWord) [[likely]] {
      std::memcpy(&word, from, kWord);
    } else {
      std::memcpy(&word, from, bytes);
    }
    std::atomic_ref<std::uint64_t>(*words).store(word, std::memory_order_relaxed);
    from += bytes;
    length -= bytes;
  }
}

inline void load_words(std::byte* to, const std::byte* from, std::uint32_t length) noexcept {
  // The mapping is read-only, the cast is for atomic_ref, which only loads.
  auto* words = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from));
  for (; length != 0; ++words) {
    const std::uint32_t bytes = length < kWord ? length : kWord;
    const std::uint64_t word =
        std::atomic_ref<std::uint64_t>(*words).load(std::memory_order_relaxed);
    if (bytes == kWord) [[likely]] {
      std::memcpy(to, &word, kWord);
    } else {
      std::memcpy(to, &word, bytes);
    }
    to += bytes;
    length -= bytes;
  }
}

// The sender's end. Its polling thread only.
class DatagramWriter {
 public:
  DatagramWriter() noexcept = default;

  // Before use. first: 0, unless a test places it elsewhere.
  void bind(std::byte* memory, const DatagramRingLayout& layout, std::uint64_t first = 0) noexcept {
    slots_ = memory;
    stride_ = layout.stride();
    mask_ = layout.slots - 1;
    next_.set(first);
  }

  // length: at most datagram_bytes_max, checked by the caller. The bytes are copied.
  void send(bool with_imm, std::uint32_t imm, std::uint32_t q_key, const std::byte* from,
            std::uint32_t length) noexcept {
    const std::uint64_t next = next_.get();
    std::byte* const at = slots_ + (next & mask_) * stride_;
    auto& slot = *reinterpret_cast<DatagramSlot*>(at);
    // The line that receivers look at goes last: each store to it more is a chance for one of them
    // to take it away in between.
    if (length > kDatagramNear) {
      store_words(at + sizeof(DatagramSlot), from + kDatagramNear, length - kDatagramNear);
      store_words(slot.near, from, kDatagramNear);
    } else {
      store_words(slot.near, from, length);
    }
    std::atomic_ref<std::uint64_t>(slot.imm_and_q_key)
        .store(imm | static_cast<std::uint64_t>(q_key) << 32, std::memory_order_relaxed);
    const std::uint64_t word =
        ((next + 1) << kSequenceShift) | (with_imm ? kDatagramWithImm : 0) | length;
    // Pairs with the acquire in DatagramReader::look(): without it a receiver could see the word
    // before the bytes of the datagram.
    std::atomic_ref<std::uint64_t>(slot.word).store(word, std::memory_order_release);
    // Before the bytes of the next one; pairs with the fence in intact(). Without it a receiver
    // that is overrun could read new bytes and find the slot before them still old.
    std::atomic_thread_fence(std::memory_order_release);
    next_.set(next + 1);
  }

  // How many were sent. Any thread.
  std::uint64_t sent() const noexcept { return next_.get(); }

 private:
  std::byte* slots_ = nullptr;
  std::size_t stride_ = 0;
  std::uint64_t mask_ = 0;
  Counter next_;
};

// A receiver's end. Its polling thread only. Believes nothing: the length is checked, and what is
// read is a copy that counts only if intact() says so afterwards.
class DatagramReader {
 public:
  enum class Look : std::uint8_t { kNothing, kDatagram, kOverrun };

  struct Datagram {
    std::uint32_t length;
    std::uint32_t imm;
    std::uint32_t q_key;
    bool with_imm;
  };

  void bind(const std::byte* memory, const DatagramRingLayout& layout,
            std::uint64_t first) noexcept {
    slots_ = memory;
    stride_ = layout.stride();
    mask_ = layout.slots - 1;
    next_ = first;
  }

  // Is the next datagram here? kOverrun: it was overwritten, call skip_overrun().
  Look look(Datagram& datagram) noexcept {
    const DatagramSlot& slot = slot_of(next_);
    const std::uint64_t word = load_word(slot);
    const std::int64_t ahead = distance(word, next_);
    if (ahead < 0) {
      // Keep the second line near too: it then travels together with the word's line.
      if (far_expected_) __builtin_prefetch(&slot + 1);
      return Look::kNothing;
    }
    if (ahead > 0) [[unlikely]]
      return Look::kOverrun;
    const std::uint64_t both =
        std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(slot.imm_and_q_key))
            .load(std::memory_order_relaxed);
    datagram = {static_cast<std::uint32_t>(word & kDatagramLengthMask),
                static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32),
                (word & kDatagramWithImm) != 0};
    far_expected_ = datagram.length > kDatagramNear;
    return Look::kDatagram;
  }

  // length: checked by the caller against the receive buffer and the layout.
  void copy_to(std::byte* to, std::uint32_t length) const noexcept {
    // The near bytes and the lines behind them are one piece.
    load_words(to, slot_of(next_).near, length);
  }

  // Was everything that was read of the datagram its own? Slots are written in order, so the bytes
  // of this one are touched only after the word of the one before was replaced; that line was read
  // a moment ago, and looking at it costs nothing as long as we keep up. A word of this slot that
  // says "being written" would cost the sender a second store to a line that everybody polls.
  bool intact() const noexcept {
    // Pairs with the fence in send(): the bytes were read before the word is.
    std::atomic_thread_fence(std::memory_order_acquire);
    return load_word(slot_of(next_ - 1)) >> kSequenceShift == (next_ & kSequenceMask);
  }

  void done() noexcept { ++next_; }

  // Goes on with the newer half of what may still be there: the oldest would be overwritten the
  // next moment. Returns how many datagrams are lost by that.
  std::uint64_t skip_overrun() noexcept {
    std::int64_t ahead = distance(load_word(slot_of(next_)), next_);
    if (ahead <= 0) ahead = distance(load_word(slot_of(next_ - 1)), next_ - 1);
    // A sender that broke the rules: its ring is read on, datagram by datagram.
    if (ahead <= static_cast<std::int64_t>(mask_ / 2)) ahead = static_cast<std::int64_t>(mask_ + 1);
    const std::uint64_t lost = static_cast<std::uint64_t>(ahead) - mask_ / 2;
    next_ += lost;
    return lost;
  }

  std::uint64_t position() const noexcept { return next_; }

 private:
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << 48) - 1;

  const DatagramSlot& slot_of(std::uint64_t number) const noexcept {
    return *reinterpret_cast<const DatagramSlot*>(slots_ + (number & mask_) * stride_);
  }
  static std::uint64_t load_word(const DatagramSlot& slot) noexcept {
    // Pairs with the release in send(): without it the bytes could be older than the word. The
    // mapping is read-only, the cast is for atomic_ref, which only loads.
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(slot.word))
        .load(std::memory_order_acquire);
  }
  // How far the datagram of this word is ahead of number `number`. A slot that was never written
  // (0) counts as the one before the first.
  static std::int64_t distance(std::uint64_t word, std::uint64_t number) noexcept {
    const std::uint64_t difference = ((word >> kSequenceShift) - (number + 1)) << kSequenceShift;
    return static_cast<std::int64_t>(difference) >> kSequenceShift;
  }

  const std::byte* slots_ = nullptr;
  std::size_t stride_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t next_ = 0;
  bool far_expected_ = false;
};

}  // namespace tickpath::rdma::detail

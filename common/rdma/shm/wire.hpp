// The receive wire: shared memory through which the SENDs (and immediate data) of one peer arrive.
//
// One wire a direction of a connection, created by the receiver, mapped by the sender. A sender can
// damage nothing but this queue; the receiver believes nothing it reads from it unchecked.
//
//   0     WireCredits   receiver -> sender   receives posted so far, smallest buffer among them
//   64    WireWake      both                 may the receiver be asleep?
//   128   lengths       receiver -> sender   u32 a slot: the size of the receive buffer
//   ...   slots         sender -> receiver   128 bytes each, see WireSlot
//   ...   bounce        sender -> receiver   message_bytes_max a slot, for messages above 112 bytes
//
// Message number n (0, 1, ...) uses slot n mod slots and the n-th receive. Receives in flight never
// exceed slots, so a credit (n < posted) also says that the receiver is done with the slot.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"

namespace tickpath::rdma::detail {

// Lines written by one side are never written by the other.
struct alignas(kCacheLineBytes) WireCredits {
  std::uint64_t posted;
  std::uint32_t smallest_length;  // of all receives ever posted: above it the sender looks closer
  std::uint32_t reserved[13];
};
static_assert(sizeof(WireCredits) == 64);

struct alignas(kCacheLineBytes) WireWake {
  std::uint32_t state;  // WakeState
  std::uint32_t reserved[15];
};
static_assert(sizeof(WireWake) == 64);

enum WakeState : std::uint32_t {
  kNeverParks = 0,      // the receiver polls: the sender needs no fence and no system call
  kMayPark = 1,         // the receiver has parked before: fence, then look again
  kArmed = 2,           // wake at the next message
  kArmedSolicited = 3,  // wake at the next solicited message
};

inline constexpr std::size_t kSlotNear = 48;  // bytes beside the completion word
inline constexpr std::size_t kSlotFar = 64;   // bytes in the slot's other line
inline constexpr std::size_t kSlotBytes = kSlotNear + kSlotFar;

// Direction sender -> receiver. A message of up to 48 bytes moves one cache line; one of up to 112
// two, and the line with the word is written last, so that seeing the word means that the other is
// on its way already.
//   0 far | 64 near | 112 imm | 116 length | 120 word: sequence (32), kind (8), 24 bits reserved
struct alignas(2 * kCacheLineBytes) WireSlot {
  std::byte far[kSlotFar];
  std::byte near[kSlotNear];
  std::uint32_t imm;
  std::uint32_t length;
  std::uint64_t word;
};
static_assert(sizeof(WireSlot) == 128 && offsetof(WireSlot, word) == 120);

enum class WireKind : std::uint8_t { kSend = 1, kSendWithImm = 2, kWriteWithImm = 3 };

// Sequence n + 1, so that zeroed memory holds no message; it repeats after 2^32 messages, long
// after the slot has been overwritten.
constexpr std::uint64_t wire_word(std::uint64_t message, WireKind kind) noexcept {
  return static_cast<std::uint32_t>(message + 1) | (static_cast<std::uint64_t>(kind) << 32);
}

// Where everything lies; both sides compute it from the two numbers exchanged at set-up.
struct WireLayout {
  std::uint32_t slots = 0;              // a power of two
  std::uint32_t message_bytes_max = 0;  // of one SEND

  std::size_t lengths_offset() const noexcept { return 128; }
  std::size_t slots_offset() const noexcept {
    return (lengths_offset() + slots * sizeof(std::uint32_t) + 127) / 128 * 128;
  }
  std::size_t bounce_offset() const noexcept { return slots_offset() + slots * sizeof(WireSlot); }
  std::size_t bounce_stride() const noexcept {
    if (message_bytes_max <= kSlotBytes) return 0;
    return (std::size_t{message_bytes_max} + kCacheLineBytes - 1) / kCacheLineBytes *
           kCacheLineBytes;
  }
  std::size_t size_bytes() const noexcept { return bounce_offset() + slots * bounce_stride(); }
};

// More would let a mistyped option eat the machine's memory.
inline constexpr std::uint32_t kSlotsMax = 1u << 16;
inline constexpr std::uint32_t kMessageBytesMax = 1u << 20;
inline constexpr std::size_t kWireBytesMax = std::size_t{256} << 20;

inline bool layout_valid(const WireLayout& layout) noexcept {
  return std::has_single_bit(layout.slots) && layout.slots <= kSlotsMax &&
         layout.message_bytes_max <= kMessageBytesMax && layout.size_bytes() <= kWireBytesMax;
}

// The sender's end. Polling thread of the sender only.
class WireSender {
 public:
  WireSender() noexcept = default;
  // first_message: 0, unless a test places the counters near their wrap-around.
  WireSender(std::byte* memory, const WireLayout& layout, std::uint64_t first_message = 0) noexcept
      : credits_(reinterpret_cast<WireCredits*>(memory)),
        wake_(reinterpret_cast<WireWake*>(memory + sizeof(WireCredits))),
        lengths_(reinterpret_cast<std::uint32_t*>(memory + layout.lengths_offset())),
        slots_(reinterpret_cast<WireSlot*>(memory + layout.slots_offset())),
        bounce_(memory + layout.bounce_offset()),
        bounce_stride_(layout.bounce_stride()),
        mask_(layout.slots - 1),
        next_(first_message),
        posted_(first_message),
        message_bytes_max_(layout.message_bytes_max) {}

  std::uint32_t message_bytes_max() const noexcept { return message_bytes_max_; }

  // Is a receive posted for the next message? Looks at shared memory only when the known ones are
  // used up: about once in receive_depth messages.
  bool has_credit() noexcept { return next_ != posted_ || refresh_credits(); }

  // The receiver wrote nonsense: it is not to be talked to any longer.
  bool receiver_lies() const noexcept { return lies_; }

  // Length of the receive that the next message will consume. has_credit() first.
  std::uint32_t receive_length() const noexcept {
    // Relaxed: written before `posted`, which has_credit() acquired.
    return std::atomic_ref<std::uint32_t>(lengths_[next_ & mask_]).load(std::memory_order_relaxed);
  }
  std::uint32_t smallest_receive() const noexcept { return smallest_; }

  // has_credit() first; length at most message_bytes_max(). The bytes are copied.
  void send(WireKind kind, std::uint32_t imm, const std::byte* from,
            std::uint32_t length) noexcept {
    WireSlot& slot = slots_[next_ & mask_];
    if (length == 64) [[likely]] {
      std::memcpy(slot.far, from + kSlotNear, 64 - kSlotNear);
      std::memcpy(slot.near, from, kSlotNear);
    } else if (length <= kSlotNear) {
      if (length != 0) std::memcpy(slot.near, from, length);  // no bytes, then perhaps no address
    } else if (length <= kSlotBytes) {
      std::memcpy(slot.far, from + kSlotNear, length - kSlotNear);
      std::memcpy(slot.near, from, kSlotNear);
    } else {
      std::memcpy(bounce_ + (next_ & mask_) * bounce_stride_, from, length);
    }
    publish(slot, kind, imm, length);
  }

  // A message without bytes: the end of a WRITE_WITH_IMM, or one that is too long to be delivered.
  void send_descriptor(WireKind kind, std::uint32_t imm, std::uint32_t length) noexcept {
    publish(slots_[next_ & mask_], kind, imm, length);
  }

  // After a message: must the receiver be woken by a system call? At most one caller gets true for
  // one arming.
  bool wake_needed(bool solicited) noexcept {
    std::atomic_ref<std::uint32_t> state(wake_->state);
    // Relaxed, without a fence: may miss kArmed only while it still reads kNeverParks, and the
    // receiver's step from there to kMayPark runs a barrier on every core (membarrier) before it
    // looks at the slots a last time, so it finds the message itself.
    if (state.load(std::memory_order_relaxed) == kNeverParks) [[likely]]
      return false;
    // Store of the slot before load of the state; pairs with the exchange in arm(). Without it both
    // sides could look before the other's store arrives: the receiver sleeps beside a message.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::uint32_t now = state.load(std::memory_order_seq_cst);
    if (now != kArmed && !(now == kArmedSolicited && solicited)) return false;
    return state.compare_exchange_strong(now, kMayPark, std::memory_order_seq_cst);
  }

 private:
  void publish(WireSlot& slot, WireKind kind, std::uint32_t imm, std::uint32_t length) noexcept {
    slot.imm = imm;
    slot.length = length;
    // Pairs with the acquire in WireReceiver::next(): without it the receiver could see the word
    // before the bytes of the message.
    std::atomic_ref<std::uint64_t>(slot.word).store(wire_word(next_, kind),
                                                    std::memory_order_release);
    ++next_;
  }

  bool refresh_credits() noexcept {
    // Pairs with the release in post_receive(): without it the lengths, and the receiver's last use
    // of a slot, might not be over yet.
    const std::uint64_t posted =
        std::atomic_ref<std::uint64_t>(credits_->posted).load(std::memory_order_acquire);
    if (posted - next_ > mask_ + 1) [[unlikely]] {
      lies_ = true;
      return false;
    }
    posted_ = posted;
    // Relaxed: only ever shrinks, and was written before `posted`.
    smallest_ =
        std::atomic_ref<std::uint32_t>(credits_->smallest_length).load(std::memory_order_relaxed);
    return next_ != posted_;
  }

  WireCredits* credits_ = nullptr;
  WireWake* wake_ = nullptr;
  std::uint32_t* lengths_ = nullptr;
  WireSlot* slots_ = nullptr;
  std::byte* bounce_ = nullptr;
  std::size_t bounce_stride_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t next_ = 0;    // number of the next message
  std::uint64_t posted_ = 0;  // receives known to be posted
  std::uint32_t smallest_ = 0;
  std::uint32_t message_bytes_max_ = 0;
  bool lies_ = false;
};

// The receiver's end. Polling thread of the receiver only.
class WireReceiver {
 public:
  struct Message {
    WireKind kind;
    std::uint32_t imm;
    std::uint32_t length;  // as the sender says: not checked yet
  };

  WireReceiver() noexcept = default;
  WireReceiver(std::byte* memory, const WireLayout& layout,
               std::uint64_t first_message = 0) noexcept {
    bind(memory, layout, first_message);
  }

  // Before use.
  void bind(std::byte* memory, const WireLayout& layout, std::uint64_t first_message = 0) noexcept {
    credits_ = reinterpret_cast<WireCredits*>(memory);
    wake_ = reinterpret_cast<WireWake*>(memory + sizeof(WireCredits));
    lengths_ = reinterpret_cast<std::uint32_t*>(memory + layout.lengths_offset());
    slots_ = reinterpret_cast<WireSlot*>(memory + layout.slots_offset());
    bounce_ = memory + layout.bounce_offset();
    bounce_stride_ = layout.bounce_stride();
    mask_ = layout.slots - 1;
    next_.set(first_message);
    posted_ = first_message;
    message_bytes_max_ = layout.message_bytes_max;
  }

  // One more receive of this size. The caller keeps receives in flight within the slots.
  void post_receive(std::uint32_t length) noexcept {
    // Relaxed: the release below publishes both. Looking first keeps the common case, equal sizes,
    // from taking the line away from the sender.
    std::atomic_ref<std::uint32_t> shared(lengths_[posted_ & mask_]);
    if (shared.load(std::memory_order_relaxed) != length) {
      shared.store(length, std::memory_order_relaxed);
    }
    if (length < smallest_) {
      smallest_ = length;
      std::atomic_ref<std::uint32_t>(credits_->smallest_length)
          .store(length, std::memory_order_relaxed);
    }
    ++posted_;
    // Pairs with the acquire in refresh_credits(): without it the sender could overwrite a slot
    // that is still being read.
    std::atomic_ref<std::uint64_t>(credits_->posted).store(posted_, std::memory_order_release);
  }

  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t received() const noexcept { return next_.get(); }

  // Is the next message here? Fills `message`; its bytes are taken by copy_to(), then done().
  bool next(Message& message) noexcept {
    WireSlot& slot = slots_[next_.get() & mask_];
    // Pairs with the release in publish(): without it the bytes could be older than the word.
    const std::uint64_t word =
        std::atomic_ref<std::uint64_t>(slot.word).load(std::memory_order_acquire);
    if (static_cast<std::uint32_t>(word) != static_cast<std::uint32_t>(next_.get() + 1)) {
      // Keep the other line of the slot near too: it then travels together with the word's line.
      if (far_expected_) __builtin_prefetch(slot.far);
      return false;
    }
    message = {static_cast<WireKind>((word >> 32) & 0xff), slot.imm, slot.length};
    far_expected_ = message.length > kSlotNear;
    return true;
  }

  // length: checked by the caller against the receive buffer and message_bytes_max().
  void copy_to(std::byte* to, std::uint32_t length) const noexcept {
    const WireSlot& slot = slots_[next_.get() & mask_];
    if (length == 64) [[likely]] {
      std::memcpy(to, slot.near, kSlotNear);
      std::memcpy(to + kSlotNear, slot.far, 64 - kSlotNear);
    } else if (length <= kSlotNear) {
      if (length != 0) std::memcpy(to, slot.near, length);
    } else if (length <= kSlotBytes) {
      std::memcpy(to, slot.near, kSlotNear);
      std::memcpy(to + kSlotNear, slot.far, length - kSlotNear);
    } else {
      std::memcpy(to, bounce_ + (next_.get() & mask_) * bounce_stride_, length);
    }
  }
  void done() noexcept { next_.add(); }

  std::uint32_t message_bytes_max() const noexcept { return message_bytes_max_; }

  // Before use, without a sender: `may_park` if arm() may come and no barrier can be run for it.
  void initialise(bool may_park) noexcept {
    wake_->state = may_park ? kMayPark : kNeverParks;
    credits_->posted = posted_;
    credits_->smallest_length = smallest_;
  }

  // Asks the sender for one wake-up. The caller looks at the slots once more afterwards.
  // first_time(): called once, between the store of kMayPark and the arming; must run a full
  // barrier on every core that may be sending.
  template <class Barrier>
  void arm(bool solicited_only, Barrier&& first_time) noexcept {
    std::atomic_ref<std::uint32_t> state(wake_->state);
    if (state.load(std::memory_order_relaxed) == kNeverParks) {
      state.store(kMayPark, std::memory_order_seq_cst);
      first_time();
    }
    // Store of the state before the look at the slots; pairs with the fence in wake_needed().
    state.exchange(solicited_only ? kArmedSolicited : kArmed, std::memory_order_seq_cst);
  }

 private:
  WireCredits* credits_ = nullptr;
  WireWake* wake_ = nullptr;
  std::uint32_t* lengths_ = nullptr;
  WireSlot* slots_ = nullptr;
  std::byte* bounce_ = nullptr;
  std::size_t bounce_stride_ = 0;
  std::uint64_t mask_ = 0;
  Counter next_;  // number of the next message; read by any thread
  std::uint64_t posted_ = 0;
  std::uint32_t smallest_ = ~std::uint32_t{0};
  std::uint32_t message_bytes_max_ = 0;
  bool far_expected_ = false;
};

}  // namespace tickpath::rdma::detail

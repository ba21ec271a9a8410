// Packets from the future: copies that wait for what comes before them, by sequence number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/memory.hpp"
#include "mdh/packet.hpp"

namespace tickpath::mdh {

// The datapath thread; allocates at construction alone.
class HeldPackets {
 public:
  // Room for 1 to 65,535 packets; packet_bytes: of the longest datagram.
  HeldPackets(std::size_t packets, std::size_t packet_bytes)
      : packet_bytes_(packet_bytes),
        buffers_(new std::byte[packets * packet_bytes]()),
        slots_(2 * packets) {
    TICKPATH_CHECK(packets >= 1 && packets <= std::numeric_limits<std::uint16_t>::max(),
                   "1 to 65535 packets are held");
    free_.reserve(packets);
    reserve_touched(popped_, packets);
    for (std::size_t i = packets; i-- > 0;) free_.push_back(static_cast<std::uint16_t>(i));
  }

  bool empty() const noexcept { return count_ == 0; }
  const Packet& front() const noexcept { return slots_[first_].packet; }
  // Calls visit(packet) for each in order.
  template <class Visit>
  void for_each(Visit&& visit) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) visit(slots_[first_ + i].packet);
  }

  // The packet waits here already, or one that begins with it. An end of session has no blocks, as
  // a heartbeat of its number.
  bool has(const Packet& packet) noexcept {
    const std::size_t at = place_of(packet);
    if (at == 0) return false;
    const Packet& kept = slots_[first_ + at - 1].packet;
    return kept.header.sequence_number == packet.header.sequence_number &&
           kept.blocks.size() >= packet.blocks.size() &&
           kept.header.is_end_of_session() == packet.header.is_end_of_session() &&
           std::memcmp(kept.blocks.data(), packet.blocks.data(), packet.blocks.size()) == 0;
  }
  bool full() const noexcept { return free_.empty(); }
  // A whole packet, while there is room.
  void insert(const Packet& packet) noexcept {
    const std::uint16_t index = free_.back();
    free_.pop_back();
    std::byte* const to = buffers_.get() + std::size_t{index} * packet_bytes_;
    std::memcpy(to, packet.blocks.data(), packet.blocks.size());
    Slot& slot = open(place_of(packet));
    slot = {packet, index};
    slot.packet.blocks = {to, packet.blocks.size()};
  }
  // Takes the first out; its bytes stay until recycle().
  Packet pop() noexcept {
    const Slot& slot = slots_[first_++];
    --count_;
    popped_.push_back(slot.buffer);
    return slot.packet;
  }
  // recycle() will make room.
  bool recyclable() const noexcept { return !popped_.empty(); }
  void recycle() noexcept {
    free_.insert(free_.end(), popped_.begin(), popped_.end());
    popped_.clear();
  }

 private:
  struct Slot {
    Packet packet;
    std::uint16_t buffer;  // index
  };

  std::span<Slot> held() noexcept { return std::span(slots_).subspan(first_, count_); }
  // Behind those of its number and before.
  std::size_t place_of(const Packet& packet) noexcept {
    const auto number = [](const Slot& slot) { return slot.packet.header.sequence_number; };
    const std::span<Slot> waiting = held();
    return static_cast<std::size_t>(
        std::ranges::upper_bound(waiting, packet.header.sequence_number, {}, number) -
        waiting.begin());
  }
  // Room for one more before the `at`-th that waits: mostly it is the last one, and nothing moves.
  Slot& open(std::size_t at) noexcept {
    if (first_ + count_ == slots_.size()) {
      std::ranges::move(held(), slots_.begin());
      first_ = 0;
    }
    ++count_;
    const std::span<Slot> waiting = held();
    std::move_backward(waiting.begin() + static_cast<std::ptrdiff_t>(at), waiting.end() - 1,
                       waiting.end());
    return waiting[at];
  }

  std::size_t packet_bytes_;
  std::unique_ptr<std::byte[]> buffers_;  // touched as it is used
  std::vector<Slot> slots_;  // those held are a window of it, by sequence number; fixed size
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::uint16_t> free_;    // buffers
  std::vector<std::uint16_t> popped_;  // buffers that somebody still looks at
};

}  // namespace tickpath::mdh

// Packets between the moment at which they are complete and the one at which they are published:
// what latency.market_data takes. They leave in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "common/base/check.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "sim/latency/latency_model.hpp"

namespace tickpath::sim {

// Datapath thread; the constructor allocates.
class PacketHold {
 public:
  struct Packet {
    TscTicks due;        // when it is published
    std::uint16_t size;  // bytes
    bool numbered;       // with messages: no heartbeat, no end of session
  };

  PacketHold(const LatencyOptions& options, std::uint64_t seed)
      : stage_(options, seed), packets_(kPacketsMax), bytes_(kPacketsMax * kPacketBytes) {}

  bool empty() const noexcept { return first_ == next_; }
  bool full() const noexcept { return next_ - first_ == kPacketsMax; }
  void put(std::span<const std::byte> packet, TscTicks now, bool numbered) noexcept {
    TICKPATH_CHECK(!full() && packet.size() <= kPacketBytes, "room for a packet");
    const std::size_t at = next_++ % kPacketsMax;
    std::memcpy(bytes_.data() + at * kPacketBytes, packet.data(), packet.size());
    packets_[at] = {stage_.due(now), static_cast<std::uint16_t>(packet.size()), numbered};
  }
  const Packet& front() const noexcept { return packets_[first_ % kPacketsMax]; }
  std::span<const std::byte> front_bytes() const noexcept {
    return std::span(bytes_).subspan(first_ % kPacketsMax * kPacketBytes, front().size);
  }
  void pop() noexcept { ++first_; }
  const LatencyCounters& counters() const noexcept { return stage_.counters(); }

 private:
  static constexpr std::size_t kPacketBytes = itch::mold::kMaxPacketBytes;
  // Six megabytes. At 50,000 packets a second they last for a latency of 80 ms.
  static constexpr std::size_t kPacketsMax = 4'096;

  LatencyStage stage_;
  std::vector<Packet> packets_;
  std::vector<std::byte> bytes_;
  std::size_t first_ = 0;  // counts, not places
  std::size_t next_ = 0;
};

}  // namespace tickpath::sim

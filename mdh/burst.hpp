// The packets that one look at the socket brought, in the feed's order. The arbiter fills it, the
// feed works on it: with all messages at hand, it fetches what later ones will touch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/memory.hpp"
#include "mdh/packet.hpp"

namespace tickpath::mdh {

// A packet in its order: what is lost before it, and what of it came before.
struct OrderedPacket {
  std::uint64_t sequence = 0;  // of its first message; the next one's where it has none
  std::uint64_t next = 0;      // the sequence number expected behind it
  std::uint64_t missed = 0;    // messages lost right before it
  std::uint32_t first = 0;     // of its messages in the burst
  std::uint16_t count = 0;     // of its messages
  std::uint16_t known = 0;     // how many of them came before: the first ones
  bool ends_session = false;
  Arrival arrival;
};

// The datapath thread; allocates at construction alone. Bytes stay the packets' owner's.
class Burst {
 public:
  Burst() {
    reserve_touched(packets_, kPackets);
    reserve_touched(messages_, kMessages);
  }

  // False: clear() first. Any packet fits an empty burst.
  bool has_room(const Packet& packet) const noexcept {
    return packets_.size() < kPackets && messages_.size() + packet.header.messages() <= kMessages;
  }
  // Anything but kOk: the packet is malformed, and nothing of it is here. `ordered` says all but
  // where its messages are.
  PacketStatus append(const Packet& packet, OrderedPacket ordered) noexcept {
    const std::size_t first = messages_.size();
    if (first + packet.header.messages() > kMessages) [[unlikely]]
      return PacketStatus::kTruncatedMessage;  // more than any datagram holds
    const PacketStatus status = for_each_message(
        packet, [this](Message message) noexcept { messages_.push_back(message); });
    if (status != PacketStatus::kOk) [[unlikely]] {
      messages_.resize(first);
      return status;
    }
    ordered.first = static_cast<std::uint32_t>(first);
    packets_.push_back(ordered);
    return status;
  }
  void clear() noexcept {
    packets_.clear();
    messages_.clear();
  }

  std::span<const OrderedPacket> packets() const noexcept { return packets_; }
  std::span<const Message> messages() const noexcept { return messages_; }
  // Messages `from` to `end` of a packet, with the two bytes of length before each.
  Message blocks(const OrderedPacket& packet, std::size_t from, std::size_t end) const noexcept {
    const std::byte* const begin = messages_[packet.first + from].data() - 2;
    const Message last = messages_[packet.first + end - 1];
    return {begin, last.data() + last.size()};
  }

 private:
  static constexpr std::size_t kPackets = 1'024;
  // The most that one datagram of 65,507 bytes can hold (blocks without content).
  static constexpr std::size_t kMessages = 32'768;

  std::vector<OrderedPacket> packets_;  // fixed capacity, as the next
  std::vector<Message> messages_;
};

}  // namespace tickpath::mdh

// Packets of any transport, one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/clock/clock.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/live/live_format.hpp"

namespace tickpath::sim {

// Datapath thread.
class FeedFraming {
 public:
  // buffer: of the caller, who keeps it alive. iex_session: IEX-TP numbers its sessions.
  FeedFraming(feeds::Transport transport, std::span<std::byte> buffer,
              const itch::mold::Session& session, std::uint32_t iex_session) noexcept
      : iex_(transport == feeds::Transport::kIexTp),
        session_(session),
        mold_(buffer),
        segment_(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = iex_session}) {}

  // What a packet of `packet_bytes` has room for in one message.
  static std::size_t longest_message(feeds::Transport transport,
                                     std::size_t packet_bytes) noexcept {
    return packet_bytes - (transport == feeds::Transport::kIexTp
                               ? iex::kSegmentHeaderBytes + iex::kBlockLengthBytes
                               : itch::mold::kHeaderBytes + itch::mold::kBlockLengthBytes);
  }

  bool carries_itch() const noexcept { return !iex_; }
  void begin(std::uint64_t sequence_number) noexcept {
    iex_ ? segment_.begin(sequence_number) : mold_.begin(session_, sequence_number);
  }
  [[nodiscard]] bool append(std::span<const std::byte> message) noexcept {
    return iex_ ? segment_.append(message) : mold_.append(message);
  }
  // The message appended last, of `bytes`, where it lies in the packet. Of ITCH alone.
  std::span<const std::byte> last_message(std::size_t bytes) const noexcept {
    return iex_ ? std::span<const std::byte>() : mold_.packet().last(bytes);
  }
  std::uint16_t message_count() const noexcept {
    return iex_ ? segment_.message_count() : mold_.message_count();
  }
  std::span<const std::byte> finish() noexcept {
    return iex_ ? segment_.finish(static_cast<std::uint64_t>(clock::realtime_ns()))
                : mold_.finish();
  }
  // IEX-TP has no end of session: DEEP says it in a message. Heartbeats go on.
  std::span<const std::byte> finish_session() noexcept {
    return iex_ ? finish() : mold_.finish_session();
  }

 private:
  bool iex_;
  itch::mold::Session session_;
  itch::mold::PacketBuilder mold_;
  iex::SegmentBuilder segment_;
};

}  // namespace tickpath::sim

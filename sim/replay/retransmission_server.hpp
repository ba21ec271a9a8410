// Answers requests for messages that were lost ("MoldUDP64 Protocol Specification" 1.00, "Request
// Packet"), from a store of what the feed has sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/net/udp_socket.hpp"
#include "sim/replay/feed_line.hpp"

namespace tickpath::sim {

// The newest messages of a session, by sequence number. Datapath thread.
class MessageStore {
 public:
  // At most so many messages, of so many bytes together; memory is touched as it is used.
  MessageStore(std::size_t messages, std::size_t bytes);

  // Sequence numbers are given out from 1 on, one a call.
  void append(std::span<const std::byte> message) noexcept;
  // Empty: not sent yet, or no longer kept.
  std::span<const std::byte> find(std::uint64_t sequence) const noexcept;
  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t next() const noexcept { return next_; }

 private:
  struct Place {
    std::uint64_t at;  // bytes since the start of time
    std::uint16_t bytes;
  };
  std::size_t capacity_;  // messages
  std::size_t bytes_;
  std::unique_ptr<Place[]> places_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t first_ = 1, next_ = 1;
  std::uint64_t end_ = 0;  // bytes since the start of time
};

struct RetransmissionOptions {
  net::Endpoint listen;
  std::size_t messages = 1u << 22;
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t packet_bytes = itch::mold::kMaxPacketBytes;
  // Messages for one address in a second; what is more waits. A request of 20 bytes is answered by
  // 1,400 and more: so much of it can be aimed at somebody by a forged sender, and no more.
  std::uint32_t rate = 500'000;
  double loss = 0;  // of answers, for tests of those who ask
  std::uint64_t seed = 1;
};

// Written by the datapath thread; any thread reads.
struct RetransmissionCounters {
  TICKPATH_COUNTERS(requests,
                    refused,     // malformed, of another session, or for what was never sent
                    not_kept,    // for messages older than the store
                    overloaded,  // more waited than kRequestsMax: dropped, whoever asked asks again
                    delayed,     // turns in which a requester had had its share
                    packets, messages,
                    lost,     // on purpose
                    failed);  // the kernel refused
};

// Constructor on the control thread (throws net::NetError), the rest on the datapath.
class RetransmissionServer {
 public:
  RetransmissionServer(const RetransmissionOptions& options, const itch::mold::Session& session);

  void append(std::span<const std::byte> message) noexcept { store_.append(message); }
  // Takes requests and answers some, so that the replay does not wait for it. True: any work.
  bool turn(TscTicks now) noexcept;

  int descriptor() const noexcept { return socket_.descriptor(); }
  net::Endpoint local() const noexcept { return socket_.local(); }
  const RetransmissionCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kRequestsMax = 64;
  static constexpr std::size_t kPacketsPerTurn = 8;
  // A part of a second: what may be answered at once after a silence.
  static constexpr std::uint64_t kBurstsPerSecond = 20;

  struct Request {
    net::Endpoint from;
    std::uint64_t next;  // sequence number
    std::uint64_t end;
  };
  // What an address may still have, in messages; refilled as time goes on.
  struct Share {
    std::uint32_t address = 0;
    double left = 0;
    TscTicks since{0};
  };
  Share& share_of(std::uint32_t address, TscTicks now) noexcept;
  void take_requests() noexcept;
  void accept(std::span<const std::byte> packet, const net::Endpoint& from) noexcept;
  bool answer(Request& request) noexcept;

  net::UdpSocket socket_;
  itch::mold::Session session_;
  MessageStore store_;
  LossModel loss_;
  std::array<std::byte, itch::mold::kMaxPacketBytes> buffer_{};
  itch::mold::PacketBuilder builder_;
  std::vector<Request> requests_;
  std::array<Share, kRequestsMax> shares_{};
  double burst_ = 0, per_tick_ = 0;  // messages  // oldest first; fixed capacity
  RetransmissionCounters counters_;
};

}  // namespace tickpath::sim

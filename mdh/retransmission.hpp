// Asks a retransmission server for lost messages ("MoldUDP64 Protocol Specification" 1.00, "Request
// Packet"): a request by UDP unicast, answered with downstream packets to where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/net/udp_socket.hpp"
#include "mdh/arbiter.hpp"

namespace tickpath::mdh {

// Datapath thread, but for the constructor and local().
class RetransmissionClient final : public RetransmitPort {
 public:
  // Throws net::NetError.
  RetransmissionClient(const net::Endpoint& server, std::size_t datagram_bytes);

  bool request(const itch::mold::Session& session, std::uint64_t from,
               std::uint16_t count) noexcept override;
  // Takes what was answered; valid until the next call. Looks at the socket only while an answer
  // may come. Number of packets.
  std::size_t poll(Arbiter& arbiter, TscTicks now) noexcept;
  // After a parked thread was woken: something may have come that nobody waits for any more.
  void look_once() noexcept { look_ = true; }

  int descriptor() const noexcept { return socket_.descriptor(); }
  net::Endpoint local() const noexcept { return socket_.local(); }
  const Counter& failed() const noexcept { return failed_; }  // sends and receives; any thread

 private:
  static constexpr std::size_t kPacketsPerTurn = 64;

  net::UdpSocket socket_;
  net::Endpoint server_;
  std::size_t datagram_bytes_;
  std::vector<std::byte> buffers_;
  bool look_ = false;
  Counter failed_;
};

}  // namespace tickpath::mdh

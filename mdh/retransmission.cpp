#include "mdh/retransmission.hpp"

#include <array>

namespace tickpath::mdh {

RetransmissionClient::RetransmissionClient(const net::Endpoint& server, std::size_t datagram_bytes)
    : socket_({.local = {}, .remote = server}),
      server_(server),
      datagram_bytes_(datagram_bytes),
      buffers_(kPacketsPerTurn * datagram_bytes) {}

bool RetransmissionClient::request(const itch::mold::Session& session, std::uint64_t from,
                                   std::uint16_t count) noexcept {
  std::array<std::byte, itch::mold::kHeaderBytes> packet;
  itch::mold::store_header({session, from, count}, packet.data());
  if (socket_.send(packet, server_) == net::IoStatus::kOk) return true;
  failed_.add();
  return false;
}

std::size_t RetransmissionClient::poll(Arbiter& arbiter, TscTicks now) noexcept {
  if (!arbiter.asking() && !look_) [[likely]]
    return 0;
  look_ = false;
  std::size_t packets = 0;
  while (packets < kPacketsPerTurn) {
    const std::span<std::byte> buffer =
        std::span(buffers_).subspan(packets * datagram_bytes_, datagram_bytes_);
    std::size_t size = 0;
    net::Endpoint from;
    const net::IoStatus status = socket_.receive(buffer, size, from);
    if (status == net::IoStatus::kWouldBlock) break;
    if (status == net::IoStatus::kFailed) {  // nobody listens there: the request will time out
      failed_.add();
      break;
    }
    if (status == net::IoStatus::kTruncated) continue;
    arbiter.collect(Line::kRetransmission, buffer.first(size), {0, now});
    ++packets;
  }
  return packets;
}

}  // namespace tickpath::mdh

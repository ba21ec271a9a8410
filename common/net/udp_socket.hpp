// Unicast UDP sockets: requests and answers beside a multicast feed.
//
// Linux, IPv4. The constructor throws NetError with cause and remedy; the rest is noexcept,
// non-blocking and allocation-free: datapath. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"
#include "common/net/multicast.hpp"

namespace tickpath::net {

class UdpSocket {
 public:
  struct Options {
    Endpoint local;   // port 0: any
    Endpoint remote;  // only from and to here; port 0: whoever writes
    int receive_buffer_bytes = 1 << 20;
    int send_buffer_bytes = 1 << 20;
  };
  explicit UdpSocket(const Options& options);

  // `to` is ignored by a socket with a remote endpoint.
  [[nodiscard]] IoStatus send(std::span<const std::byte> datagram, const Endpoint& to) noexcept;
  // kOk and kTruncated fill `size` and `from`.
  [[nodiscard]] IoStatus receive(std::span<std::byte> buffer, std::size_t& size,
                                 Endpoint& from) noexcept;

  // Where it is bound: with local port 0, the port that the kernel chose.
  Endpoint local() const noexcept;
  int last_errno() const noexcept { return last_errno_; }
  int descriptor() const noexcept { return socket_.get(); }

 private:
  FileDescriptor socket_;
  bool connected_;
  int last_errno_ = 0;
};

}  // namespace tickpath::net

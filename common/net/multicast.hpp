// UDP multicast: the market data path's sockets.
//
// Linux, IPv4. Set-up throws NetError with cause and remedy; send() and receive() are noexcept,
// non-blocking and allocation-free: datapath. One thread at a time uses a socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"
#include "common/net/line_factory.hpp"

namespace tickpath::net {

enum class IoStatus : std::uint8_t {
  kOk = 0,
  kWouldBlock = 1,  // receive: nothing there; send: the socket buffer is full
  kTruncated = 2,   // receive: the datagram was longer than the buffer; its start is delivered
  kFailed = 3,      // see last_errno()
};

struct ReceiverOptions {
  Endpoint group;         // to bind and join, 239.1.1.1:26400
  std::string interface;  // local address to join on, "127.0.0.1"; never empty
  // The sender, by address: the kernel drops what comes from others (RFC 4607). 0: anyone may send.
  // Whose port it is, ReceiveBatch::sender() tells.
  std::uint32_t source_address = 0;
  int receive_buffer_bytes = 4 << 20;  // SO_RCVBUF; the kernel limits it to net.core.rmem_max
  int busy_poll_us = 0;                // SO_BUSY_POLL: > 0 needs a NIC that has it
  bool kernel_timestamps = true;       // SO_TIMESTAMPNS
  bool shared_port = true;  // SO_REUSEADDR: several processes of this host may join the same group
};

struct Datagram {
  std::span<const std::byte> bytes;     // in the buffer given to receive()
  std::int64_t kernel_realtime_ns = 0;  // CLOCK_REALTIME at which the kernel took it; 0: unknown
};

class UdpMulticastReceiver {
 public:
  explicit UdpMulticastReceiver(const ReceiverOptions& options);

  // Takes one datagram into `buffer`. kOk and kTruncated fill `datagram`.
  [[nodiscard]] IoStatus receive(std::span<std::byte> buffer, Datagram& datagram) noexcept;

  // Datagrams that the kernel dropped because the socket's buffer was full (SO_RXQ_OVFL), as of
  // the datagram received last.
  std::uint64_t dropped() const noexcept { return dropped_; }
  int last_errno() const noexcept { return last_errno_; }
  // What the kernel granted; half of what it accounts for, like the value asked for.
  int receive_buffer_bytes() const noexcept { return receive_buffer_bytes_; }
  // To poll() or epoll on; -1 on a line of net::LineFactory.
  int descriptor() const noexcept { return socket_.get(); }

 private:
  friend class ReceiveBatch;
  void take_control_messages(msghdr& header, Datagram& datagram) noexcept;

  std::shared_ptr<MemoryLine> line_;  // in place of the socket; nullptr in a live program
  FileDescriptor socket_;
  std::uint64_t dropped_ = 0;
  std::uint32_t last_overflow_ = 0;
  int last_errno_ = 0;
  int receive_buffer_bytes_ = 0;
};

// A datagram's sender as a number, for comparing alone; never 0.
std::uint64_t sender_key(const Endpoint& sender) noexcept;
Endpoint sender_of(std::uint64_t key) noexcept;

// Takes up to `capacity` datagrams in one system call (recvmmsg), into buffers of its own. What a
// burst costs falls from a call a packet to a call a batch.
class ReceiveBatch {
 public:
  // Allocates capacity x datagram_bytes. capacity 1 to 1024 (CHECK).
  ReceiveBatch(std::size_t capacity, std::size_t datagram_bytes);

  // Number of datagrams taken; 0: kWouldBlock or kFailed, told by `status`.
  std::size_t receive(UdpMulticastReceiver& receiver, IoStatus& status) noexcept;
  // i < the last number returned; valid until the next receive().
  const Datagram& operator[](std::size_t i) const noexcept { return datagrams_[i]; }
  // Datagram i was longer than datagram_bytes: its end was cut off.
  bool truncated(std::size_t i) const noexcept {
    return (headers_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
  }
  // The key of datagram i's sender; 0 where there is only one (a line of net::LineFactory).
  std::uint64_t sender(std::size_t i) const noexcept {
    if (headers_[i].msg_hdr.msg_namelen < sizeof(sockaddr_in)) [[unlikely]]
      return 0;
    return key_of(senders_[i]);
  }

 private:
  // SCM_TIMESTAMPNS and SO_RXQ_OVFL with their headers, and room for one more.
  static constexpr std::size_t kControlBytes = 128;
  struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlBytes> bytes;
  };

  std::size_t receive_from(MemoryLine& line) noexcept;

  friend std::uint64_t sender_key(const Endpoint& sender) noexcept;
  // Family, port and address are the first eight bytes (ip(7)); the rest is padding.
  static std::uint64_t key_of(const sockaddr_in& address) noexcept {
    std::uint64_t key;
    std::memcpy(&key, &address, sizeof(key));
    return key;
  }

  std::size_t datagram_bytes_;
  std::vector<std::byte> buffers_;
  std::vector<sockaddr_in> senders_;
  std::vector<Control> controls_;
  std::vector<iovec> vectors_;
  std::vector<mmsghdr> headers_;
  std::size_t filled_ = 0;  // of them, by the last receive()
  std::vector<Datagram> datagrams_;
};

struct SenderOptions {
  Endpoint group;
  std::string interface;  // local address to send from, "127.0.0.1"; never empty
  // What receivers know the sender by, "127.0.0.1:7700": nobody else has it meanwhile. Port 0: any.
  Endpoint source{};
  int ttl = 0;       // 0 stays on this host
  bool loop = true;  // IP_MULTICAST_LOOP: receivers of this host get it too
  int send_buffer_bytes = 4 << 20;
};

class UdpMulticastSender {
 public:
  explicit UdpMulticastSender(const SenderOptions& options);

  // Sends one datagram, whole or not at all.
  [[nodiscard]] IoStatus send(std::span<const std::byte> datagram) noexcept;

  int last_errno() const noexcept { return last_errno_; }
  int descriptor() const noexcept { return socket_.get(); }

 private:
  std::shared_ptr<MemoryLine> line_;  // as the receiver's
  FileDescriptor socket_;
  int last_errno_ = 0;
};

}  // namespace tickpath::net

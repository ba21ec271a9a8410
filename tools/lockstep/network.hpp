// The network of a pipeline that runs inside one process: feed lines in memory, order sessions over
// Unix-domain sockets, in which bytes are with their receiver when the call that sent them returns.
// Both ends of every connection are here, so that what passes is seen, in order, and delivered at
// a time of the pipeline's choosing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/net/file_descriptor.hpp"
#include "common/net/line_factory.hpp"
#include "common/net/loopback_sockets.hpp"

namespace tickpath::lockstep {

// Datagrams in memory, first in, first out. Allocates at construction alone.
class PacketQueue {
 public:
  PacketQueue();
  // False: full.
  bool push(std::span<const std::byte> packet) noexcept;
  bool empty() const noexcept { return first_ == sizes_.size(); }
  std::size_t size() const noexcept { return sizes_.size() - first_; }
  // The next one; its bytes stay until the next push().
  std::span<const std::byte> pop() noexcept;

 private:
  static constexpr std::size_t kBytesMax = 8 << 20;
  static constexpr std::size_t kPacketsMax = 1 << 16;

  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> sizes_;
  std::size_t begin_ = 0;  // of the first packet's bytes
  std::size_t first_ = 0;  // of the sizes
};

// One thread. While it lives it is the process's net::line_factory().
class Network final : public net::LineFactory {
 public:
  Network();
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::shared_ptr<net::MemoryLine> sender(const net::Endpoint& group) override;
  std::shared_ptr<net::MemoryLine> receiver(const net::Endpoint& group) override;

  // A new order session between client and venue; the ends to give to them, which are theirs.
  struct Ends {
    int venue;
    int client;  // -1: nobody; what the venue says goes to the tap alone
  };
  Ends open_session(bool with_client);
  std::size_t sessions() const noexcept { return sessions_.size(); }

  using Bytes = std::span<const std::byte>;
  // Called with what passes; an empty span: the side has closed the connection.
  using Tap = std::function<void(std::uint8_t number, Bytes bytes)>;

  // What clients have sent is delivered to the venue. True if there was anything.
  bool deliver_to_venue(const Tap& tap);
  // What the venue has sent: packets of its lines, by the order in which the lines were opened,
  // then bytes of the sessions. True if there was anything.
  bool collect_from_venue(const Tap& packet, const Tap& bytes);
  // In place of a client.
  void inject(std::uint8_t session, Bytes bytes);
  // Everything delivered was taken, nothing waits here.
  bool idle() const noexcept;

 private:
  struct Line final : net::MemoryLine {
    bool send(Bytes datagram) noexcept override { return sent.push(datagram); }
    Bytes receive() noexcept override { return {}; }
    net::Endpoint group;
    PacketQueue sent;
  };
  struct Receiver final : net::MemoryLine {
    bool send(Bytes) noexcept override { return false; }
    Bytes receive() noexcept override {
      if (delivered == 0) return {};
      --delivered;
      return waiting.pop();
    }
    net::Endpoint group;
    PacketQueue waiting;
    std::size_t delivered = 0;  // of those: what its program may take
  };
  struct Session {
    net::FileDescriptor venue;
    net::FileDescriptor client;
    std::string to_venue;
    std::string to_client;
  };

  std::vector<std::shared_ptr<Line>> lines_;
  std::vector<std::shared_ptr<Receiver>> receivers_;
  net::LoopbackSockets sockets_;
  std::vector<Session> sessions_;
  std::vector<std::byte> buffer_;
};

}  // namespace tickpath::lockstep

// The network of a pipeline that runs inside one process: feed lines and order sessions over
// Unix-domain sockets, in which a message is with its receiver when the call that sent it returns.
// Both ends of every connection are here, so that what passes is seen, in order, and delivered at
// a time of the pipeline's choosing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/net/line_factory.hpp"

namespace tickpath::lockstep {

// One thread. While it lives it is the process's net::line_factory().
class Network final : public net::LineFactory {
 public:
  Network();
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  net::FileDescriptor sender(const net::Endpoint& group) override;
  net::FileDescriptor receiver(const net::Endpoint& group) override;

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
  struct Line {
    net::Endpoint group;
    net::FileDescriptor ours;  // the sender has the other end
  };
  struct Receiver {
    net::Endpoint group;
    net::FileDescriptor ours;
    std::deque<std::vector<std::byte>> waiting;
  };
  struct Session {
    net::FileDescriptor venue;
    net::FileDescriptor client;
    std::string to_venue;
    std::string to_client;
  };

  void forward_packets();

  std::vector<Line> lines_;
  std::vector<Receiver> receivers_;
  std::vector<Session> sessions_;
  std::vector<std::byte> buffer_;
};

}  // namespace tickpath::lockstep

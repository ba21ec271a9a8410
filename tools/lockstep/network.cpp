#include "tools/lockstep/network.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "common/base/error.hpp"

namespace tickpath::lockstep {
namespace {

// A datagram of the feed is shorter than an Ethernet jumbo frame; a read of a stream may be more.
constexpr std::size_t kBufferBytes = 65'536;

// Delivered to a receiver in one round. mdh takes feed.batch (16 by default, 1 at least) in a turn
// and is called again in the next round; the kernel holds some hundred.
constexpr int kPacketsPerRound = 16;

struct Pair {
  net::FileDescriptor ours;
  net::FileDescriptor theirs;
};

Pair connected_pair(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw SystemError("cannot open a pair of sockets", errno);
  // The kernel grants what it may; what finds no room waits on our side.
  const int bytes = 4 << 20;
  for (const int end : ends) (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  return {net::FileDescriptor(ends[0]), net::FileDescriptor(ends[1])};
}

// Sends what fits and keeps the rest. False: the peer is gone.
bool send_some(const net::FileDescriptor& to, std::string& waiting) {
  while (!waiting.empty()) {
    const ssize_t sent =
        ::send(to.get(), waiting.data(), waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    waiting.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Network::Network() : buffer_(kBufferBytes) { net::set_line_factory(this); }
Network::~Network() { net::set_line_factory(nullptr); }

net::FileDescriptor Network::sender(const net::Endpoint& group) {
  Pair pair = connected_pair(SOCK_SEQPACKET);
  lines_.push_back({group, std::move(pair.ours)});
  return std::move(pair.theirs);
}

net::FileDescriptor Network::receiver(const net::Endpoint& group) {
  Pair pair = connected_pair(SOCK_SEQPACKET);
  receivers_.push_back({group, std::move(pair.ours), {}});
  return std::move(pair.theirs);
}

Network::Ends Network::open_session(bool with_client) {
  Session session;
  Pair venue = connected_pair(SOCK_STREAM);
  session.venue = std::move(venue.ours);
  Ends ends{::dup(venue.theirs.get()), -1};
  if (with_client) {
    Pair client = connected_pair(SOCK_STREAM);
    session.client = std::move(client.ours);
    ends.client = ::dup(client.theirs.get());
  }
  sessions_.push_back(std::move(session));
  return ends;
}

void Network::inject(std::uint8_t session, Bytes bytes) {
  Session& to = sessions_.at(session);
  if (bytes.empty()) {
    to.venue = {};
    return;
  }
  to.to_venue.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  (void)send_some(to.venue, to.to_venue);
}

bool Network::deliver_to_venue(const Tap& tap) {
  bool any = false;
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    Session& session = sessions_[i];
    const auto number = static_cast<std::uint8_t>(i);
    while (session.client.get() >= 0) {
      const ssize_t got =
          ::recv(session.client.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got < 0) break;
      any = true;
      const Bytes bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
      tap(number, bytes);
      if (got == 0) {
        session.client = {};
        if (session.venue.get() >= 0) session.venue = {};
        break;
      }
      session.to_venue.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (session.venue.get() >= 0) (void)send_some(session.venue, session.to_venue);
  }
  return any;
}

bool Network::collect_from_venue(const Tap& packet, const Tap& tap) {
  bool any = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    for (;;) {
      const ssize_t got =
          ::recv(lines_[i].ours.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got <= 0) break;
      any = true;
      const Bytes bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
      packet(static_cast<std::uint8_t>(i), bytes);
      for (Receiver& receiver : receivers_)
        if (receiver.group == lines_[i].group)
          receiver.waiting.emplace_back(bytes.begin(), bytes.end());
    }
  }
  forward_packets();
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    Session& session = sessions_[i];
    while (session.venue.get() >= 0) {
      const ssize_t got = ::recv(session.venue.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got < 0) break;
      any = true;
      const Bytes bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
      tap(static_cast<std::uint8_t>(i), bytes);
      if (got == 0) {
        // What it said before comes first.
        if (session.client.get() >= 0) (void)send_some(session.client, session.to_client);
        session.venue = {};
        session.client = {};
        break;
      }
      if (session.client.get() >= 0)
        session.to_client.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (session.client.get() >= 0) (void)send_some(session.client, session.to_client);
  }
  return any;
}

void Network::forward_packets() {
  for (Receiver& receiver : receivers_) {
    for (int i = 0; i < kPacketsPerRound && !receiver.waiting.empty(); ++i) {
      const std::vector<std::byte>& packet = receiver.waiting.front();
      if (::send(receiver.ours.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) <
          0)
        break;
      receiver.waiting.pop_front();
    }
  }
}

bool Network::idle() const noexcept {
  for (const Receiver& receiver : receivers_)
    if (!receiver.waiting.empty()) return false;
  for (const Session& session : sessions_)
    if (!session.to_venue.empty() || !session.to_client.empty()) return false;
  return true;
}

}  // namespace tickpath::lockstep

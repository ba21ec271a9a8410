#include "tools/lockstep/network.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "common/base/error.hpp"

namespace tickpath::lockstep {
namespace {

// Bytes of a stream that are read at once.
constexpr std::size_t kBufferBytes = 65'536;

// Delivered to a receiver in one round. mdh takes feed.batch (16 by default, 1 at least) in a turn
// and is called again in the next round.
constexpr std::size_t kPacketsPerRound = 16;

struct Pair {
  net::FileDescriptor ours;
  net::FileDescriptor theirs;
};

Pair connected_pair(net::LoopbackSockets& sockets) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw SystemError("cannot open a pair of sockets", errno);
  // The kernel grants what it may; what finds no room waits on our side.
  const int bytes = 4 << 20;
  for (const int end : ends) (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  sockets.join(ends[0], ends[1]);
  return {net::FileDescriptor(ends[0]), net::FileDescriptor(ends[1])};
}

// -1: there is nothing; 0: the peer has closed.
ssize_t receive(const net::FileDescriptor& from, std::span<std::byte> buffer) noexcept {
  if (net::LoopbackSockets::known_empty(from.get())) return -1;
  const ssize_t got = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) net::LoopbackSockets::note_empty(from.get());
  return got;
}

void close(net::FileDescriptor& end) noexcept {
  net::LoopbackSockets::forget(end.get());
  end = {};
}

// Sends what fits and keeps the rest. False: the peer is gone.
bool send_some(const net::FileDescriptor& to, std::string& waiting) {
  while (!waiting.empty()) {
    const ssize_t sent =
        ::send(to.get(), waiting.data(), waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    net::LoopbackSockets::note_written(to.get());
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    waiting.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

PacketQueue::PacketQueue() {
  bytes_.reserve(kBytesMax);
  sizes_.reserve(kPacketsMax);
}

bool PacketQueue::push(std::span<const std::byte> packet) noexcept {
  if (empty()) {
    bytes_.clear();
    sizes_.clear();
    begin_ = first_ = 0;
  } else if (bytes_.size() + packet.size() > kBytesMax || sizes_.size() == kPacketsMax) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    sizes_.erase(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(first_));
    begin_ = first_ = 0;
  }
  if (bytes_.size() + packet.size() > kBytesMax || sizes_.size() == kPacketsMax) return false;
  bytes_.insert(bytes_.end(), packet.begin(), packet.end());
  sizes_.push_back(static_cast<std::uint32_t>(packet.size()));
  return true;
}

std::span<const std::byte> PacketQueue::pop() noexcept {
  const std::uint32_t size = sizes_[first_++];
  const std::span<const std::byte> packet = std::span(bytes_).subspan(begin_, size);
  begin_ += size;
  return packet;
}

Network::Network() : buffer_(kBufferBytes) { net::set_line_factory(this); }
Network::~Network() { net::set_line_factory(nullptr); }

std::shared_ptr<net::MemoryLine> Network::sender(const net::Endpoint& group) {
  lines_.push_back(std::make_shared<Line>());
  lines_.back()->group = group;
  return lines_.back();
}

std::shared_ptr<net::MemoryLine> Network::receiver(const net::Endpoint& group) {
  receivers_.push_back(std::make_shared<Receiver>());
  receivers_.back()->group = group;
  return receivers_.back();
}

Network::Ends Network::open_session(bool with_client) {
  Session session;
  Pair venue = connected_pair(sockets_);
  session.venue = std::move(venue.ours);
  Ends ends{venue.theirs.release(), -1};
  if (with_client) {
    Pair client = connected_pair(sockets_);
    session.client = std::move(client.ours);
    ends.client = client.theirs.release();
  }
  sessions_.push_back(std::move(session));
  return ends;
}

void Network::inject(std::uint8_t session, Bytes bytes) {
  Session& to = sessions_.at(session);
  if (bytes.empty()) {
    close(to.venue);
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
      const ssize_t got = receive(session.client, buffer_);
      if (got < 0) break;
      any = true;
      const Bytes bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
      tap(number, bytes);
      if (got == 0) {
        close(session.client);
        close(session.venue);
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
    while (!lines_[i]->sent.empty()) {
      any = true;
      const Bytes bytes = lines_[i]->sent.pop();
      packet(static_cast<std::uint8_t>(i), bytes);
      for (const auto& receiver : receivers_)
        if (receiver->group == lines_[i]->group && !receiver->waiting.push(bytes))
          throw Error("a receiver of the feed is " + std::to_string(receiver->waiting.size()) +
                      " packets behind");
    }
  }
  for (const auto& receiver : receivers_)
    receiver->delivered =
        std::min(receiver->waiting.size(), receiver->delivered + kPacketsPerRound);
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    Session& session = sessions_[i];
    while (session.venue.get() >= 0) {
      const ssize_t got = receive(session.venue, buffer_);
      if (got < 0) break;
      any = true;
      const Bytes bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
      tap(static_cast<std::uint8_t>(i), bytes);
      if (got == 0) {
        // What it said before comes first.
        if (session.client.get() >= 0) (void)send_some(session.client, session.to_client);
        close(session.venue);
        close(session.client);
        break;
      }
      if (session.client.get() >= 0)
        session.to_client.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (session.client.get() >= 0) (void)send_some(session.client, session.to_client);
  }
  return any;
}

bool Network::idle() const noexcept {
  for (const auto& receiver : receivers_)
    if (receiver->waiting.size() != receiver->delivered) return false;
  for (const Session& session : sessions_)
    if (!session.to_venue.empty() || !session.to_client.empty()) return false;
  return true;
}

}  // namespace tickpath::lockstep

#include "tests/support/relay.hpp"

#include <algorithm>
#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::test_support {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// SO_LINGER of 0 s: a reset, and nothing that is still on its way arrives (socket(7), tcp(7)).
void reset(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(socket);
}

bool send_all(int socket, const char* bytes, std::size_t length) {
  while (length != 0) {
    const ssize_t sent = ::send(socket, bytes, length, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    length -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

Relay::Relay(std::uint16_t target_port) : target_port_(target_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw SystemError("cannot listen", errno);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  end_.store(true);
  thread_.join();
  reset_all();
  ::close(listener_);
}

void Relay::run() {
  constexpr int kLookMs = 5;  // at end_
  while (!end_.load()) {
    std::vector<pollfd> sockets{{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_)
      for (const int end : pair.ends) sockets.push_back({end, POLLIN, 0});
    if (left_.load() == 0 || (closed_.load() && !pairs_.empty())) {
      reset_all();
      continue;
    }
    if (::poll(sockets.data(), sockets.size(), kLookMs) <= 0) continue;
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      bool open = true;
      for (std::size_t from = 0; from < 2 && open; ++from)
        if (sockets[1 + 2 * i + from].revents != 0) open = pass(pairs_[i], static_cast<int>(from));
      if (open) kept.push_back(pairs_[i]);
    }
    pairs_ = kept;
    if (sockets[0].revents != 0) accept_one();
  }
}

void Relay::accept_one() {
  const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (near < 0) return;
  if (closed_.load()) return reset(near);
  const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(target_port_);
  if (::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(far);
    return reset(near);
  }
  const int on = 1;
  for (const int end : {near, far}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  pairs_.push_back({{near, far}});
}

bool Relay::pass(Pair& pair, int from) {
  char bytes[4096];
  const ssize_t count = ::recv(pair.ends[from], bytes, sizeof(bytes), 0);
  std::size_t length = count > 0 ? static_cast<std::size_t>(count) : 0;
  const std::uint64_t left = left_.load();
  if (left != kNever) {
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, left));
    left_.store(left - length);
  }
  if (count > 0 && send_all(pair.ends[1 - from], bytes, length)) return true;
  for (const int end : pair.ends) ::close(end);
  return false;
}

void Relay::reset_all() {
  if (!pairs_.empty()) ++cuts_;
  for (const Pair& pair : pairs_)
    for (const int end : pair.ends) reset(end);
  pairs_.clear();
  left_.store(kNever);
}

}  // namespace tickpath::test_support

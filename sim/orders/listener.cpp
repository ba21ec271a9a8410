#include "sim/orders/listener.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/log/log.hpp"
#include "common/net/endpoint.hpp"

namespace tickpath::sim {
namespace {

// Connections that wait to be accepted: an oeg makes one, this is for those that should not. Where
// they are too many the kernel lets each newcomer try again, after a second.
constexpr int kBacklog = 128;
constexpr std::chrono::milliseconds kAcceptPause{100};

[[noreturn]] void fail(const config::Address& address, const std::string& key, const char* what) {
  const int error = errno;
  std::string text = "cannot " + std::string(what) + " " + config::format_address(address) + " (" +
                     key + "): " + std::strerror(error);
  if (error == EADDRINUSE)
    text +=
        ": another program listens there, perhaps a sim that still runs; stop it (`ss -ltnp` "
        "shows it) or configure another port";
  if (error == EADDRNOTAVAIL) text += ": the address is not of this host";
  throw Error(text);
}

}  // namespace

Listener::Listener(const config::Address& address, const std::string& key,
                   std::function<void(int)> accepted)
    : accepted_(std::move(accepted)),
      socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  if (socket_.get() < 0) fail(address, key, "open a socket for");
  const int on = 1;
  // A restarted exchange must not wait for the connections of the one before to time out.
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const net::Endpoint endpoint{net::parse_address(address.host, key), address.port};
  const sockaddr_in at = endpoint.to_sockaddr();
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    fail(address, key, "bind to");
  if (::listen(socket_.get(), kBacklog) != 0) fail(address, key, "listen on");
}

void Listener::start(control::Runtime& runtime) {
  runtime_ = &runtime;
  watch_ = runtime.watch(socket_.get(), [this] { accept_all(); });
}

void Listener::accept_all() {
  for (;;) {
    const int connection = ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause(errno);
      return;
    }
    accepted_(connection);
  }
}

// Whoever waits to be accepted keeps the socket readable: to look again at once would only spin.
void Listener::pause(int error) {
  accept_failures_.add();
  if (budget_.take(LogBudget::Clock::now()))
    log::warning("cannot accept an order connection: {}; tried again every {} ms",
                 std::strerror(error), kAcceptPause.count());
  watch_.cancel();
  pause_ = runtime_->after(kAcceptPause, [this] { start(*runtime_); });
}

}  // namespace tickpath::sim

#include "oeg/venue_connector.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock/clock.hpp"
#include "common/log/log.hpp"

namespace tickpath::oeg {
namespace {

// A peer that accepts no connection in this time is as good as away.
constexpr std::int64_t kAttemptNs = 5'000'000'000;
// Between a socket handed over and the datapath's word that it is in use.
constexpr std::int64_t kHandoverNs = 200'000'000;

}  // namespace

VenueConnector::VenueConnector(control::Runtime& runtime, config::Address address,
                               net::PeerRule venue, std::int64_t pause_ns,
                               std::int64_t pause_max_ns, std::function<bool(int)> use)
    : runtime_(runtime),
      address_(std::move(address)),
      venue_(std::move(venue)),
      pause_ns_(pause_ns),
      logon_pauses_(pause_ns, pause_max_ns, static_cast<std::uint32_t>(clock::realtime_ns())),
      use_(std::move(use)) {}

VenueConnector::~VenueConnector() {
  if (socket_ >= 0) ::close(socket_);
}

void VenueConnector::tick(bool wanted, bool logged_on) {
  if (runtime_.stopping()) return;
  if (logged_on) logon_pauses_.reset();
  if (socket_ >= 0)
    check();
  else if (wanted && clock::monotonic_ns() >= next_try_ns_)
    start();
}

void VenueConnector::start() {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status =
      ::getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found);
  if (status != 0) return fail(std::string("cannot resolve: ") + ::gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return fail(std::strerror(errno));
  started_ns_ = clock::monotonic_ns();
  if (::connect(socket_, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    return fail(std::strerror(errno));
  check();
}

void VenueConnector::check() {
  pollfd ready{socket_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) {
    if (clock::monotonic_ns() - started_ns_ > kAttemptNs) fail("no answer");
    return;
  }
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return fail(std::strerror(error));
  if (const std::string why = venue_.refusal_of_server(socket_); !why.empty())
    return fail("what listens there is not the venue: " + why);
  const int connected = std::exchange(socket_, -1);
  next_try_ns_ = clock::monotonic_ns() + std::max(kHandoverNs, logon_pauses_.next());
  last_error_.clear();
  logged_error_.clear();
  log::info("connected to the venue at {}", config::format_address(address_));
  if (!use_(connected)) ::close(connected);
}

void VenueConnector::fail(const std::string& why) {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  next_try_ns_ = clock::monotonic_ns() + pause_ns_;
  last_error_ = "cannot connect to the venue at " + config::format_address(address_) + ": " + why;
  if (last_error_ == logged_error_) return;  // once, not at every try
  logged_error_ = last_error_;
  log::warning("{}; trying again", last_error_);
}

}  // namespace tickpath::oeg

#include "oeg/venue_connector.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock/clock.hpp"
#include "common/log/log.hpp"
#include "common/net/endpoint.hpp"

namespace tickpath::oeg {
namespace {

// A peer that accepts no connection in this time is as good as away.
constexpr std::int64_t kAttemptNs = 5'000'000'000;
// Between a socket handed over and the datapath's word that it is in use.
constexpr std::int64_t kHandoverNs = 200'000'000;

}  // namespace

using boost::asio::ip::tcp;

struct VenueConnector::Resolver {
  explicit Resolver(boost::asio::io_context& io) : names(io) {}
  tcp::resolver names;
};

VenueConnector::VenueConnector(control::Runtime& runtime, config::Address address,
                               net::PeerRule venue, std::int64_t pause_ns,
                               std::int64_t pause_max_ns, std::function<bool(int)> use)
    : runtime_(runtime),
      address_(std::move(address)),
      venue_(std::move(venue)),
      pause_ns_(pause_ns),
      logon_pauses_(pause_ns, pause_max_ns, static_cast<std::uint32_t>(clock::realtime_ns())),
      use_(std::move(use)),
      resolver_(std::make_unique<Resolver>(runtime.io())) {}

VenueConnector::~VenueConnector() {
  if (socket_ >= 0) ::close(socket_);
}

void VenueConnector::tick(bool wanted, std::uint64_t logons) {
  if (runtime_.stopping()) return;
  if (logons != std::exchange(logons_, logons)) {
    logon_pauses_.reset();
    // The pause that began with this connection is as short as that of a first one.
    next_try_ns_ = std::min(next_try_ns_, connected_ns_ + std::max(kHandoverNs, pause_ns_));
  }
  if (socket_ >= 0)
    check();
  else if (wanted && !resolving_ && clock::monotonic_ns() >= next_try_ns_)
    start();
}

void VenueConnector::start() {
  boost::system::error_code is_name;
  const auto numeric = boost::asio::ip::make_address_v4(address_.host, is_name);
  if (is_name) return resolve();
  connect_to(numeric.to_uint());
}

// Where no name server answers a look-up takes seconds: Asio has a thread for it, commands are
// answered meanwhile.
void VenueConnector::resolve() {
  resolving_ = true;
  resolver_->names.async_resolve(
      tcp::v4(), address_.host, std::to_string(address_.port), tcp::resolver::numeric_service,
      [this](const boost::system::error_code& error, const tcp::resolver::results_type& found) {
        if (error == boost::asio::error::operation_aborted) return;  // we may be gone
        resolving_ = false;
        if (error) return fail("cannot resolve: " + error.message());
        connect_to(found.begin()->endpoint().address().to_v4().to_uint());
      });
}

void VenueConnector::connect_to(std::uint32_t address) {
  const sockaddr_in at = net::Endpoint{address, address_.port}.to_sockaddr();
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return fail(std::strerror(errno));
  started_ns_ = clock::monotonic_ns();
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
      errno != EINPROGRESS)
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
  connected_ns_ = clock::monotonic_ns();
  next_try_ns_ = connected_ns_ + std::max(kHandoverNs, logon_pauses_.next());
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

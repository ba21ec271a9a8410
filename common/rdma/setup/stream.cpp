#include "common/rdma/setup/stream.hpp"

#include <atomic>
#include <charconv>
#include <future>

namespace tickpath::rdma::detail {
namespace {

SetupCause cause_of(net::SecureCause cause) {
  switch (cause) {
    case net::SecureCause::kUnreachable:
    case net::SecureCause::kClosed:
    case net::SecureCause::kRefused:
    case net::SecureCause::kOverload:
      return SetupCause::kRefused;
    case net::SecureCause::kTimeout:
      return SetupCause::kTimeout;
    case net::SecureCause::kNotTls:
    case net::SecureCause::kFrame:
      return SetupCause::kProtocol;
    case net::SecureCause::kSystem:
      return SetupCause::kSystem;
    default:
      return SetupCause::kPermission;
  }
}

// The stream, or the reason why there is none. No exception: the count of an exception_ptr's owners
// is in libstdc++.so, where ThreadSanitizer does not see it, and takes the last owner for a race.
struct Outcome {
  std::shared_ptr<net::SecureStream> stream;
  SetupCause cause{};
  std::string failure;
};

// Where the background thread leaves it.
struct Arrival {
  std::promise<Outcome> promise;
  std::atomic<bool> abandoned{false};
};

}  // namespace

HostPort parse_host_port(const std::string& endpoint, const std::string& provider) {
  const std::size_t colon = endpoint.rfind(':');
  HostPort result;
  const char* end = endpoint.data() + endpoint.size();
  bool has_port = colon != std::string::npos && colon != 0 && colon + 1 != endpoint.size();
  if (has_port) {
    const auto parsed = std::from_chars(endpoint.data() + colon + 1, end, result.port);
    has_port = parsed.ec == std::errc() && parsed.ptr == end;
  }
  if (!has_port) {
    throw SetupError(SetupCause::kAddress,
                     "\"" + endpoint + "\" is no endpoint of the " + provider +
                         " provider: host:port is needed, for example 10.0.0.1:7471");
  }
  result.host = endpoint.substr(0, colon);
  if (result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  return result;
}

std::string peer_text(const net::SecurePeer& peer, std::uint32_t process_id) {
  return (peer.authenticated ? peer.role + ", " : std::string()) + "process " +
         std::to_string(process_id) + " at " + peer.address;
}

std::shared_ptr<net::SecureStream> open_setup_stream(
    boost::asio::io_context& io, const std::shared_ptr<const net::SecureContext>& security,
    const ConnectParameters& parameters, const std::string& provider,
    const SetupDeadline& deadline) {
  const HostPort where = parse_host_port(parameters.endpoint, provider);
  auto arrival = std::make_shared<Arrival>();
  std::future<Outcome> future = arrival->promise.get_future();
  net::StreamLimits limits;
  limits.setup_timeout_ms = parameters.timeout_ms;
  net::secure_connect(
      io, security, {where.host, where.port, parameters.peer_role},
      [arrival, endpoint = parameters.endpoint](const net::SecureFailure& failure,
                                                std::shared_ptr<net::SecureStream> stream) {
        if (failure) {
          arrival->promise.set_value({nullptr, cause_of(failure.cause),
                                      "cannot connect to " + endpoint + ": " + failure.text});
        } else if (arrival->abandoned.load()) {
          stream->close();
        } else {
          arrival->promise.set_value({std::move(stream), {}, {}});
        }
      },
      limits);
  while (future.wait_until(deadline.next_look()) != std::future_status::ready) {
    if (!deadline.over()) continue;
    arrival->abandoned.store(true);
    throw SetupError(SetupCause::kTimeout, "timed out connecting to " + parameters.endpoint);
  }
  Outcome outcome = future.get();
  if (outcome.stream == nullptr) throw SetupError(outcome.cause, outcome.failure);
  return std::move(outcome.stream);
}

}  // namespace tickpath::rdma::detail

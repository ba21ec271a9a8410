// The authenticated stream over which a connection is set up, and where it leads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/net/secure_stream.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// "host:port", "[::1]:port". Throws SetupError{kAddress}.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// provider: for the text of the error.
HostPort parse_host_port(const std::string& endpoint, const std::string& provider);

// "process 4711 at 10.77.0.2:51423", "risk, process 4711 at ..." once a role is proven.
std::string peer_text(const net::SecurePeer& peer, std::uint32_t process_id);

// Connects to parameters.endpoint as parameters.peer_role; blocks. `io` is run by another thread.
// Throws SetupError.
std::shared_ptr<net::SecureStream> open_setup_stream(
    boost::asio::io_context& io, const std::shared_ptr<const net::SecureContext>& security,
    const ConnectParameters& parameters, const std::string& provider,
    const SetupDeadline& deadline);

}  // namespace tickpath::rdma::detail

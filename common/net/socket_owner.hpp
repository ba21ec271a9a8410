// Whose program holds a TCP socket of this host, as the kernel tells everybody in /proc/net/tcp.
// Control threads: it reads the list of all sockets.
#pragma once

#include <optional>

#include <sys/types.h>

#include "common/net/endpoint.hpp"

namespace tickpath::net {

// The user of the socket that is bound to `local` and connected to `remote`; seen from the other
// end: its peer and itself. Empty: none here, or its program has closed it already.
std::optional<uid_t> socket_owner(const Endpoint& local, const Endpoint& remote);

// The user of the socket that listens at `endpoint`, or at its port of every address.
std::optional<uid_t> listener_owner(const Endpoint& endpoint);

}  // namespace tickpath::net

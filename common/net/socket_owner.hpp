// Whose program holds a TCP socket of this host, as the kernel tells everybody. Control threads.
#pragma once

#include <optional>

#include <sys/types.h>

#include "common/net/endpoint.hpp"

namespace tickpath::net {

// The user of the socket that is bound to `local` and connected to `remote`; seen from the other
// end: its peer and itself. Empty: none here, or its program has closed it already. Asks for this
// one socket (sock_diag(7)): some microseconds, however many there are.
std::optional<uid_t> socket_owner(const Endpoint& local, const Endpoint& remote);

// The user of the socket that listens at `endpoint`, or at its port of every address. Likewise.
std::optional<uid_t> listener_owner(const Endpoint& endpoint);

// The same from the list of all sockets (/proc/net/tcp), for kernels without sock_diag: takes as
// long as the list.
std::optional<uid_t> listed_socket_owner(const Endpoint& local, const Endpoint& remote);
std::optional<uid_t> listed_listener_owner(const Endpoint& endpoint);

}  // namespace tickpath::net

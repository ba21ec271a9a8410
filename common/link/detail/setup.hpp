// Checks that both sides of every pattern make at connection set-up. Control thread.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "common/link/handshake.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// The peer's link part, compatible with ours; throws rdma::SetupError{kProtocol} otherwise.
LinkPart require_part(std::span<const std::byte> hello, const LinkPart& ours);

// Index of the first region that the peer's program, not its pattern, granted. Throws when the
// number of regions is not what the peer announced.
std::size_t first_extra(const rdma::QueuePair& pair, const LinkPart& theirs,
                        std::size_t pattern_grants);

// Throws unless the region has at least `bytes` and `access`.
void require_region(const rdma::RemoteRegion& region, std::size_t bytes, rdma::AccessFlags access,
                    const char* what);

// Runs `accept`; a SetupError is told to the peer, too, and then passed on.
template <class Accept>
auto accept_or_reject(rdma::ConnectionRequest& request, Accept&& accept) {
  try {
    return std::forward<Accept>(accept)();
  } catch (const rdma::SetupError& error) {
    request.reject(error.what());
    throw;
  }
}

}  // namespace tickpath::link

// What one of a pair READs and says before its datapath runs. Control thread; each waits.
#pragma once

#include <cstdint>
#include <string>

#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {

// So many bytes of what the peer granted. Throws Error.
std::string read_all(rdma::Device& device, link::Connection& connection,
                     const rdma::RemoteRegion& region, std::uint64_t bytes);
// Says to a witness that this oeg, at place 2, remembers no leader. Throws Error.
void say_newcomer(rdma::Device& device, link::Connection& connection,
                  const rdma::RemoteRegion& block);

}  // namespace tickpath::oeg

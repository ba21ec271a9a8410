// How connections that carry sinks alone are set up. Control thread.
#pragma once

#include "common/base/cpu.hpp"
#include "common/link/handshake.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

inline constexpr std::uint32_t kTableSendDepth = 64;

inline LinkPart tables_part(std::size_t extras) {
  LinkPart part;
  part.pattern = Pattern::kTables;
  part.extra_grants = static_cast<std::uint32_t>(extras);
  return part;
}

inline rdma::QueuePairOptions table_options() {
  rdma::QueuePairOptions options;
  options.send_depth = kTableSendDepth;
  options.message_bytes_max = kCacheLineBytes;
  options.receive_depth = 1;  // nothing is sent on such a connection
  return options;
}

}  // namespace tickpath::link

// What it costs to know that an entry stands at the standby, by what proves it.
#pragma once

#include <cstdint>

#include "common/rdma/rdma.hpp"

namespace tickpath::bench {

struct PlacementOptions {
  rdma::DeviceOptions device;
  std::string endpoint;  // where the standby's log is offered: the writer listens
  std::uint32_t rounds = 100'000;
  int standby_cpu = -1;  // where its thread runs; -1: anywhere. The writer's is the caller's.
};

// Prints the table. Throws Error.
void print_placement(const PlacementOptions& options);

}  // namespace tickpath::bench

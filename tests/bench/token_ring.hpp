// Processes that pass one token around a ring: the shape of the whole pipeline on one host, and the
// measure of how its programs wait.
#pragma once

#include <cstddef>

#include "common/control/common_config.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::bench {

inline constexpr std::size_t kProcessesMax = 16;

struct RingResult {
  Samples samples;              // one a round through all processes
  control::WaitMode effective;  // what auto chose
};

// count: 2 to kProcessesMax, this process included.
RingResult run_token_ring(control::WaitMode mode, std::size_t count, std::size_t rounds);

}  // namespace tickpath::bench

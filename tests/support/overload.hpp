// The five programs with one strategy that asks for orders at a rate (plugins/flood.cpp).
#pragma once

#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {

struct OverloadResult {
  Finished up;
  std::uint64_t sent = 0;      // orders that oeg took from the strategy
  std::uint64_t answered = 0;  // of those, accepted or rejected by the venue
  std::uint64_t refused = 0;   // by oeg
  std::string reasons;         // of it, the log's lines
  std::uint64_t reports_dropped = 0;
  std::uint64_t cut_off = 0;  // times that oeg threw the strategy out
  double seconds = 0;         // for which was asked
  double goodput() const noexcept { return static_cast<double>(answered) / seconds; }
};

// One plugin instead of the demo's, which asks for `rate` orders a second for so many seconds; no
// limit but what the programs can take. To be added to the arguments of `tickpath up`.
std::vector<std::string> flood(const PipelineFolder& folder, std::uint64_t rate, int seconds);

// Runs the pipeline with it.
OverloadResult run_overload(const PipelineFolder& folder, std::uint64_t rate, int seconds);

}  // namespace tickpath::test_support

// What `tickpath lat` and `tickpath bw` have in common on their command lines.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/perf.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

struct PerfArguments {
  rdma::perf::PerfOptions options;
  std::vector<std::string> operations;
  std::vector<int> cpus;
  std::string pace;  // empty: the tool's own
  std::string save, baseline;
  double tolerance_percent = 25;
  bool all_sizes = false, server = false, forever = false, fork = false, json = false;
};

// Options that both tools understand.
void add_perf_options(CLI::App& command, PerfArguments& arguments);

// --server: serves, and prints who came. Returns when its time is over.
void run_perf_server(const PerfArguments& arguments);

// Makes options definite and measures. Throws Error, SetupError.
rdma::perf::PerfReport run_perf_client(PerfArguments& arguments);

// --save and --baseline, on the JSON of either tool. Prints the comparison (to stderr if the
// standard output holds JSON) and throws Error if a row is worse than tolerated: exit status 1.
void compare_and_save(const PerfArguments& arguments, const std::string& json);

}  // namespace tickpath::cli

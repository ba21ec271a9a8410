// The fabric's latencies beside the bare cache-line ping-pong: what `tickpath lat` prints.
//   fabric_lat [--quick] [--json]
#include <cstdio>
#include <cstring>

#include "common/base/cpu.hpp"
#include "tools/perf/perf.hpp"

int main(int argc, char** argv) {
  namespace perf = tickpath::rdma::perf;
  perf::PerfOptions options;
  options.tool = perf::PerfTool::kBesideFloor;
  options.pace = -1;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      options.iterations = 2'000;
      options.warmup = 100;
      options.rounds = 2;
    }
    json = json || std::strcmp(argv[i], "--json") == 0;
  }
  try {
    if (tickpath::allowed_cpus().size() < 2) {
      std::puts("skipped: two CPUs are needed");
      return 0;
    }
    const perf::PerfReport report = perf::run_perf(options);
    std::fputs((json ? perf::to_json(report) : perf::to_text(report)).c_str(), stdout);
  } catch (const tickpath::Error& error) {
    std::fprintf(stderr, "fabric_lat: %s\n", error.what());
    return 1;
  }
  return 0;
}

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "tools/perf/beside_floor.hpp"

namespace tickpath::rdma::perf {
namespace {

const char* boundary(PerfOperation operation) {
  switch (operation) {
    case PerfOperation::kFloor:
      return "a word stored here, seen there; no fabric";
    case PerfOperation::kFloorEachWay:
      return "the same, a cache line for each direction";
    case PerfOperation::kWrite:
      return "posted here, last word seen there";
    case PerfOperation::kRead:
      return "stored here, seen there by a READ";
    case PerfOperation::kFetchAdd:
    case PerfOperation::kCompareSwap:
      return "posted here, new value seen there";
    case PerfOperation::kSend:
    case PerfOperation::kWriteWithImm:
      break;
  }
  return "posted here, receive completed there";
}

// "1.25 met"; empty where there is no bar.
std::string judgement(const BesideFloor& floor) {
  std::string text;
  if (floor.bar != 0) text += formatted("%.2f %s", floor.bar, to_string(floor.verdict).data());
  return text;
}

}  // namespace

std::string floor_text(const PerfReport& report) {
  const PerfOptions& options = report.options;
  std::string text;
  text += formatted(
      "provider %s (%s), CPUs %d and %d, busy polling, two processes, %u rounds; one-way "
      "figures, half of a round trip\n"
      "clock TSC, one read %.1f ns (contained in each round trip), steps of %.1f ns; %s\n\n",
      options.provider.c_str(), report.device.c_str(), options.client_cpu, options.server_cpu,
      options.rounds, report.clock_cost_ns, report.clock_step_ns, report.cpu_model.c_str());
  text += formatted("%-15s %-6s %6s %9s %8s %8s %8s %8s %10s %7s %-15s %-8s  %s\n", "operation",
                    "via", "bytes", "count", "p50 ns", "p90 ns", "p99 ns", "p99.9 ns", "max ns",
                    "ratio", "bar", "pace", "boundary");
  for (const PerfRow& row : report.rows) {
    const LatencyColumns& c = row.latency;
    text += formatted("%-15s %-6s %6u %9llu %8.1f %8.1f %8.1f %8.1f %10.1f %7.2f %-15s %-8s  %s\n",
                      lower_case(row.what.operation).c_str(),
                      is_floor(row.what.operation) ? "memory" : options.provider.c_str(),
                      row.what.size_bytes, static_cast<unsigned long long>(c.iterations),
                      c.typical * 1e3, c.p90 * 1e3, c.p99 * 1e3, c.p999 * 1e3, c.max * 1e3,
                      row.beside_floor.ratio, judgement(row.beside_floor).c_str(),
                      row.beside_floor.pace.c_str(), boundary(row.what.operation));
  }
  if (report.shared_core) {
    text += formatted(
        "CPUs %d and %d share a core (floor %.1f ns, below %.0f ns): the bars are for separate "
        "cores, nothing is judged. Choose others with --cpus; a hypervisor may also move them.\n",
        options.client_cpu, options.server_cpu, report.rows[0].latency.typical * 1e3,
        kSharedCoreFloorNs);
  }
  return text;
}

nlohmann::ordered_json floor_json(const PerfReport& report, const PerfRow& row) {
  using Json = nlohmann::ordered_json;
  const LatencyColumns& c = row.latency;
  const BesideFloor& floor = row.beside_floor;
  return {{"operation", lower_case(row.what.operation)},
          {"provider", is_floor(row.what.operation) ? "memory" : report.options.provider},
          {"size_bytes", row.what.size_bytes},
          {"count", c.iterations},
          {"p50_ns", c.typical * 1e3},
          {"p90_ns", c.p90 * 1e3},
          {"p99_ns", c.p99 * 1e3},
          {"p999_ns", c.p999 * 1e3},
          {"max_ns", c.max * 1e3},
          {"ratio_to_floor", floor.ratio},
          {"bar", floor.bar == 0 ? Json() : Json(floor.bar)},
          {"verdict", to_string(floor.verdict)},
          {"pace", floor.pace},
          {"boundary", boundary(row.what.operation)}};
}

}  // namespace tickpath::rdma::perf

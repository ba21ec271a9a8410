#include <cstdio>

#include <nlohmann/json.hpp>

#include "tools/perf/lat.hpp"

namespace tickpath::rdma::perf {
namespace {

bool is_floor(LatOperation operation) {
  return operation == LatOperation::kFloor || operation == LatOperation::kFloorEachWay;
}

const char* boundary(LatOperation operation) {
  switch (operation) {
    case LatOperation::kFloor:
      return "a word stored here, seen there; no fabric";
    case LatOperation::kFloorEachWay:
      return "the same, a cache line for each direction";
    case LatOperation::kWrite:
      return "posted here, last word seen there";
    case LatOperation::kSend:
      return "posted here, receive completed there";
    case LatOperation::kRead:
      return "stored here, seen there by a READ";
    case LatOperation::kFetchAdd:
    case LatOperation::kCompareSwap:
      return "posted here, new value seen there";
  }
  return "";
}

// "1.25 met"; empty where there is no bar.
std::string judgement(const LatRow& row) {
  if (row.bar == 0) return "";
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f %s", row.bar, to_string(row.verdict).data());
  return text;
}

std::string shared_core_text(const LatReport& report) {
  char text[320];
  std::snprintf(
      text, sizeof(text),
      "CPUs %d and %d share a core (floor %.1f ns, below %.0f ns): the bars are for separate "
      "cores, nothing is judged. Choose others with --cpus; a hypervisor may also move them.\n",
      report.client_cpu, report.server_cpu, report.rows[0].statistics.p50_ns, kSharedCoreFloorNs);
  return text;
}

}  // namespace

std::string to_text(const LatReport& report) {
  char line[320];
  std::snprintf(
      line, sizeof(line),
      "provider %s (%s), CPUs %d and %d, busy polling, two processes, %u rounds; one-way figures, "
      "half of a round trip\n"
      "clock TSC, one read %.1f ns (contained in each round trip), steps of %.1f ns; %s\n\n",
      report.provider.c_str(), report.device.c_str(), report.client_cpu, report.server_cpu,
      report.rounds, report.clock_cost_ns, report.clock_step_ns, report.cpu_model.c_str());
  std::string text = line;
  std::snprintf(line, sizeof(line), "%-15s %-6s %6s %9s %8s %8s %8s %8s %10s %7s %-15s %-8s  %s\n",
                "operation", "via", "bytes", "count", "p50 ns", "p90 ns", "p99 ns", "p99.9 ns",
                "max ns", "ratio", "bar", "pace", "boundary");
  text += line;
  for (const LatRow& row : report.rows) {
    const LatStatistics& s = row.statistics;
    const bool floor = is_floor(row.operation);
    std::snprintf(line, sizeof(line),
                  "%-15s %-6s %6u %9llu %8.1f %8.1f %8.1f %8.1f %10.1f %7.2f %-15s %-8s  %s\n",
                  std::string(to_string(row.operation)).c_str(),
                  floor ? "memory" : report.provider.c_str(), row.size_bytes,
                  static_cast<unsigned long long>(s.count), s.p50_ns, s.p90_ns, s.p99_ns, s.p999_ns,
                  s.max_ns, row.ratio, judgement(row).c_str(), row.pace.c_str(),
                  boundary(row.operation));
    text += line;
  }
  if (report.shared_core) text += shared_core_text(report);
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

std::string to_json(const LatReport& report) {
  nlohmann::ordered_json json;
  json["tool"] = "lat_floor";
  json["provider"] = report.provider;
  json["device"] = report.device;
  json["cpu"] = report.cpu_model;
  json["client_cpu"] = report.client_cpu;
  json["server_cpu"] = report.server_cpu;
  json["wait"] = "spin";
  json["clock"] = "tsc";
  json["clock_cost_ns"] = report.clock_cost_ns;
  json["clock_step_ns"] = report.clock_step_ns;
  json["rounds"] = report.rounds;
  json["cpus_share_a_core"] = report.shared_core;
  json["bars"] = report.shared_core ? "for separate cores: not judged" : "judged";
  json["rows"] = nlohmann::ordered_json::array();
  for (const LatRow& row : report.rows) {
    const LatStatistics& s = row.statistics;
    json["rows"].push_back(
        {{"operation", to_string(row.operation)},
         {"provider", is_floor(row.operation) ? "memory" : report.provider},
         {"size_bytes", row.size_bytes},
         {"count", s.count},
         {"p50_ns", s.p50_ns},
         {"p90_ns", s.p90_ns},
         {"p99_ns", s.p99_ns},
         {"p999_ns", s.p999_ns},
         {"max_ns", s.max_ns},
         {"ratio_to_floor", row.ratio},
         {"bar", row.bar == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(row.bar)},
         {"verdict", to_string(row.verdict)},
         {"pace", row.pace},
         {"boundary", boundary(row.operation)}});
  }
  json["notes"] = report.notes;
  return json.dump(2) + "\n";
}

}  // namespace tickpath::rdma::perf

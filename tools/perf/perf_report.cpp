
#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "tools/perf/beside_floor.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr const char* kRule =
    "--------------------------------------------------------------------------------------------"
    "--------------------------------------------------------\n";

// Done when it completes here, without an echo.
bool completes(PerfOperation operation) {
  return operation == PerfOperation::kRead || operation == PerfOperation::kCompareSwap ||
         operation == PerfOperation::kFetchAdd;
}

const char* boundary(const PerfReport& report, const PerfRow& row) {
  const PerfOperation operation = row.what.operation;
  if (report.options.rate > 0) {
    return completes(operation) ? "scheduled to completed here"
                                : "scheduled to echoed: the whole round trip";
  }
  if (completes(operation)) return "posted to completed here";
  return operation == PerfOperation::kWrite
             ? "half of a round trip; each side polls the last bytes that land"
             : "half of a round trip; each side polls receive completions";
}

std::string cpus_text(const PerfReport& report) {
  const auto name = [](int cpu) { return cpu < 0 ? std::string("any") : std::to_string(cpu); };
  if (report.options.mode == PerfMode::kClient) {
    return "client CPU " + name(report.options.client_cpu);
  }
  return "CPUs " + name(report.options.client_cpu) + " and " + name(report.options.server_cpu);
}

void append_head(std::string& text, const PerfReport& report, const PerfRow& first) {
  const PerfOptions& options = report.options;
  text += kRule;
  text += formatted(" RDMA %s %s %s\n", to_string(first.what.operation).data(),
                    options.tool == PerfTool::kLatency ? "latency" : "bandwidth",
                    options.bidirectional ? "(both directions at once)" : "");
  text += formatted(" provider %s (%s), RC, server %s, %s, %s\n", options.provider.c_str(),
                    report.device.c_str(), report.server.c_str(), cpus_text(report).c_str(),
                    report.cpu_model.c_str());
  text += formatted(" tx depth %u, rx depth %u, a completion every %u, inline up to %u bytes",
                    options.tx_depth, report.rx_depth,
                    options.tool == PerfTool::kLatency && completes(first.what.operation)
                        ? 1
                        : options.signal_every,
                    report.inline_bytes);
  if (options.batch > 1) text += formatted(", %u a doorbell", options.batch);
  if (options.rate > 0) {
    text += formatted(", open loop of %.0f messages a second, %u under way at most", options.rate,
                      first.window);
  }
  text += "\n";
  if (options.tool == PerfTool::kLatency) text += formatted(" %s\n", boundary(report, first));
  text += kRule;
}

std::string latency_text(const PerfReport& report) {
  std::string text;
  const PerfRow* last = nullptr;
  for (const PerfRow& row : report.rows) {
    if (last == nullptr || last->what.operation != row.what.operation) {
      append_head(text, report, row);
      text +=
          " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]   "
          " t_stdev[usec]      99%[usec]    99.9%[usec]   99.99%[usec]\n";
    }
    const LatencyColumns& c = row.latency;
    text += formatted(" %-7u %-11llu %13.3f %14.3f %16.3f %14.3f %16.3f %14.3f %14.3f %14.3f\n",
                      row.what.size_bytes, static_cast<unsigned long long>(c.iterations), c.min,
                      c.max, c.typical, c.average, c.deviation, c.p99, c.p999, c.p9999);
    last = &row;
  }
  return text + kRule;
}

std::string bandwidth_text(const PerfReport& report) {
  std::string text;
  const PerfRow* last = nullptr;
  for (const PerfRow& row : report.rows) {
    if (last == nullptr || last->what.operation != row.what.operation) {
      append_head(text, report, row);
      text += " #bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
      text += row.bandwidth.memcpy_mb_s > 0 ? "    memcpy[MB/sec]   of memcpy\n" : "\n";
    }
    const BandwidthColumns& c = row.bandwidth;
    text += formatted(" %-7u %-11llu %18.2f %21.2f %15.6f", row.what.size_bytes,
                      static_cast<unsigned long long>(c.iterations), c.peak_mb_s, c.average_mb_s,
                      c.message_rate_mpps);
    if (c.memcpy_mb_s > 0)
      text += formatted(" %17.2f %11.2f", c.memcpy_mb_s, c.average_mb_s / c.memcpy_mb_s);
    text += "\n";
    last = &row;
  }
  return text + kRule;
}

nlohmann::ordered_json latency_json(const PerfReport& report, const PerfRow& row) {
  const LatencyColumns& c = row.latency;
  nlohmann::ordered_json json{{"iterations", c.iterations},
                              {"t_min_us", c.min},
                              {"t_max_us", c.max},
                              {"t_typical_us", c.typical},
                              {"t_avg_us", c.average},
                              {"t_stdev_us", c.deviation},
                              {"p99_us", c.p99},
                              {"p999_us", c.p999},
                              {"p9999_us", c.p9999},
                              {"one_way", row.one_way},
                              {"boundary", boundary(report, row)},
                              {"under_way_max", row.window}};
  json["histogram"] = nlohmann::ordered_json::array();
  for (const HistogramBin& bin : c.histogram) {
    json["histogram"].push_back({bin.low_us, bin.high_us, bin.count});
  }
  return json;
}

nlohmann::ordered_json bandwidth_json(const PerfRow& row) {
  const BandwidthColumns& c = row.bandwidth;
  nlohmann::ordered_json json{{"iterations", c.iterations},
                              {"peak_mb_s", c.peak_mb_s},
                              {"average_mb_s", c.average_mb_s},
                              {"message_rate_mpps", c.message_rate_mpps},
                              {"rnr_waits", c.rnr_waits}};
  if (c.memcpy_mb_s > 0) {
    json["memcpy_mb_s"] = c.memcpy_mb_s;
    json["of_memcpy"] = c.average_mb_s / c.memcpy_mb_s;
  }
  return json;
}

}  // namespace

std::string to_text(const PerfReport& report) {
  std::string text;
  std::string mark = " note: ";
  switch (report.options.tool) {
    case PerfTool::kLatency:
      text = latency_text(report);
      text += formatted(" clock TSC, steps of %.1f ns\n", report.clock_step_ns);
      break;
    case PerfTool::kBandwidth:
      text = bandwidth_text(report) +
             " MB are 2^20 bytes, peak is the fastest stretch of tx depth messages\n";
      break;
    case PerfTool::kBesideFloor:
      text = floor_text(report);
      mark = "note: ";
      break;
  }
  for (const std::string& note : report.notes) text += mark + note + "\n";
  return text;
}

std::string to_json(const PerfReport& report) {
  const PerfOptions& options = report.options;
  const bool latency = options.tool == PerfTool::kLatency;
  const bool floor = options.tool == PerfTool::kBesideFloor;
  nlohmann::ordered_json json;
  json["tool"] = floor ? "lat_floor" : latency ? "lat" : "bw";
  json["provider"] = options.provider;
  json["device"] = report.device;
  json["cpu"] = report.cpu_model;
  json["client_cpu"] = options.client_cpu;
  json["server_cpu"] = options.server_cpu;
  json["wait"] = "spin";
  json["clock"] = "tsc";
  json["clock_step_ns"] = report.clock_step_ns;
  if (floor) {
    json["clock_cost_ns"] = report.clock_cost_ns;
    json["rounds"] = options.rounds;
    json["cpus_share_a_core"] = report.shared_core;
    json["bars"] = report.shared_core ? "for separate cores: not judged" : "judged";
  } else {
    json["mode"] = options.mode == PerfMode::kForked ? "forked" : "client";
    json["server"] = report.server;
    json["tx_depth"] = options.tx_depth;
    json["rx_depth"] = report.rx_depth;
    json["signal_every"] = options.signal_every;
    json["inline_bytes"] = report.inline_bytes;
  }
  if (latency) json["rate_per_s"] = options.rate;
  if (options.tool == PerfTool::kBandwidth) {
    json["batch"] = options.batch;
    json["bidirectional"] = options.bidirectional;
  }
  json["rows"] = nlohmann::ordered_json::array();
  for (const PerfRow& row : report.rows) {
    if (floor) {
      json["rows"].push_back(floor_json(report, row));
      continue;
    }
    nlohmann::ordered_json each{{"operation", to_string(row.what.operation)},
                                {"size_bytes", row.what.size_bytes},
                                {"inline", row.inlined}};
    each.update(latency ? latency_json(report, row) : bandwidth_json(row));
    json["rows"].push_back(std::move(each));
  }
  json["notes"] = report.notes;
  return json.dump(2) + "\n";
}

}  // namespace tickpath::rdma::perf

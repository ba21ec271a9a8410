// `tickpath lat` and `tickpath bw` in the manner of perftest: a plan run against a server, and what
// came of it. The server is another process, on this host or another one (server.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf/plan.hpp"
#include "tools/perf/samples.hpp"

namespace tickpath::rdma::perf {

// MB are 2^20 bytes and Mpps 10^6 messages a second, as in perftest.
struct BandwidthColumns {
  std::uint64_t iterations = 0;
  double peak_mb_s = 0;
  double average_mb_s = 0;
  double message_rate_mpps = 0;
  double memcpy_mb_s = 0;  // copying as many bytes in this process's own memory; 0: not one host
  std::uint64_t rnr_waits = 0;  // messages that met no receive
};

struct PerfRow {
  PerfCase what{};
  LatencyColumns latency;
  BandwidthColumns bandwidth;
  std::uint32_t window = 1;  // open loop: messages under way at most
  bool one_way = false;      // latency: half of a round trip, else the whole of it
  bool inlined = false;
};

struct PerfReport {
  PerfOptions options;
  std::string device, cpu_model, server;
  std::uint32_t inline_bytes = 0;  // granted
  std::uint32_t rx_depth = 0;      // in effect
  double clock_step_ns = 0;
  std::vector<PerfRow> rows;
  std::vector<std::string> notes;
};

// kForked forks, so call it before starting threads. Throws Error (options, no such CPU),
// SetupError (no provider, no server there, refused), Error (the peer failed during the run).
PerfReport run_perf(const PerfOptions& options);

std::string to_text(const PerfReport& report);
std::string to_json(const PerfReport& report);

// Distribution of each latency row as lines of text; as one SVG page, a panel a row.
std::string to_histogram_text(const PerfReport& report);
std::string to_svg(const PerfReport& report);

}  // namespace tickpath::rdma::perf

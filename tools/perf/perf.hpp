// `tickpath lat` and `tickpath bw`: a plan run against a server, and what came of it, in the manner
// of perftest or beside the bare cost of moving a cache line. The server is another process, on
// this host or another one (server.hpp).
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

// Ratios that the fabric is held to at 64 bytes, one fabric process on a core of its own each.
struct LatBar {
  PerfOperation operation;
  double ratio;
};
inline constexpr LatBar kLatBars[] = {{PerfOperation::kWrite, 1.25},
                                      {PerfOperation::kSend, 1.6},
                                      {PerfOperation::kRead, 1.25},
                                      {PerfOperation::kFetchAdd, 1.25}};
inline constexpr std::uint32_t kLatBarBytes = 64;  // atomics: 8

enum class LatVerdict : std::uint8_t { kMet, kMissed, kNotJudged };
std::string_view to_string(LatVerdict verdict) noexcept;

struct BesideFloor {
  double ratio = 0;  // to the floor: the median over the rounds of this round's p50 / floor's p50
  std::string pace;  // of the poll loops, the most frequent of the rounds; the floor's is tight
  double bar = 0;    // the ratio at most; 0: there is none for this operation and size
  LatVerdict verdict = LatVerdict::kNotJudged;
};

struct PerfRow {
  PerfCase what{};
  LatencyColumns latency;
  BandwidthColumns bandwidth;
  BesideFloor beside_floor;
  std::uint32_t window = 1;  // open loop: messages under way at most
  bool one_way = false;      // latency: half of a round trip, else the whole of it
  bool inlined = false;
};

// Two CPUs that pass a line on in less than this share a core (hyper-threads, whatever the guest is
// told about its topology): the line stays in one first-level cache. Two cores take 100 ns and
// more.
inline constexpr double kSharedCoreFloorNs = 60;

struct PerfReport {
  PerfOptions options;
  std::string device, cpu_model, server;
  std::uint32_t inline_bytes = 0;  // granted
  std::uint32_t rx_depth = 0;      // in effect
  double clock_cost_ns = 0;        // beside the floor: one TSC read, contained in every sample
  double clock_step_ns = 0;  // samples come in these steps; quantiles are interpolated within one
  bool shared_core = false;  // beside the floor: the bars are for separate cores, nothing is judged
  std::vector<PerfRow> rows;
  std::vector<std::string> notes;
};

// Judges rows (the floor first) against kLatBars; says whether the two CPUs share a core.
bool judge(std::vector<PerfRow>& rows);

// kForked forks, so call it before starting threads. Throws Error (options, no such CPU),
// SetupError (no provider, no server there, refused), Error (the peer failed during the run).
PerfReport run_perf(const PerfOptions& options);

std::string to_text(const PerfReport& report);
std::string to_json(const PerfReport& report);

// Distribution of each latency row as lines of text; as one SVG page, a panel a row.
std::string to_histogram_text(const PerfReport& report);
std::string to_svg(const PerfReport& report);

}  // namespace tickpath::rdma::perf

// `tickpath lat` and `tickpath bw`: finds or forks the server, and measures case by case.
#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"
#include "tools/perf/beside_floor.hpp"
#include "tools/perf/host.hpp"
#include "tools/perf/perf.hpp"
#include "tools/perf/perf_process.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kSamplesMax = 20'000'000;
constexpr double kMegabyte = 1 << 20;

// perftest's table.
class Table {
 public:
  explicit Table(ClientSession& session) : session_(session) {}

  std::vector<PerfRow> rows() {
    std::vector<PerfRow> rows;
    for (const PerfCase& each : session_.cases()) {
      rows.push_back(options_.tool == PerfTool::kLatency ? latency_row(each) : bandwidth_row(each));
    }
    return rows;
  }

 private:
  std::uint32_t iterations(const PerfCase& each) const {
    return options_.iterations != 0 ? options_.iterations
                                    : default_iterations(options_, each.size_bytes);
  }
  std::uint32_t warmup(const PerfCase& each) const {
    if (options_.warmup >= 0) return static_cast<std::uint32_t>(options_.warmup);
    // A tenth of a second where a schedule says how long it takes.
    const double most = options_.rate > 0 ? std::clamp(options_.rate / 10, 10.0, 2e3) : 2e3;
    return std::clamp(iterations(each) / 10, 1u, static_cast<std::uint32_t>(most));
  }

  // By duration: calls run(count) with counts of about a fifth of a second until time is up.
  template <class Run>
  void repeat(const PerfCase& each, Run&& run) {
    if (options_.duration_s <= 0) return run(iterations(each));
    std::uint32_t count = std::max(warmup(each), 10u);
    const std::uint64_t end =
        tsc_now().value + static_cast<std::uint64_t>(options_.duration_s * hz_);
    for (std::uint64_t now = tsc_now().value; now < end;) {
      run(count);
      const std::uint64_t then = tsc_now().value;
      const double chunk_ticks =
          std::min(0.2 * hz_, static_cast<double>(end - std::min(end, then)));
      const double wanted = count * chunk_ticks / static_cast<double>(then - now);
      count = static_cast<std::uint32_t>(std::clamp(wanted, 10.0, 1e7));
      now = then;
    }
  }

  PerfRow row_of(const PerfCase& each) const {
    PerfRow row;
    row.what = each;
    row.inlined = echoed(each.operation) && each.size_bytes <= session_.inline_most();
    return row;
  }

  void latency_run(const PerfCase& each, std::uint32_t count, std::vector<std::uint64_t>& samples) {
    session_.latency_run(session_.command_for(each, count),
                         options_.rate > 0 ? hz_ / options_.rate : 0, samples);
  }

  PerfRow latency_row(const PerfCase& each) {
    std::vector<std::uint64_t> samples;
    if (warmup(each) != 0) {
      samples.reserve(warmup(each));
      latency_run(each, warmup(each), samples);
    }
    samples.clear();
    repeat(each, [&](std::uint32_t count) {
      if (samples.size() + count > kSamplesMax) return note_full();
      samples.reserve(samples.size() + count);  // not while the clock runs
      latency_run(each, count, samples);
    });
    PerfRow row = row_of(each);
    row.window = session_.command_for(each, 1).window;
    row.one_way = echoed(each.operation) && options_.rate <= 0;
    row.latency = latency_columns(samples, (row.one_way ? 0.5e6 : 1e6) / hz_, step_ticks_);
    return row;
  }

  void note_full() {
    std::vector<std::string>& notes = session_.notes();
    const std::string note = "a case ends at " + std::to_string(kSamplesMax) + " samples";
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }

  struct Total {
    std::uint64_t messages = 0;
    double seconds = 0, server_seconds = 0;  // of this side's sending; of the server's part
    double peak = 0;                         // bytes a second, both directions together
    std::uint64_t rnr_waits = 0;
  };

  void bandwidth_run(const PerfCase& each, std::uint32_t count, Total& total) {
    PerfRates rates;
    const PerfReply reply = session_.bandwidth_run(session_.command_for(each, count), rates);
    double seconds = static_cast<double>(rates.elapsed_ticks) / hz_;
    const double server_seconds = static_cast<double>(reply.elapsed_ns) / 1e9;
    // A SEND is done when its receiver has it.
    if (each.operation == PerfOperation::kSend) seconds = std::max(seconds, server_seconds);
    total.messages += count;
    total.seconds += seconds;
    total.server_seconds += server_seconds;
    const double server_peak =
        options_.bidirectional ? static_cast<double>(reply.peak_bytes_per_s) : 0;
    total.peak = std::max(total.peak, rates.peak_bytes_per_tick * hz_ + server_peak);
    total.rnr_waits = reply.rnr_waits + session_.rnr_waits();
  }

  PerfRow bandwidth_row(const PerfCase& each) {
    const bool one_host = options_.mode == PerfMode::kForked;
    Total total;
    if (warmup(each) != 0) bandwidth_run(each, warmup(each), total);
    total = {};
    const double floor_before = one_host ? memcpy_bytes_per_s(each.size_bytes) : 0;
    repeat(each, [&](std::uint32_t count) { bandwidth_run(each, count, total); });
    const double floor_after = one_host ? memcpy_bytes_per_s(each.size_bytes) : 0;
    const auto messages = static_cast<double>(total.messages);
    double rate = messages / total.seconds;
    if (options_.bidirectional) rate += messages / total.server_seconds;
    PerfRow row = row_of(each);
    row.bandwidth.iterations = total.messages;
    row.bandwidth.average_mb_s = rate * each.size_bytes / kMegabyte;
    // A run too short for a stretch has no peak of its own.
    row.bandwidth.peak_mb_s = std::max(total.peak / kMegabyte, row.bandwidth.average_mb_s);
    row.bandwidth.message_rate_mpps = rate / 1e6;
    row.bandwidth.memcpy_mb_s = (floor_before + floor_after) / 2 / kMegabyte;
    row.bandwidth.rnr_waits = total.rnr_waits;
    return row;
  }

  ClientSession& session_;
  const PerfOptions& options_ = session_.options();
  double hz_ = static_cast<double>(clock::tsc_hz());
  double step_ticks_ = clock_step_ticks();
};

// Where nothing was asked for: the first two allowed CPUs, or none in particular where there is
// one.
void choose_cpus(PerfOptions& options, std::vector<std::string>& notes) {
  if (options.mode == PerfMode::kClient) return;
  const std::vector<int> allowed = allowed_cpus();
  const bool chosen = options.client_cpu >= 0 && options.server_cpu >= 0;
  const bool floor = options.tool == PerfTool::kBesideFloor;
  if (allowed.size() < 2 && floor && !chosen) {
    throw Error("latency between two processes needs two CPUs; this process may use one only");
  }
  if (allowed.size() < 2 && !floor) {
    notes.push_back("one CPU for both processes: the figures show its scheduler");
    return;
  }
  if (options.client_cpu < 0) options.client_cpu = allowed[0];
  if (options.server_cpu < 0) {
    options.server_cpu = allowed[0] == options.client_cpu ? allowed[1] : allowed[0];
  }
  if (floor && options.client_cpu == options.server_cpu) {
    throw Error("client and server must run on different CPUs");
  }
}

PerfReport run_client(const PerfOptions& options, const std::string& endpoint, FloorLines* floor) {
  if (options.client_cpu >= 0) pin_this_thread(options.client_cpu);
  ClientSession session(options, endpoint, floor);
  PerfReport report;
  report.options = options;
  report.device = session.device().info().name;
  report.cpu_model = clock::cpu_model();
  report.inline_bytes = session.inline_most();
  report.rx_depth = session.rx_depth();
  report.clock_step_ns = clock_step_ticks() * 1e9 / static_cast<double>(clock::tsc_hz());
  if (options.tool == PerfTool::kBesideFloor) {
    measure_beside_floor(session, report);
  } else {
    report.rows = Table(session).rows();
  }
  session.end();
  report.notes = session.notes();
  for (const std::string& note : session.device().notes()) report.notes.push_back(note);
  return report;
}

PerfReport run_forked(const PerfOptions& options) {
  const SharedFloor floor;
  PerfServeOptions serve;
  serve.provider = options.provider;
  serve.device = options.device;
  serve.security = options.security;
  serve.endpoint = options.endpoint;
  serve.cpu = options.server_cpu;
  serve.floor = floor.lines();
  if (serve.endpoint.empty()) {
    const std::string name = "tickpath.perf." + std::to_string(::getpid());
    serve.endpoint = (std::filesystem::temp_directory_path() / name).string();
  }
  ForkedServer server(serve);
  PerfReport report = run_client(options, server.endpoint(), floor.lines());
  server.finish();
  report.server = "forked";
  return report;
}

}  // namespace

PerfReport run_perf(const PerfOptions& requested) {
  PerfOptions options = requested;
  check_options(options);
  std::vector<std::string> notes;
  choose_cpus(options, notes);
  clock::tsc_hz();  // before the fork: both sides use one measurement
  PerfReport report;
  if (options.mode == PerfMode::kForked) {
    report = run_forked(options);
  } else {
    report = run_client(options, options.endpoint, nullptr);
    report.server = options.endpoint;
  }
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  return report;
}

}  // namespace tickpath::rdma::perf

// The client's side of a measurement: connects, and runs one case after the other.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "tools/perf/control_link.hpp"
#include "tools/perf/data_link.hpp"
#include "tools/perf/host.hpp"
#include "tools/perf/perf.hpp"
#include "tools/perf/perf_process.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kReceiveAreaBudget = 32u << 20;  // shm: shared memory of a receive queue
constexpr std::uint32_t kWindowArea = 256u << 10;  // open loop: messages under way lie side by side
constexpr std::uint32_t kSamplesMax = 20'000'000;
constexpr double kMegabyte = 1 << 20;
constexpr std::uint32_t kConnectLimitMs = 30'000;
constexpr auto kReadyLimit = std::chrono::seconds(60);
constexpr auto kDoneLimit = std::chrono::seconds(300);

std::uint64_t random_session() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// Does the server echo, or is a message done when it completes here?
bool echoed(PerfOperation operation) {
  return operation == PerfOperation::kWrite || operation == PerfOperation::kWriteWithImm ||
         operation == PerfOperation::kSend;
}

PerfHello make_hello(const PerfOptions& options, const std::vector<PerfCase>& cases,
                     const DeviceInfo& device) {
  PerfHello hello;
  hello.session = random_session();
  hello.area_bytes = options.rate > 0 ? kWindowArea : 4096;
  hello.message_bytes_max = 64;
  for (const PerfCase& each : cases) {
    hello.area_bytes = std::max(hello.area_bytes, (each.size_bytes + 63) / 64 * 64);
    if (each.operation == PerfOperation::kSend) {
      hello.message_bytes_max = std::max(hello.message_bytes_max, each.size_bytes);
    }
  }
  const std::uint32_t affordable = std::max(4u, kReceiveAreaBudget / hello.message_bytes_max);
  const bool ping_pong = options.tool == PerfTool::kLatency && options.rate <= 0;
  const std::uint32_t wanted = options.rx_depth != 0 ? options.rx_depth : (ping_pong ? 32 : 512);
  hello.rx_depth = std::min({wanted, affordable, device.queue_depth_max});
  hello.tx_depth = options.tx_depth;
  // 236 is what perftest asks for by default.
  hello.inline_bytes = options.inline_bytes < 0 ? std::min(device.inline_bytes_max, 236u)
                                                : static_cast<std::uint32_t>(options.inline_bytes);
  return hello;
}

void check_device(const PerfOptions& options, const DeviceInfo& device) {
  if (options.tx_depth > device.queue_depth_max) {
    throw Error("--tx-depth " + std::to_string(options.tx_depth) + ": device " + device.name +
                " has at most " + std::to_string(device.queue_depth_max));
  }
  if (options.inline_bytes > static_cast<int>(device.inline_bytes_max)) {
    throw Error("--inline " + std::to_string(options.inline_bytes) + ": device " + device.name +
                " takes at most " + std::to_string(device.inline_bytes_max) + " bytes inline");
  }
}

class Client {
 public:
  Client(const PerfOptions& options, const std::string& endpoint)
      : options_(options),
        device_(open_device({options.provider, options.device, {}, options.security})),
        cases_(plan_cases(options, device_->info().message_bytes_max, notes_)),
        control_(*device_) {
    check_device(options, device_->info());
    hello_ = make_hello(options, cases_, device_->info());
    connect(endpoint);
  }

  void run() {
    for (const PerfCase& each : cases_) {
      rows_.push_back(options_.tool == PerfTool::kLatency ? latency_row(each)
                                                          : bandwidth_row(each));
    }
    PerfCommand end;
    end.kind = PerfCommandKind::kEnd;
    control_.farewell(end);  // every answer is here
  }

  PerfReport report() const {
    PerfReport report;
    report.options = options_;
    report.device = device_->info().name;
    report.cpu_model = cpu_model();
    report.inline_bytes = inline_most();
    report.rx_depth = hello_.rx_depth;
    report.clock_step_ns = step_ticks_ * 1e9 / hz_;
    report.rows = rows_;
    report.notes = notes_;
    for (const std::string& note : device_->notes()) report.notes.push_back(note);
    return report;
  }

 private:
  void connect(const std::string& endpoint) {
    ConnectParameters parameters;
    parameters.endpoint = endpoint;
    parameters.timeout_ms = kConnectLimitMs;
    parameters.hello = std::as_bytes(std::span(&hello_, 1));
    parameters.options = control_.options();
    parameters.initial_receives = control_.receives();
    control_.bind(device_->connect(control_.queue(), parameters).queue_pair);
    data_ = std::make_unique<DataLink>(*device_, hello_);
    hello_.connection = PerfConnection::kData;
    const Grant grant = data_->grant();
    parameters.grants = std::span(&grant, 1);
    parameters.options = data_->options();
    parameters.initial_receives = data_->receives();
    data_->bind(device_->connect(data_->queue(), parameters).queue_pair);
  }

  std::uint32_t inline_most() const {
    const std::uint32_t granted = data_->inline_bytes();
    if (options_.inline_bytes < 0) return granted;
    return std::min(granted, static_cast<std::uint32_t>(options_.inline_bytes));
  }

  PerfCommand command_for(const PerfCase& each, std::uint32_t count) const {
    PerfCommand command;
    command.tool = options_.tool;
    command.operation = each.operation;
    command.bidirectional = options_.bidirectional ? 1 : 0;
    command.pace = static_cast<std::uint8_t>(options_.pace);
    command.size_bytes = each.size_bytes;
    command.count = count;
    command.tx_depth = options_.tx_depth;
    // More SENDs under way than receives would only measure retries.
    if (each.operation == PerfOperation::kSend) {
      command.tx_depth = std::min(command.tx_depth, std::max(1u, hello_.rx_depth / 2));
    }
    if (options_.rate > 0) {
      const std::uint32_t places = hello_.area_bytes / ((each.size_bytes + 63) / 64 * 64);
      command.window = std::min({command.tx_depth, places, std::max(1u, hello_.rx_depth / 2)});
    }
    command.signal_every = std::min(options_.signal_every, command.tx_depth);
    if (options_.tool == PerfTool::kLatency && !echoed(each.operation)) command.signal_every = 1;
    command.batch = std::min(options_.batch, command.tx_depth);
    command.inline_bytes = inline_most();
    return command;
  }

  // Both sides are prepared when this returns: run, then finish().
  void start(const PerfCommand& command) {
    data_->prepare(command);
    control_.send(command);
    await(PerfReplyKind::kReady, kReadyLimit);
  }

  PerfReply await(PerfReplyKind kind, std::chrono::milliseconds limit) {
    const auto reply = control_.receive<PerfReply>(limit, "the server does not answer");
    if (reply.kind == PerfReplyKind::kFailed) {
      throw Error("the server failed: " +
                  std::string(reply.text, ::strnlen(reply.text, sizeof(reply.text))));
    }
    if (reply.kind != kind) throw Error("the server answered out of turn");
    return reply;
  }

  // Runs `body`; if it fails because the server did, throws what the server said.
  template <class Body>
  void run_body(Body&& body) {
    try {
      body();
    } catch (const Error&) {
      std::optional<std::string> said;
      try {
        PerfReply reply;
        if (control_.try_receive(reply) && reply.kind == PerfReplyKind::kFailed) {
          said = std::string(reply.text, ::strnlen(reply.text, sizeof(reply.text)));
        }
      } catch (const Error&) {
        // Nothing more is to be learnt: the first error stands.
      }
      if (said) throw Error("the server failed: " + *said);
      throw;
    }
  }

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

  void latency_run(const PerfCase& each, std::uint32_t count, std::vector<std::uint64_t>& samples) {
    const PerfCommand command = command_for(each, count);
    const double interval = options_.rate > 0 ? hz_ / options_.rate : 0;
    start(command);
    run_body([&] { data_->run_latency_client(interval, samples); });
    await(PerfReplyKind::kDone, kDoneLimit);
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
    PerfRow row;
    row.what = each;
    row.window = command_for(each, 1).window;
    row.one_way = echoed(each.operation) && options_.rate <= 0;
    row.inlined = echoed(each.operation) && each.size_bytes <= inline_most();
    row.latency = latency_columns(samples, (row.one_way ? 0.5e6 : 1e6) / hz_, step_ticks_);
    return row;
  }

  void note_full() {
    const std::string note = "a case ends at " + std::to_string(kSamplesMax) + " samples";
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }

  struct Total {
    std::uint64_t messages = 0;
    double seconds = 0, server_seconds = 0;  // of this side's sending; of the server's part
    double peak = 0;                         // bytes a second, both directions together
    std::uint64_t rnr_waits = 0;
  };

  void bandwidth_run(const PerfCase& each, std::uint32_t count, Total& total) {
    const PerfCommand command = command_for(each, count);
    const bool receives = options_.bidirectional && each.operation == PerfOperation::kSend;
    PerfRates rates;
    start(command);
    run_body([&] { rates = data_->run_bandwidth(count, receives ? count : 0); });
    const PerfReply reply = await(PerfReplyKind::kDone, kDoneLimit);
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
    total.rnr_waits = reply.rnr_waits + data_->rnr_waits();
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
    PerfRow row;
    row.what = each;
    row.inlined = echoed(each.operation) && each.size_bytes <= inline_most();
    row.bandwidth.iterations = total.messages;
    row.bandwidth.average_mb_s = rate * each.size_bytes / kMegabyte;
    // A run too short for a stretch has no peak of its own.
    row.bandwidth.peak_mb_s = std::max(total.peak / kMegabyte, row.bandwidth.average_mb_s);
    row.bandwidth.message_rate_mpps = rate / 1e6;
    row.bandwidth.memcpy_mb_s = (floor_before + floor_after) / 2 / kMegabyte;
    row.bandwidth.rnr_waits = total.rnr_waits;
    return row;
  }

  const PerfOptions& options_;
  double hz_ = static_cast<double>(clock::tsc_hz());
  double step_ticks_ = clock_step_ticks();
  std::vector<std::string> notes_;
  std::unique_ptr<Device> device_;
  std::vector<PerfCase> cases_;
  ControlLink control_;
  PerfHello hello_;
  std::unique_ptr<DataLink> data_;
  std::vector<PerfRow> rows_;
};

// Where nothing was asked for: the first two allowed CPUs, or none in particular where there is
// one.
void choose_cpus(PerfOptions& options, std::vector<std::string>& notes) {
  if (options.mode == PerfMode::kClient) return;
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) {
    notes.push_back("one CPU for both processes: the figures show its scheduler");
    return;
  }
  if (options.client_cpu < 0) options.client_cpu = allowed[0];
  if (options.server_cpu < 0) {
    options.server_cpu = allowed[0] == options.client_cpu ? allowed[1] : allowed[0];
  }
}

PerfReport run_client(const PerfOptions& options, const std::string& endpoint) {
  if (options.client_cpu >= 0) pin_this_thread(options.client_cpu);
  Client client(options, endpoint);
  client.run();
  return client.report();
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
    PerfServeOptions serve;
    serve.provider = options.provider;
    serve.device = options.device;
    serve.security = options.security;
    serve.endpoint = options.endpoint;
    serve.cpu = options.server_cpu;
    if (serve.endpoint.empty()) {
      const std::string name = "tickpath.perf." + std::to_string(::getpid());
      serve.endpoint = (std::filesystem::temp_directory_path() / name).string();
    }
    ForkedServer server(serve);
    report = run_client(options, server.endpoint());
    server.finish();
    report.server = "forked";
  } else {
    report = run_client(options, options.endpoint);
    report.server = options.endpoint;
  }
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  return report;
}

}  // namespace tickpath::rdma::perf

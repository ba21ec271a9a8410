#include "tools/perf/client_session.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kReceiveAreaBudget = 32u << 20;  // shm: shared memory of a receive queue
constexpr std::uint32_t kWindowArea = 256u << 10;  // open loop: messages under way lie side by side
constexpr std::uint32_t kConnectLimitMs = 30'000;
constexpr auto kReadyLimit = std::chrono::seconds(60);
constexpr auto kDoneLimit = std::chrono::seconds(300);

std::uint64_t random_session() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
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
  const bool ping_pong = options.tool != PerfTool::kBandwidth && options.rate <= 0;
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

std::string text_of(const PerfReply& reply) {
  return {reply.text, ::strnlen(reply.text, sizeof(reply.text))};
}

}  // namespace

bool echoed(PerfOperation operation) noexcept {
  return operation == PerfOperation::kWrite || operation == PerfOperation::kWriteWithImm ||
         operation == PerfOperation::kSend;
}

ClientSession::ClientSession(const PerfOptions& options, const std::string& endpoint,
                             FloorLines* floor)
    : options_(options),
      device_(open_device({options.provider, options.device, {}, options.security})),
      cases_(plan_cases(options, device_->info(), notes_)),
      control_(*device_) {
  check_device(options, device_->info());
  hello_ = make_hello(options, cases_, device_->info());
  connect(endpoint, floor);
}

void ClientSession::connect(const std::string& endpoint, FloorLines* floor) {
  ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.timeout_ms = kConnectLimitMs;
  parameters.hello = std::as_bytes(std::span(&hello_, 1));
  parameters.options = control_.options();
  parameters.initial_receives = control_.receives();
  control_.bind(device_->connect(control_.queue(), parameters).queue_pair);
  data_ = std::make_unique<DataLink>(*device_, hello_, floor);
  hello_.connection = PerfConnection::kData;
  const Grant grant = data_->grant();
  parameters.grants = std::span(&grant, 1);
  parameters.options = data_->options();
  parameters.initial_receives = data_->receives();
  data_->bind(device_->connect(data_->queue(), parameters).queue_pair);
}

std::uint32_t ClientSession::inline_most() const {
  const std::uint32_t granted = data_->inline_bytes();
  if (options_.inline_bytes < 0) return granted;
  return std::min(granted, static_cast<std::uint32_t>(options_.inline_bytes));
}

PerfCommand ClientSession::command_for(const PerfCase& each, std::uint32_t count) const {
  PerfCommand command;
  command.tool = options_.tool;
  command.operation = each.operation;
  command.bidirectional = options_.bidirectional ? 1 : 0;
  command.pace = static_cast<std::uint8_t>(std::max(options_.pace, 0));
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

PerfReply ClientSession::await(PerfReplyKind kind, std::chrono::milliseconds limit) {
  const auto reply = control_.receive<PerfReply>(limit, "the server does not answer");
  if (reply.kind == PerfReplyKind::kFailed) {
    throw Error("the server failed: " + text_of(reply));
  }
  if (reply.kind != kind) throw Error("the server answered out of turn");
  return reply;
}

// If `body` fails because the server did, throws what the server said.
PerfReply ClientSession::run(const PerfCommand& command, const std::function<void()>& body) {
  data_->prepare(command);
  control_.send(command);
  await(PerfReplyKind::kReady, kReadyLimit);  // both sides are prepared
  try {
    body();
  } catch (const Error&) {
    std::optional<std::string> said;
    try {
      PerfReply reply;
      if (control_.try_receive(reply) && reply.kind == PerfReplyKind::kFailed)
        said = text_of(reply);
    } catch (const Error&) {
      // Nothing more is to be learnt: the first error stands.
    }
    if (said) throw Error("the server failed: " + *said);
    throw;
  }
  return await(PerfReplyKind::kDone, kDoneLimit);
}

void ClientSession::latency_run(const PerfCommand& command, double interval_ticks,
                                std::vector<std::uint64_t>& samples) {
  run(command, [&] { data_->run_latency_client(interval_ticks, samples); });
}

PerfReply ClientSession::bandwidth_run(const PerfCommand& command, PerfRates& rates) {
  const bool receives = command.bidirectional != 0 && command.operation == PerfOperation::kSend;
  return run(command,
             [&] { rates = data_->run_bandwidth(command.count, receives ? command.count : 0); });
}

void ClientSession::end() {
  PerfCommand end;
  end.kind = PerfCommandKind::kEnd;
  control_.farewell(end);
}

}  // namespace tickpath::rdma::perf

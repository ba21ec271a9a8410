#include "tools/perf/server.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <poll.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "tools/perf/control_link.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr auto kServerNap = std::chrono::microseconds(100);
constexpr auto kDataConnectionLimit = std::chrono::seconds(60);
// A client leaves once it knows that its last word has arrived.
constexpr auto kDepartureLimit = std::chrono::seconds(10);
constexpr std::uint32_t kAreaBytesMax = 64u << 20;

// Why this hello is not to be served; empty: it is.
std::string objection(const PerfHello& hello, const DeviceInfo& device) {
  if (hello.area_bytes > kAreaBytesMax || hello.message_bytes_max > hello.area_bytes) {
    return "messages that long are not served: at most " + std::to_string(kPerfBytesMax) + " bytes";
  }
  if (device.message_bytes_max != 0 && hello.message_bytes_max > device.message_bytes_max) {
    return "this side receives SENDs of at most " + std::to_string(device.message_bytes_max) +
           " bytes, not " + std::to_string(hello.message_bytes_max);
  }
  if (hello.tx_depth == 0 || hello.rx_depth == 0 || hello.tx_depth > device.queue_depth_max ||
      hello.rx_depth > device.queue_depth_max) {
    return "this side's queues have a depth of 1 to " + std::to_string(device.queue_depth_max);
  }
  return "";
}

// The hello of a client of this very version; else nothing, and `text` says why.
std::optional<PerfHello> parse_hello(std::span<const std::byte> bytes, std::string& text) {
  PerfHello hello;
  // Magic, version and length stay where they are in every version to come.
  if (bytes.size() >= 16) std::memcpy(&hello, bytes.data(), std::min(bytes.size(), sizeof(hello)));
  if (bytes.size() < 16 || hello.magic != kPerfMagic) {
    text = "this is a server of `tickpath lat` and `tickpath bw`; the client is something else";
    return std::nullopt;
  }
  if (hello.version != kPerfVersion || hello.bytes != sizeof(hello) ||
      bytes.size() != sizeof(hello)) {
    text = "the server speaks version " + std::to_string(kPerfVersion) +
           " of the measurement's protocol, the client version " + std::to_string(hello.version) +
           ": run the same tickpath on both sides";
    return std::nullopt;
  }
  return hello;
}

std::uint64_t to_ns(std::uint64_t ticks) { return clock::TickConverter().to_ns({ticks}); }

class Session {
 public:
  Session(Device& device, Listener& listener, const PerfHello& hello, FloorLines* floor)
      : device_(device), listener_(listener), hello_(hello), floor_(floor), control_(device) {}

  void serve(ConnectionRequest& request, const PerfServeEvents& events) {
    control_.bind(request.accept(control_.queue(), control_.options(),
                                 std::as_bytes(std::span(&kPerfVersion, 1)), {},
                                 control_.receives()));
    await_data_connection();
    if (events.serving) events.serving(request.peer());
    for (PerfCommand command = next_command(); command.kind == PerfCommandKind::kRun;
         command = next_command()) {
      run(command);
    }
    control_.await_departure(kDepartureLimit);
  }

 private:
  void await_data_connection() {
    const auto end = std::chrono::steady_clock::now() + kDataConnectionLimit;
    while (!data_) {
      if (std::unique_ptr<ConnectionRequest> request = listener_.next()) {
        accept_data(*request);
      } else if (std::chrono::steady_clock::now() >= end) {
        throw Error("the client's data connection did not come");
      } else {
        std::this_thread::sleep_for(kServerNap);
      }
    }
  }

  void accept_data(ConnectionRequest& request) {
    std::string text;
    const std::optional<PerfHello> hello = parse_hello(request.hello(), text);
    if (!hello || hello->connection != PerfConnection::kData || hello->session != hello_.session) {
      return request.reject(text.empty() ? kBusy : text);
    }
    auto data = std::make_unique<DataLink>(device_, hello_, floor_);
    const Grant grant = data->grant();
    data->bind(
        request.accept(data->queue(), data->options(), {}, std::span(&grant, 1), data->receives()));
    data_ = std::move(data);
  }

  PerfCommand next_command() {
    PerfCommand command;
    for (std::uint32_t looks = 1; !control_.try_receive(command); ++looks) {
      if (looks > ControlLink::kLooksAwake) std::this_thread::sleep_for(kServerNap);
      if (looks % 256 != 0) continue;  // after each run, and while idle now and then
      if (const std::unique_ptr<ConnectionRequest> request = listener_.next()) {
        request->reject(kBusy);
      }
    }
    return command;
  }

  void run(const PerfCommand& command) {
    PerfReply reply;
    try {
      check(command);
      data_->prepare(command);
      control_.send(reply);
      reply = execute(command);
      reply.kind = PerfReplyKind::kDone;
    } catch (const std::exception& error) {
      reply = {};
      reply.kind = PerfReplyKind::kFailed;
      std::snprintf(reply.text, sizeof(reply.text), "%s", error.what());
      control_.send(reply);
      throw;
    }
    control_.send(reply);
  }

  // A client of our version sends nothing else; memory is at stake.
  void check(const PerfCommand& command) const {
    const std::uint64_t stride = (std::uint64_t{command.size_bytes} + 63) / 64 * 64;
    const bool good = command.size_bytes >= kPerfBytesMin && command.window >= 1 &&
                      stride * command.window <= hello_.area_bytes && command.tx_depth >= 1 &&
                      command.tx_depth <= hello_.tx_depth && command.signal_every >= 1 &&
                      command.signal_every <= command.tx_depth && command.batch >= 1 &&
                      command.batch <= command.tx_depth && command.pace < std::size(kLatPaces);
    if (!good) throw Error("the client asked for a run beyond what was agreed on");
  }

  PerfReply execute(const PerfCommand& command) {
    PerfReply reply;
    if (command.tool != PerfTool::kBandwidth) {
      data_->run_latency_server();
      return reply;
    }
    const std::uint32_t sends = command.bidirectional != 0 ? command.count : 0;
    const std::uint32_t receives = command.operation == PerfOperation::kSend ? command.count : 0;
    if (sends + receives == 0) return reply;
    const PerfRates rates = data_->run_bandwidth(sends, receives);
    reply.elapsed_ns = to_ns(rates.elapsed_ticks);
    reply.peak_bytes_per_s = static_cast<std::uint64_t>(rates.peak_bytes_per_tick *
                                                        static_cast<double>(clock::tsc_hz()));
    reply.rnr_waits = data_->rnr_waits();
    return reply;
  }

  static constexpr const char* kBusy = "the server is busy with another client; try again later";

  Device& device_;
  Listener& listener_;
  PerfHello hello_;
  FloorLines* floor_;
  ControlLink control_;
  std::unique_ptr<DataLink> data_;
};

// Served, or refused with a text that the client prints.
bool serve_request(Device& device, Listener& listener, ConnectionRequest& request,
                   const PerfServeEvents& events, const PerfServeOptions& options) {
  std::string text;
  const std::optional<PerfHello> hello = parse_hello(request.hello(), text);
  if (hello) text = objection(*hello, device.info());
  if (text.empty() && hello->connection != PerfConnection::kControl) {
    text = "there is no such session any more";
  }
  const std::string peer = request.peer();
  if (!text.empty()) {
    request.reject(text);
    if (events.served) events.served(peer, "refused: " + text);
    return false;
  }
  std::string failure;
  try {
    Session(device, listener, *hello, options.floor).serve(request, events);
  } catch (const Error& error) {
    if (!options.forever) throw;
    failure = error.what();
  }
  if (events.served) events.served(peer, failure);
  return true;
}

}  // namespace

std::string default_perf_endpoint(const std::string& provider) {
  if (provider != "shm") return "0.0.0.0:18515";  // perftest's port
  return (std::filesystem::temp_directory_path() / "tickpath.perf").string();
}

void serve_perf(const PerfServeOptions& options, const PerfServeEvents& events) {
  if (options.cpu >= 0) pin_this_thread(options.cpu);
  const std::unique_ptr<Device> device =
      open_device({options.provider, options.device, {}, options.security});
  const std::unique_ptr<Listener> listener = device->listen(options.endpoint);
  if (events.listening) events.listening(listener->endpoint(), device->info());
  for (bool more = true; more;) {
    pollfd ready{listener->file_descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 200);
    const std::unique_ptr<ConnectionRequest> request = listener->next();
    if (request == nullptr) {
      if (events.abandoned && events.abandoned()) return;
      continue;
    }
    const bool served = serve_request(*device, *listener, *request, events, options);
    more = options.forever || !served;
  }
}

}  // namespace tickpath::rdma::perf

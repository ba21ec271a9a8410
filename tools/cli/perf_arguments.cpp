#include "tools/cli/perf_arguments.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "tools/cli/security_options.hpp"
#include "tools/perf/baseline.hpp"
#include "tools/perf/server.hpp"

namespace tickpath::cli {

namespace perf = rdma::perf;

void add_perf_options(CLI::App& command, PerfArguments& arguments) {
  perf::PerfOptions& options = arguments.options;
  command.add_option("--provider", options.provider, "fabric provider: " + rdma::provider_list())
      ->capture_default_str();
  command.add_option("--device", options.device, "device (default: the first usable)");
  add_security_options(command, options.security);
  command.add_flag("--server", arguments.server,
                   "serve one client of lat or bw on --endpoint, then end");
  command.add_flag("--forever", arguments.forever, "with --server: one client after the other");
  command.add_option(
      "--endpoint", options.endpoint,
      "where the server is, or listens: a socket path (shm), host:port (verbs, ofi); "
      "without it the server is forked");
  command.add_flag("--fork", arguments.fork, "fork a server on --endpoint too");
  command
      .add_option("--cpus", arguments.cpus,
                  "client,server CPU (default: the first two allowed); one CPU for a client or "
                  "server alone (default: not pinned)")
      ->delimiter(',');
  command.add_option("--size", options.sizes, "message bytes, 2 to 8388608; several by comma")
      ->delimiter(',')
      ->capture_default_str();
  command.add_flag("--all", arguments.all_sizes, "sizes 2, 4, 8, ... 8388608");
  command.add_option("--iterations", options.iterations,
                     "messages a size (default: by size and provider)");
  command.add_option("--duration", options.duration_s, "seconds a size, instead of --iterations");
  command.add_option("--warmup", options.warmup,
                     "messages before, not counted (default: a tenth of the iterations)");
  command.add_option("--tx-depth", options.tx_depth, "requests under way at most")
      ->capture_default_str();
  command.add_option("--rx-depth", options.rx_depth,
                     "receives posted, less for long messages (default: 512; 32 for "
                     "a closed-loop latency)");
  command
      .add_option("--inline", options.inline_bytes,
                  "messages up to so many bytes go inline (default: up to 236, as granted)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--signal-every", options.signal_every, "requests a completion")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "machine-readable output");
  command.add_option("--save", arguments.save, "write the result as JSON: a baseline");
  command.add_option("--baseline", arguments.baseline,
                     "compare with a saved result; exit status 1 if a row is worse");
  command
      .add_option("--tolerance", arguments.tolerance_percent,
                  "how much worse than the baseline a row may be, in percent")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void run_perf_server(const PerfArguments& arguments) {
  perf::PerfServeOptions options;
  options.provider = arguments.options.provider;
  options.device = arguments.options.device;
  options.security = arguments.options.security;
  options.endpoint = arguments.options.endpoint.empty()
                         ? perf::default_perf_endpoint(options.provider)
                         : arguments.options.endpoint;
  options.forever = arguments.forever;
  if (arguments.cpus.size() > 1) throw Error("--cpus with --server takes one CPU");
  if (!arguments.cpus.empty()) options.cpu = arguments.cpus[0];
  perf::PerfServeEvents events;
  events.listening = [&](const std::string& endpoint, const rdma::DeviceInfo& device) {
    std::printf("listening on %s, provider %s (%s)\n", endpoint.c_str(), device.provider.c_str(),
                device.name.c_str());
    std::fflush(stdout);
  };
  events.serving = [](const std::string& peer) {
    std::printf("serving %s\n", peer.c_str());
    std::fflush(stdout);
  };
  events.served = [](const std::string& peer, const std::string& failure) {
    std::printf("%s: %s\n", peer.c_str(), failure.empty() ? "served" : failure.c_str());
    std::fflush(stdout);
  };
  perf::serve_perf(options, events);
}

perf::PerfReport run_perf_client(PerfArguments& arguments) {
  perf::PerfOptions& options = arguments.options;
  if (arguments.forever) throw Error("--forever belongs to --server");
  for (const std::string& name : arguments.operations) {
    options.operations.push_back(perf::parse_perf_operation(options.tool, name));
  }
  if (arguments.all_sizes) options.sizes = perf::perf_all_sizes();
  const bool client = !options.endpoint.empty() && !arguments.fork;
  options.mode = client ? perf::PerfMode::kClient : perf::PerfMode::kForked;
  if (!arguments.cpus.empty()) {
    const std::size_t wanted = client ? 1 : 2;
    if (arguments.cpus.size() != wanted) {
      throw Error(client ? "--cpus takes one CPU where the server runs elsewhere"
                         : "--cpus takes two CPUs: client,server");
    }
    options.client_cpu = arguments.cpus[0];
    if (!client) options.server_cpu = arguments.cpus[1];
  }
  if (options.tool == perf::PerfTool::kBesideFloor) options.pace = -1;
  if (!arguments.pace.empty() && arguments.pace != "auto") {
    options.pace = static_cast<int>(perf::parse_pace(arguments.pace));
  }
  try {
    return perf::run_perf(options);
  } catch (const rdma::SetupError& error) {
    if (!client || error.cause() == rdma::SetupCause::kNoDevice) throw;
    throw rdma::SetupError(error.cause(), std::string(error.what()) +
                                              " (a server is started there by `tickpath lat "
                                              "--server --provider " +
                                              options.provider + " --endpoint " + options.endpoint +
                                              "`)");
  }
}

void compare_and_save(const PerfArguments& arguments, const std::string& json) {
  // The baseline first: --save may name the same file.
  if (!arguments.baseline.empty()) {
    const double tolerance = arguments.tolerance_percent / 100;
    const perf::BaselineResult result =
        perf::compare(perf::read_text_file(arguments.baseline), json, tolerance);
    std::fputs(perf::to_text(result, tolerance).c_str(), arguments.json ? stderr : stdout);
    if (!result.within()) {
      std::fflush(stdout);
      throw Error("worse than the baseline " + arguments.baseline);
    }
  }
  if (!arguments.save.empty()) perf::write_text_file(arguments.save, json);
}

}  // namespace tickpath::cli

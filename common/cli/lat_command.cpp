#include "common/cli/lat_command.hpp"

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/rdma/perf/lat.hpp"

namespace tickpath::cli {
namespace {

struct LatArguments {
  rdma::perf::LatOptions options;
  std::vector<std::string> operations;
  std::vector<int> cpus;
  std::string pace = "auto";
  bool json = false;
};

void run_lat(LatArguments& arguments) {
  for (const std::string& name : arguments.operations) {
    arguments.options.operations.push_back(rdma::perf::parse_operation(name));
  }
  if (!arguments.cpus.empty()) {
    if (arguments.cpus.size() != 2) throw Error("--cpus takes two CPUs: client,server");
    arguments.options.client_cpu = arguments.cpus[0];
    arguments.options.server_cpu = arguments.cpus[1];
  }
  if (arguments.pace != "auto") {
    arguments.options.pace = static_cast<int>(rdma::perf::parse_pace(arguments.pace));
  }
  const rdma::perf::LatReport report = rdma::perf::measure_latency(arguments.options);
  const std::string text =
      arguments.json ? rdma::perf::to_json(report) : rdma::perf::to_text(report);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_lat_command(CLI::App& app) {
  auto arguments = std::make_shared<LatArguments>();
  rdma::perf::LatOptions& options = arguments->options;
  CLI::App* lat = app.add_subcommand(
      "lat", "latency of the fabric between two processes, and its ratio to one cache-line hop");
  lat->add_option("operations", arguments->operations,
                  "write, send, read, fetch_add, compare_swap (default: all)");
  lat->add_option("--provider", options.provider, "fabric provider")->capture_default_str();
  lat->add_option("--device", options.device, "device (default: the first usable)");
  lat->add_option("--size", options.sizes, "message bytes, multiples of 8; several by comma")
      ->delimiter(',')
      ->capture_default_str();
  lat->add_option("--iterations", options.iterations, "messages an operation")
      ->capture_default_str();
  lat->add_option("--warmup", options.warmup, "messages before each round, not counted")
      ->capture_default_str();
  lat->add_option("--rounds", options.rounds, "rounds; the floor is measured in each")
      ->capture_default_str();
  lat->add_option(
         "--pace", arguments->pace,
         "between two looks of a poll loop: tight, fence, \"2 fences\" (3, 5, 8), pause, "
         "\"2 pauses\" (3); auto: the best for each operation, tried out before each round")
      ->capture_default_str();
  lat->add_option("--cpus", arguments->cpus, "client,server CPU (default: the first two allowed)")
      ->delimiter(',');
  lat->add_flag("--json", arguments->json, "machine-readable output");
  lat->callback([arguments] { run_lat(*arguments); });
}

}  // namespace tickpath::cli

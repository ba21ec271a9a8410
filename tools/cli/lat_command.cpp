#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/perf_arguments.hpp"
#include "tools/perf/baseline.hpp"

namespace tickpath::cli {
namespace {

struct LatArguments {
  PerfArguments perf;
  std::string svg;
  bool histogram = false, perftest = false, beside_floor = false;
};

// What only perftest's table has; any of them chooses it.
constexpr const char* kTableOptions[] = {
    "--server",   "--forever", "--endpoint", "--fork",         "--all", "--duration", "--tx-depth",
    "--rx-depth", "--inline",  "--rate",     "--signal-every", "--svg", "--histogram"};

bool wants_table(const CLI::App& command, const LatArguments& arguments) {
  if (arguments.perftest) return true;
  if (arguments.beside_floor) return false;
  for (const char* option : kTableOptions) {
    if (command.count(option) != 0) return true;
  }
  const auto& sizes = arguments.perf.options.sizes;
  const bool odd_size = std::any_of(sizes.begin(), sizes.end(), [](std::uint32_t size) {
    return size % 8 != 0 || size > rdma::perf::kFloorBytesMax;
  });
  const auto& names = arguments.perf.operations;
  const bool immediate = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "write_with_imm" || name == "cas" || name == "faa";
  });
  return odd_size || immediate || arguments.perf.options.provider != "shm";
}

void run_lat(LatArguments& arguments) {
  if (arguments.perf.server) return run_perf_server(arguments.perf);
  const rdma::perf::PerfReport report = run_perf_client(arguments.perf);
  const std::string json = to_json(report);
  std::string text = arguments.perf.json ? json : to_text(report);
  if (arguments.histogram && !arguments.perf.json) text += to_histogram_text(report);
  std::fputs(text.c_str(), stdout);
  if (!arguments.svg.empty()) rdma::perf::write_text_file(arguments.svg, to_svg(report));
  compare_and_save(arguments.perf, json);
}

}  // namespace

void add_lat_command(CLI::App& app) {
  auto arguments = std::make_shared<LatArguments>();
  CLI::App* lat = add_other_command(app, "lat");
  lat->add_option("operations", arguments->perf.operations,
                  "write, write_with_imm, send, read, fetch_add, compare_swap (default: all)");
  add_perf_options(*lat, arguments->perf);
  lat->add_flag("--perftest", arguments->perftest, "perftest's columns");
  lat->add_flag("--floor", arguments->beside_floor,
                "beside the floor, whatever the provider; messages of multiples of 8 bytes")
      ->excludes("--perftest");
  lat->add_option("--rate", arguments->perf.options.rate,
                  "perftest: open loop, messages a second; latency counts from the scheduled time");
  lat->add_flag("--histogram", arguments->histogram, "perftest: distributions as text");
  lat->add_option("--svg", arguments->svg, "perftest: distributions as a picture, to this file");
  lat->add_option("--rounds", arguments->perf.options.rounds,
                  "beside the floor: rounds; the floor is measured in each")
      ->capture_default_str();
  lat->add_option(
      "--pace", arguments->perf.pace,
      "between two looks of a poll loop: tight, fence, \"2 fences\" (3, 5, 8), pause, \"2 pauses\" "
      "(3); auto: the best for each operation, tried out before each round (beside the floor; "
      "tight in perftest's loops)");
  lat->callback([arguments, lat] {
    if (!wants_table(*lat, *arguments)) {
      arguments->perf.options.tool = rdma::perf::PerfTool::kBesideFloor;
    }
    run_lat(*arguments);
  });
}

}  // namespace tickpath::cli

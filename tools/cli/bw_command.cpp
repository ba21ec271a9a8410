#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/perf_arguments.hpp"

namespace tickpath::cli {
namespace {

void run_bw(PerfArguments& arguments) {
  if (arguments.server) return run_perf_server(arguments);
  const rdma::perf::PerfReport report = run_perf_client(arguments);
  const std::string json = to_json(report);
  std::fputs((arguments.json ? json : to_text(report)).c_str(), stdout);
  compare_and_save(arguments, json);
}

}  // namespace

void add_bw_command(CLI::App& app) {
  auto arguments = std::make_shared<PerfArguments>();
  arguments->options.tool = rdma::perf::PerfTool::kBandwidth;
  arguments->options.sizes = {65'536};
  CLI::App* bw = add_other_command(app, "bw");
  bw->add_option("operations", arguments->operations, "write, send, read (default: all)");
  add_perf_options(*bw, *arguments);
  bw->add_option("--batch", arguments->options.batch, "requests a doorbell (one list)")
      ->capture_default_str();
  bw->add_flag("--bidirectional", arguments->options.bidirectional,
               "both sides send at once; the figures are the sum");
  bw->callback([arguments] { run_bw(*arguments); });
}

}  // namespace tickpath::cli

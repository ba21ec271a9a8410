#include "tools/report/report_command.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/replace_file.hpp"
#include "tools/report/page.hpp"
#include "tools/report/run_report.hpp"

namespace tickpath::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> run_dirs{"run"};
  std::string out;
  std::string libraries;
};

void run_report(const ReportArguments& arguments) {
  const report::ChartLibraries libraries = report::read_libraries(arguments.libraries);
  const std::string page = report::page_html(report::content_of(arguments.run_dirs), libraries);
  const std::string path =
      arguments.out.empty() ? arguments.run_dirs.front() + "/report.html" : arguments.out;
  replace_file(path, {page});
  std::printf("report: %s\n", path.c_str());
  if (libraries.missing.empty()) return;
  std::string packages;
  for (const std::string& each : libraries.missing) packages += " " + each;
  std::fprintf(stderr, "its charts are plain pictures; for those that zoom: apt-get install%s\n",
               packages.c_str());
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "report", "A run as one page: latency, causes of the slowest, P&L, orders and fills");
  auto arguments = std::make_shared<ReportArguments>();
  command
      ->add_option("run", arguments->run_dirs,
                   "Run directory; of several hosts the directory of each")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "File to write (default: report.html there)");
  command->add_option("--libraries", arguments->libraries,
                      "Folder with d3.min.js, dygraph.min.js and dygraph.min.css, where they are "
                      "not Debian's packages node-d3 and libjs-dygraphs");
  command->footer(
      "The page loads nothing from anywhere, and may be sent to somebody. Findings of the\n"
      "machine stand beside the hops that they explain, if they are in the run directory:\n"
      "  tickpath doctor --config config/demo --json > run/doctor.json");
  command->callback([arguments] { run_report(*arguments); });
}

}  // namespace tickpath::cli

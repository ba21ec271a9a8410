#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "tools/cli/audit.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

// Whatever the hosts, a whole pipeline has one of each.
void add_programs_of_a_pipeline(Remains& remains) {
  for (const char* program : {"sim", "mdh", "oeg", "risk", "strategy"}) {
    const auto counts = [&](const control::Summary& each) {
      return each.program == program && !each.stood_by;
    };
    const auto is_missing = [&](const std::string& name) {
      return program_of(name) == program &&
             std::ranges::find(remains.summaries, name, &control::Summary::name) ==
                 remains.summaries.end();
    };
    if (std::ranges::none_of(remains.summaries, counts) &&
        std::ranges::none_of(remains.expected, is_missing))
      remains.expected.emplace_back(program);
  }
}

void run_books(const std::vector<std::string>& run_dirs) {
  Remains remains = remains_of(run_dirs);
  add_programs_of_a_pipeline(remains);
  const Conservation conservation = audit(remains);
  std::fputs(to_text(conservation).c_str(), stdout);
  std::fflush(stdout);
  if (!conservation.holds()) throw Error(conservation.problem());
}

}  // namespace

void add_books_command(CLI::App& app) {
  auto* command = add_other_command(app, "books");
  auto run_dirs = std::make_shared<std::vector<std::string>>();
  command->add_option("run-dir", *run_dirs, "One of each host, copied to this one")->required();
  command->callback([run_dirs] { run_books(*run_dirs); });
}

}  // namespace tickpath::cli

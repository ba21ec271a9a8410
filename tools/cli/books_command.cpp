#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/conservation.hpp"

namespace tickpath::cli {
namespace {

void run_books(const std::vector<std::string>& run_dirs) {
  std::vector<std::string> expected;
  for (const std::string& run_dir : run_dirs) {
    const std::vector<std::string> names = instances_in(run_dir);
    if (names.empty()) throw Error("no program left a summary in '" + run_dir + "'");
    for (const std::string& name : names) {
      if (std::find(expected.begin(), expected.end(), name) != expected.end())
        throw Error("'" + name + "' left a summary in more than one of the run directories");
      expected.push_back(name);
    }
  }
  const std::vector<control::Summary> summaries = read_summaries(run_dirs);
  // Whatever the hosts, a whole pipeline has one of each.
  for (const char* program : {"sim", "mdh", "oeg", "risk", "strategy"})
    if (std::none_of(summaries.begin(), summaries.end(), [&](const control::Summary& each) {
          return each.program == program && !each.stood_by;
        }))
      expected.emplace_back(program);
  const Conservation conservation = check_conservation(summaries, expected);
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

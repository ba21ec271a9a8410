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
#include "tools/cli/record_audit.hpp"

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

struct BooksArguments {
  std::vector<std::string> run_dirs;
  bool recordings = false;
};

void run_books(const BooksArguments& arguments) {
  Remains remains = remains_of(arguments.run_dirs);
  remains.with_recordings = arguments.recordings;
  add_programs_of_a_pipeline(remains);
  Conservation conservation = audit(remains);
  for (Conservation::Line& line : record_lines(remains))
    conservation.lines.push_back(std::move(line));
  std::fputs(to_text(conservation).c_str(), stdout);
  std::fflush(stdout);
  if (!conservation.holds()) throw Error(conservation.problem());
}

}  // namespace

void add_books_command(CLI::App& app) {
  auto* command = add_other_command(app, "books");
  auto arguments = std::make_shared<BooksArguments>();
  command->add_option("run-dir", arguments->run_dirs, "One of each host, copied to this one")
      ->required();
  command->add_flag("--recording", arguments->recordings,
                    "Read what was replayed, too, and hold it against what sim says of it");
  command->callback([arguments] { run_books(*arguments); });
}

}  // namespace tickpath::cli

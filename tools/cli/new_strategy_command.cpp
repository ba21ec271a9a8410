#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/new_strategy.hpp"

namespace tickpath::cli {

void add_new_strategy_command(CLI::App& app) {
  struct Arguments {
    std::string name;
    std::string folder = ".";
  };
  CLI::App* const command = add_other_command(app, "new-strategy");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("name", arguments->name,
                   "Of the strategy, its folder and its files: small letters, digits, underscores")
      ->required();
  command->add_option("--dir", arguments->folder, "Where its folder is made")
      ->capture_default_str();
  command->callback([arguments] {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    const std::filesystem::path made =
        write_project({arguments->name, arguments->folder, installed_prefix(program)});
    std::printf("%s: README.md there has the commands that build, test and replay it\n",
                made.c_str());
  });
}

}  // namespace tickpath::cli

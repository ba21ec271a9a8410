#include "common/control/command_line.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "common/config/values.hpp"
#include "common/control/help_formatter.hpp"

namespace tickpath::control {

std::optional<CommandLine> parse_command_line(int argc, char** argv, const std::string& program,
                                              const std::string& description, bool several,
                                              int& exit_status) {
  CLI::App app("tickpath " + program + ": " + description, program);
  app.formatter(help_formatter());
  CommandLine line;
  std::string run_dir;
  if (several)
    app.add_option("config", line.config_paths,
                   "Configuration, a TOML file. Several: an instance of each in this one process, "
                   "on one datapath thread; each has the name of its file");
  else
    app.add_option("config", line.config_paths, "Configuration, a TOML file")->expected(1);
  app.add_option("--set", line.overrides,
                 several ? "key=value: overrides the file; NAME:key=value: that of one instance; "
                           "may be repeated"
                         : "key=value: overrides the file; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--run-dir", run_dir, "Short for --set run_dir=DIR");
  app.add_flag("--check", line.check, "Read the configuration, report what is wrong, and end");
  app.add_flag("--print-config", line.print_config,
               "Print every key with its help and the value in effect (without a file: the "
               "default), and end");
  app.footer(
      "Exit status: 0 ended in order; 1 failed; 2 wrong arguments or configuration; 75 the RDMA "
      "device was taken away: start it again.");
  app.set_version_flag("--version", std::string("tickpath ") + TICKPATH_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_status = app.exit(error) == 0 ? kExitOk : kExitUsage;
    return std::nullopt;
  }
  if (line.config_paths.empty() && !line.print_config) {
    std::fprintf(stderr, "%s: which configuration? For example: %s config/demo/%s.toml\n",
                 program.c_str(), program.c_str(), program.c_str());
    exit_status = kExitUsage;
    return std::nullopt;
  }
  if (!run_dir.empty()) line.overrides.push_back("run_dir=" + run_dir);
  return line;
}

std::pair<std::string, std::string> split_scope(const std::string& setting) {
  const std::size_t colon = setting.find(':');
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos)
    throw config::ConfigError({"--set " + setting + ": write key=value"});
  if (colon == std::string::npos || colon > equals) return {"", setting};
  return {setting.substr(0, colon), setting.substr(colon + 1)};
}

int finish_output(const std::string& program, int status) {
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || status != kExitOk) return status;
  // The cause is not known: it may have been an earlier write that failed.
  std::fprintf(stderr, "%s: cannot write to standard output; is its disk full?\n", program.c_str());
  return kExitFailed;
}

}  // namespace tickpath::control

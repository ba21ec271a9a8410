#include "common/control/program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/control/command_line.hpp"
#include "common/control/process.hpp"

namespace tickpath::control::detail {
namespace {

void tell(const ErasedProgram& program, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems)
    std::fprintf(stderr, "%s: %s\n", program.program.c_str(), problem.c_str());
}

// "config/venues/oeg-1.toml" -> "oeg-1"
std::string stem(const std::string& path) { return std::filesystem::path(path).stem(); }

// The overrides that concern this configuration. One without a scope concerns all of them.
std::vector<std::string> overrides_of(const CommandLine& line, const std::string& path,
                                      bool scoped) {
  if (!scoped) return line.overrides;
  std::vector<std::string> result;
  for (const std::string& setting : line.overrides) {
    const auto [scope, assignment] = split_scope(setting);
    const auto names = [&whose = scope](const std::string& each) { return stem(each) == whose; };
    if (!scope.empty() && std::ranges::none_of(line.config_paths, names))
      throw config::ConfigError({"--set " + setting + ": no configuration of that name is given"});
    if (scope.empty() || scope == stem(path)) result.push_back(assignment);
  }
  return result;
}

// Empty path: the defaults. False: told on stderr.
bool load(const ErasedProgram& program, const CommandLine& line, const std::string& path,
          ErasedInstance& instance) {
  try {
    const auto& schema = *program.schema;
    const auto overrides = overrides_of(line, path, program.several);
    if (path.empty())
      config::detail::read_text(schema, instance.config.get(), "", "defaults", overrides);
    else
      config::detail::read_file(schema, instance.config.get(), path, overrides);
  } catch (const config::ConfigError& error) {
    // Printing the defaults must work although a required key has none.
    if (line.print_config && path.empty() && line.overrides.empty()) return true;
    tell(program, error.problems());
    return false;
  } catch (const Error& error) {
    tell(program, {error.what()});
    return false;
  }
  return true;
}

// name: of an instance that has none by its configuration.
void resolve_names(const ErasedProgram& program, ErasedInstance& instance,
                   const std::string& name) {
  CommonConfig& common = *instance.common;
  if (common.name.empty()) common.name = name;
  config::detail::substitute(*program.schema, instance.config.get(), "run_dir", common.run_dir);
  config::detail::substitute(*program.schema, instance.config.get(), "name", common.name);
}

int print(const ErasedProgram& program, const CommandLine& line,
          const std::vector<ErasedInstance>& instances) {
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (instances.size() > 1) std::printf("# %s\n", line.config_paths[i].c_str());
    std::fputs(config::detail::print(*program.schema, instances[i].config.get()).c_str(), stdout);
  }
  return kExitOk;
}

int check(const ErasedProgram& program, const CommandLine& line,
          const std::vector<ErasedInstance>& instances) {
  std::vector<std::string> problems = problems_together(instances);
  for (const ErasedInstance& instance : instances)
    for (const std::string& problem : instance.check()) problems.push_back(problem);
  tell(program, problems);
  if (!problems.empty()) return kExitUsage;
  for (const ErasedInstance& instance : instances)
    for (const std::string& advice : instance.advice())
      std::fprintf(stderr, "%s: warning: %s\n", program.program.c_str(), advice.c_str());
  for (const std::string& path : line.config_paths)
    std::printf("%s: %s is fine\n", program.program.c_str(), path.c_str());
  return kExitOk;
}

}  // namespace

int run_erased(int argc, char** argv, const ErasedProgram& program) {
  int exit_status = kExitOk;
  const auto line = parse_command_line(argc, argv, program.program, program.description,
                                       program.several, exit_status);
  if (!line) return finish_output(program.program, exit_status);
  std::vector<std::string> paths = line->config_paths;
  if (paths.empty()) paths.emplace_back();
  std::vector<ErasedInstance> instances;
  for (const std::string& path : paths) {
    instances.push_back(program.make());
    if (!load(program, *line, path, instances.back())) return kExitUsage;
  }
  if (line->print_config) return finish_output(program.program, print(program, *line, instances));
  for (std::size_t i = 0; i < paths.size(); ++i)
    resolve_names(program, instances[i], paths.size() > 1 ? stem(paths[i]) : program.program);
  if (line->check) return finish_output(program.program, check(program, *line, instances));
  if (const auto problems = problems_together(instances); !problems.empty()) {
    tell(program, problems);
    return kExitUsage;
  }
  // Whatever is written is for our user alone: logs, journals, traces, FIX stores.
  ::umask(0077);
  // A peer that closes its socket is an error code here, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that reaches the limit on its size (ulimit -f) is as a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  keep_freed_memory();
  return Process(program, std::move(instances)).run();
}

}  // namespace tickpath::control::detail

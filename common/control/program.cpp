#include "common/control/program.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>

#include <sys/stat.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/control/command_line.hpp"
#include "common/control/crash_report.hpp"
#include "common/control/run_directory.hpp"
#include "common/control/runtime_impl.hpp"
#include "common/control/signals_blocked.hpp"
#include "common/log/log.hpp"

namespace tickpath::control::detail {
namespace {

// False: told on stderr.
bool load(const ErasedProgram& program, const CommandLine& line) {
  try {
    const auto& schema = *program.schema;
    if (line.config_path.empty())
      config::detail::read_text(schema, program.config.get(), "", "defaults", line.overrides);
    else
      config::detail::read_file(schema, program.config.get(), line.config_path, line.overrides);
  } catch (const config::ConfigError& error) {
    // Printing the defaults must work although a required key has none.
    if (line.print_config && line.config_path.empty() && line.overrides.empty()) return true;
    for (const std::string& problem : error.problems())
      std::fprintf(stderr, "%s: %s\n", program.program.c_str(), problem.c_str());
    return false;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", program.program.c_str(), error.what());
    return false;
  }
  return true;
}

void resolve_names(const ErasedProgram& program) {
  CommonConfig& common = *program.common;
  if (common.name.empty()) common.name = program.program;
  config::detail::substitute(*program.schema, program.config.get(), "run_dir", common.run_dir);
  config::detail::substitute(*program.schema, program.config.get(), "name", common.name);
}

int check(const ErasedProgram& program, const std::string& path) {
  const std::vector<std::string> problems = program.check();
  for (const std::string& problem : problems)
    std::fprintf(stderr, "%s: %s\n", program.program.c_str(), problem.c_str());
  if (!problems.empty()) return kExitUsage;
  std::printf("%s: %s is fine\n", program.program.c_str(), path.c_str());
  return kExitOk;
}

void open_log(const CommonConfig& common) {
  log::Options options;
  options.name = common.name;
  options.path = common.run_dir + "/" + common.name + ".log";
  options.file_level = common.log_level;
  log::open(options);
}

// The shortest that the kernel gives: what waits for a core that others use is a message.
constexpr std::int64_t kTimeSliceNs = 100'000;

int run_loaded(const ErasedProgram& program) {
  const CommonConfig& common = *program.common;
  try {
    const RunDirectory directory(common.run_dir, common.name);
    // What an earlier run left must not pass for ours.
    std::filesystem::remove(common.run_dir + "/" + common.name + ".summary.json");
    open_log(common);
    log::info("tickpath {} {} starts; configuration in effect:\n{}", program.program,
              TICKPATH_VERSION, config::detail::print(*program.schema, program.config.get()));
    report_crashes(common.name);
    (void)set_time_slice(kTimeSliceNs);  // of every thread that follows, too
    const CrashStack crash_stack;
    RuntimeImpl runtime(program.program, common, program.open_device);
    const std::unique_ptr<Application> application = program.create(runtime);
    const int status = runtime.run(*application);
    // `tickpath up` sends SIGTERM to what `tickpath down` has just stopped.
    block_signals_until_exit();
    log::flush();
    return status;
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    log::flush();
    return kExitFailed;
  }
}

}  // namespace

int run_erased(int argc, char** argv, const ErasedProgram& program) {
  int exit_status = kExitOk;
  const auto line =
      parse_command_line(argc, argv, program.program, program.description, exit_status);
  if (!line) return finish_output(program.program, exit_status);
  if (!load(program, *line)) return kExitUsage;
  if (line->print_config) {
    std::fputs(config::detail::print(*program.schema, program.config.get()).c_str(), stdout);
    return finish_output(program.program, kExitOk);
  }
  resolve_names(program);
  if (line->check) return finish_output(program.program, check(program, line->config_path));
  // Whatever is written is for our user alone: logs, journals, traces, FIX stores.
  ::umask(0077);
  // A peer that closes its socket is an error code here, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // Likewise a file that reaches the limit on its size (ulimit -f): as a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  keep_freed_memory();
  return run_loaded(program);
}

}  // namespace tickpath::control::detail

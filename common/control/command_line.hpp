// The command line that every program has.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tickpath::control {

// Exit status of programs and tools; scripts rely on them.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  // The RDMA device was taken away from under the program: start it again (EX_TEMPFAIL of
  // sysexits.h(3head): a temporary failure).
  kExitDeviceLost = 75,
};

struct CommandLine {
  std::vector<std::string> config_paths;  // none only with print_config
  std::vector<std::string> overrides;     // "[instance:]key=value", --run-dir included
  bool check = false;
  bool print_config = false;
};

// Sets `exit_status`, and returns nothing, where there is nothing left to do (--help, an error;
// what there is to say has been said). several: the program takes more than one configuration.
std::optional<CommandLine> parse_command_line(int argc, char** argv, const std::string& program,
                                              const std::string& description, bool several,
                                              int& exit_status);

// "mdh:feed.port=1" into its scope and the rest; without a scope the first is empty. A colon behind
// the "=" belongs to the value. Throws config::ConfigError.
std::pair<std::string, std::string> split_scope(const std::string& setting);

// The last call of a main(). `status`; kExitFailed if all went well but that standard output could
// not be written (`>` to a full disk), which is said on stderr.
int finish_output(const std::string& program, int status);

}  // namespace tickpath::control

// Which program of a pipeline runs on which host: hosts.toml of a configuration directory, and how
// ssh is called for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/control/json.hpp"
#include "common/control/run_directory.hpp"

namespace tickpath::cli {

struct Host {
  std::string name;                            // what output and errors call it
  std::string destination;                     // "market" or "user@10.77.0.2", as ssh takes it
  std::string folder;                          // there, absolute: programs run in it
  std::string binaries = "build/release/bin";  // there, below the folder unless absolute
  std::string run_dir = "run";                 // likewise
  std::vector<std::string> programs;           // instances
  std::vector<std::string> options;            // "Port=2222", for ssh -o
  std::int64_t patience_ns = 10'000'000'000;   // without a connection

  // Absolute, of a path there.
  std::string there(const std::string& path) const;
};

// One [[host]] each; none where the directory has no hosts.toml. Nothing in it can be taken for
// something else by ssh or by a shell. Throws ConfigError with everything that is wrong, also for a
// program without a file in the directory, and SystemError.
std::vector<Host> read_hosts(const std::string& config_dir);

// Null: it runs here.
const Host* host_of(const std::vector<Host>& hosts, const std::string& instance);

// The command that connects to the host and runs its `tickpath agent`, ssh's path first. It asks
// nobody anything, takes no host that ssh does not know, and gives up in bounded time.
// forward: "LOCAL:THERE", two Unix sockets, or empty. Throws Error where there is no ssh.
std::vector<std::string> agent_command(const Host& host, const std::string& forward);

// For a person: "ssh -o Port=2222 market".
std::string ssh_text(const Host& host);

// A program of this pipeline on another host, as its proxy here must know it. Kept in
// <run_dir>/<name>.remote from before its start until it is known to have ended.
struct RemoteProgram {
  Host host;
  std::string name;
  std::string program;
  std::string config;                 // text of its file
  std::vector<std::string> settings;  // "key=value"
  bool detached = false;              // goes on without us
  control::Part part{};               // as its configuration says
};

// <name> + this, in the run directory here: the host that it ran on, where its journal and log are.
inline constexpr const char* kRanOn = ".host";

void write_remote(const std::string& run_dir, const RemoteProgram& program);
void forget_remote(const std::string& run_dir, const std::string& name) noexcept;
bool is_remote(const std::string& run_dir, const std::string& name);
// Throws Error, SystemError.
RemoteProgram read_remote(const std::string& run_dir, const std::string& name);
// Throws Error for a program that runs on another host: `what` is there, and the command with which
// to ask for it there.
void require_here(const std::string& run_dir, const std::string& name, const std::string& what,
                  const std::string& command);
// All of a run directory, sorted by name.
std::vector<std::string> remote_names(const std::string& run_dir);

}  // namespace tickpath::cli

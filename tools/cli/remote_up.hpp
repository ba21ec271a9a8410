// The other hosts of a pipeline, as `tickpath up`, `down` and `status` see them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/remote_hosts.hpp"

namespace tickpath::cli {

// Asks all hosts at a time whether their programs (Host::programs) can run there: a folder that can
// be used, binaries of this version, nothing of that name running. Returns their machine_id() by
// name. Throws ConfigError with everything that is wrong, each line with its host; bounded by
// AgentLink::kOpenNs and the programs' own start.
std::map<std::string, std::string> probe_hosts(const std::vector<Host>& hosts);

// What programs of other hosts print, their host's name ahead of each line, as it comes into
// <run_dir>/<name>.out. One thread.
class RemoteOutput {
 public:
  explicit RemoteOutput(std::string run_dir) : run_dir_(std::move(run_dir)) {}
  void add(const std::string& name, const std::string& host) { programs_[name].host = host; }
  // Whole lines since the last call.
  std::vector<std::string> look();

 private:
  struct Shown {
    std::string host;
    std::uint64_t begin = 0;  // of what is not shown yet
  };
  std::string run_dir_;
  std::map<std::string, Shown> programs_;
};

// Programs of other hosts whose proxy here has gone although they are not known to have ended.
std::vector<std::string> lost_programs(const std::string& run_dir);
// All that run or have run here, and those of other hosts that cannot be reached.
std::vector<std::string> all_that_ran(const std::string& run_dir);

// Gives each of them a proxy again, in the background. Waits until it has the program, or has found
// that it has ended, or cannot reach the host; what went wrong, a line each. Throws SystemError.
std::vector<std::string> attach_programs(const std::string& run_dir,
                                         const std::vector<std::string>& names);

// "order": the host of a program of this run directory; empty: this one.
std::string host_name_of(const std::string& run_dir, const std::string& name);

}  // namespace tickpath::cli

// The directory in which the programs of one run meet.
#pragma once

#include <string>
#include <vector>

namespace tickpath::control {

// Makes the directory and holds <name>.pid locked, so that one instance of a name runs in it.
// Control thread.
class RunDirectory {
 public:
  // Throws Error naming the process that already has the name, SystemError for anything else.
  RunDirectory(const std::string& directory, const std::string& name);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // The process that holds <name>.pid there, or 0.
  static int holder(const std::string& directory, const std::string& name);
  // Names that have a pid file there, running or not, sorted.
  static std::vector<std::string> names(const std::string& directory);

 private:
  int lock_ = -1;
};

}  // namespace tickpath::control

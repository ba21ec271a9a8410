// The directory in which the programs of one run meet.
#pragma once

#include <string>
#include <vector>

#include "common/net/file_descriptor.hpp"

namespace tickpath::control {

// Makes it, open to its owner alone, where it is not there yet. Throws SystemError, and Error for
// one that is another user's or that others can write.
void make_run_directory(const std::string& directory);

// Makes the directory and holds <name>.pid locked, so that one instance of a name runs in it.
// Control thread.
class RunDirectory {
 public:
  // Throws Error naming the process that already has the name, or as make_run_directory();
  // SystemError for anything else.
  RunDirectory(const std::string& directory, const std::string& name);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // The process that wrote <name>.pid there and lives; 0: none. Another one that has its number by
  // now is not it. Throws SystemError where we may not look.
  static int holder(const std::string& directory, const std::string& name);
  // Names that have a pid file there, running or not, sorted; none where there is no such
  // directory. Throws SystemError where we may not look.
  static std::vector<std::string> names(const std::string& directory);
  // Takes <name>.pid away, as if it had never run there; not while it runs. Throws as the above.
  static void forget(const std::string& directory, const std::string& name);

 private:
  bool try_lock(const std::string& path);

  net::FileDescriptor lock_;
};

}  // namespace tickpath::control

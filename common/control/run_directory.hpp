// The directory in which the programs of one run meet.
#pragma once

#include <string>
#include <vector>

#include "common/net/file_descriptor.hpp"

namespace tickpath::control {

// Makes it, open to its owner alone, where it is not there yet. Throws SystemError, and Error for
// one that is another user's or that others can write.
void make_run_directory(const std::string& directory);

// Which part of a pipeline an instance is. <name>.pid keeps it after the instance's end, when
// nobody can be asked any more.
struct Part {
  std::string program;  // "oeg"; empty: not known
  int venue = 0;        // CommonConfig::venue
  std::string shard;    // of an oeg; empty: it trades the whole venue
};

// Makes the directory and holds <name>.pid locked, so that one instance of a name runs in it.
// Control thread.
class RunDirectory {
 public:
  // Throws Error naming the process that already has the name, or as make_run_directory();
  // SystemError for anything else.
  RunDirectory(const std::string& directory, const std::string& name, const Part& part = {});
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // The process that wrote <name>.pid there and lives; 0: none. Another one that has its number by
  // now is not it. Throws SystemError where we may not look.
  static int holder(const std::string& directory, const std::string& name);
  // Whether a process of another container (pid namespace) or of another host has the name. The
  // lock says so. Its number means nothing here, and holder() is 0.
  static bool held_elsewhere(const std::string& directory, const std::string& name);
  // As its last holder said.
  static Part part(const std::string& directory, const std::string& name);
  // Removes <name>.pid, unless somebody holds it: names() leaves it out from now on.
  static void forget(const std::string& directory, const std::string& name);
  // Names that have a pid file there, running or not, sorted; none where there is no such
  // directory. Throws SystemError where we may not look.
  static std::vector<std::string> names(const std::string& directory);

 private:
  bool try_lock(const std::string& path);
  void refuse_if_held(const std::string& directory, const std::string& name) const;
  void write(int number, const std::string& path) const;

  net::FileDescriptor lock_;
  Part part_;
};

}  // namespace tickpath::control

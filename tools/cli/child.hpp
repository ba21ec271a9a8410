// One program that `tickpath up` started.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tickpath::cli {

// Movable by pointer only. Killed, if it still runs, when this object goes.
class Child {
 public:
  // Starts it: output (both streams) to a file, a process group of its own (so that Ctrl-C reaches
  // `up` alone, which stops in order), SIGTERM if `up` dies. Throws SystemError, also where the
  // program cannot be executed.
  Child(const std::vector<std::string>& arguments, const std::string& output_path,
        const std::map<std::string, std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  int exit_descriptor() const noexcept { return pidfd_; }  // readable once it has ended
  // Collects its end without waiting. True once it has ended.
  bool ended();
  // Waits; false after the limit.
  bool wait(int timeout_ms);
  void signal(int number) noexcept;

  // After its end: 0 is success. "exited with 3", "killed by signal 9 (Killed)".
  bool succeeded() const noexcept;
  std::string how_it_ended() const;

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace tickpath::cli

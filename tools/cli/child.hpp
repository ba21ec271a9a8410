// One program that `tickpath up` started.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/net/file_descriptor.hpp"

namespace tickpath::cli {

// Our ends of a child's standard input, output and errors; what is read never waits.
struct ChildPipes {
  net::FileDescriptor input;
  net::FileDescriptor output;
  net::FileDescriptor errors;
};

// Movable by pointer only. Killed, if it still runs, when this object goes.
class Child {
 public:
  // Starts it: output (both streams) to a file, a process group of its own (so that Ctrl-C reaches
  // `up` alone, which stops in order), SIGTERM if `up` dies. Throws SystemError, also where the
  // program cannot be executed.
  Child(const std::vector<std::string>& arguments, const std::string& output_path,
        const std::map<std::string, std::string>& environment);
  // The same, with our environment and with pipes that `pipes` gets our ends of.
  Child(const std::vector<std::string>& arguments, ChildPipes& pipes);
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

  int status() const noexcept { return status_; }  // after its end, as waitpid() tells it
  // After its end: 0 is success. "exited with 3", "killed by signal 9 (Killed)".
  bool succeeded() const noexcept;
  std::string how_it_ended() const;

 private:
  // streams: what becomes its standard input (-1: ours), output and errors. They stay open here.
  void start(const std::vector<std::string>& arguments,
             const std::map<std::string, std::string>& environment,
             const std::array<int, 3>& streams);

  pid_t pid_ = -1;
  int pidfd_ = -1;
  bool ended_ = false;
  bool told_ = false;  // status_ is its end; else somebody else collected it
  int status_ = 0;
};

// The same words for a status of waitpid(), of whatever process.
std::string how_ended(int status);

}  // namespace tickpath::cli

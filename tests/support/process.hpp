// Runs programs under test as a user would: with arguments, a time limit, and their output kept.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include <sys/types.h>

#include "tests/support/folder.hpp"

namespace tickpath::test_support {

struct Finished {
  int exit_code = -1;  // -1: ended by a signal, or by us after the time limit
  int signal = 0;
  bool timed_out = false;
  std::string output;  // stdout and stderr, in the order in which they came
};

// A child process whose output is gathered by a pipe. Killed (with its process group) when this
// object goes, so that no test leaves a program behind.
class Process {
 public:
  // arguments[0] is the program's path. environment: added to ours.
  explicit Process(const std::vector<std::string>& arguments, const std::string& folder = "",
                   const std::map<std::string, std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const noexcept { return id_; }
  void signal(int number) const;
  // Waits until `text` stands in the output; false when the process ended or time ran out.
  bool wait_for_output(const std::string& text, std::chrono::milliseconds limit);
  // Waits for the end; kills after the limit.
  Finished wait(std::chrono::milliseconds limit = std::chrono::seconds(60));
  const std::string& output() const noexcept { return output_; }

 private:
  bool read_some(std::chrono::milliseconds limit);

  pid_t id_ = -1;
  int output_descriptor_ = -1;
  bool reaped_ = false;
  std::string output_;
};

Finished run(const std::vector<std::string>& arguments, const std::string& folder = "",
             std::chrono::milliseconds limit = std::chrono::seconds(60),
             const std::map<std::string, std::string>& environment = {});

// build/<preset>/bin/NAME, by the environment variable that ctest sets.
std::string program(const std::string& name);
// A path in the source tree.
std::string source(const std::string& path);
// A path below the recordings' folder, "" where it is absent (the caller skips with a reason).
std::string recording(const std::string& path);

}  // namespace tickpath::test_support

// One process and the instances of its program: one nearly always, several where configurations
// are given together (DESIGN.md, "Several instances in one process").
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/control/program.hpp"
#include "common/control/run_directory.hpp"
#include "common/control/runtime_impl.hpp"

namespace tickpath::control {

// The first instance's control thread is main()'s, the others have threads of their own; one
// datapath thread turns them all. They begin together and end together: whichever is asked to stop,
// or fails, has all of them stop in order.
class Process {
 public:
  // The configurations are loaded and agree (problems_together()); the first names the process.
  Process(const detail::ErasedProgram& program, std::vector<detail::ErasedInstance> loaded);
  ~Process();

  // From the first line in the log to the last. The exit status: the gravest of theirs.
  int run();

 private:
  struct Instance {
    detail::ErasedInstance loaded;
    std::unique_ptr<RunDirectory> directory;
    std::unique_ptr<RuntimeImpl> runtime;
    std::unique_ptr<Application> application;
    int status = 0;
  };

  void live(Instance& instance) noexcept;
  void enter(Instance& instance);
  void stop_all(const std::string& why);

  const detail::ErasedProgram& program_;
  std::shared_ptr<DatapathThread> thread_;
  std::vector<Instance> instances_;
  std::mutex mutex_;  // control threads: what follows, and each instance's `runtime`
  std::string ends_;  // why all stop; empty: nothing does
};

// Why these cannot be in one process; empty: they can.
std::vector<std::string> problems_together(const std::vector<detail::ErasedInstance>& instances);

}  // namespace tickpath::control

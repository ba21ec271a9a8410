// `tickpath agent`: what ssh runs on another host for `tickpath up`. It starts one program there,
// or takes charge of one that runs, passes on what it prints and how it ends with the files that it
// leaves, and ends it when nobody is heard from any more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/control/json.hpp"
#include "common/net/file_descriptor.hpp"
#include "tools/cli/child.hpp"
#include "tools/cli/remote_messages.hpp"

namespace tickpath::cli {

// A program of this host's run directory: our child, or one that another agent has started. That
// one, its parent, leaves how it ended in <run_dir>/<name>.ended for us.
class HostedProgram {
 public:
  // Throws Error, SystemError; Error as well where the name runs there already.
  static HostedProgram start(const control::Json& request);
  // pid() is 0 where it does not run any more.
  static HostedProgram find(const control::Json& request);

  pid_t pid() const noexcept { return pid_; }
  int descriptor() const noexcept { return child_ ? child_->exit_descriptor() : process_.get(); }
  bool ended();
  void signal(int number);
  // After its end: as waitpid() tells it; null where its parent left no word.
  control::Json status();
  // "<run_dir>/<name>" and this behind it.
  std::string path(const std::string& ending) const { return stem_ + ending; }
  const std::string& name() const noexcept { return name_; }

  // The agent that came last is in charge.
  void take_charge() const;
  bool in_charge() const;

 private:
  explicit HostedProgram(const control::Json& request);

  std::string run_dir_;
  std::string name_;
  std::string stem_;
  std::unique_ptr<Child> child_;
  net::FileDescriptor process_;
  pid_t pid_ = 0;
};

// One request from `input`, answered to `output`; returns when it is done. Both are pipes or
// sockets. One thread.
class Agent {
 public:
  Agent(int input, int output);
  void run();

 private:
  void probe(const control::Json& request);
  void print_config(const control::Json& request);
  void host(HostedProgram program, const control::Json& request);
  void take_requests(HostedProgram& program);
  void obey(const control::Json& request, HostedProgram& program);
  void pass_on_output(const HostedProgram& program);
  void pass_on_files(const HostedProgram& program);
  void pass_on_file(const std::string& path, const std::string& name);
  void look_after(HostedProgram& program);
  void say(const control::Json& head, std::string_view body = {});
  void lose();
  control::Json request();

  int input_;
  int output_;
  MessageReader reader_;
  std::int64_t heard_ns_;
  bool lost_ = false;  // nobody is at the other end any more
  std::int64_t output_at_ = 0;
  bool detached_ = false;
  std::int64_t patience_ns_ = 0;
  std::int64_t asked_ns_ = 0;  // to end, by us
};

}  // namespace tickpath::cli

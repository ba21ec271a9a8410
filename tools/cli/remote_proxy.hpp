// `tickpath proxy`: stands on this host for a program on another one. It holds the program's name
// in the run directory here, has ssh forward its admin socket, prints what it prints, ends as it
// ends once its summary and trace are here, and passes on signals: SIGTERM, SIGINT (asks it to
// stop) and kProxyKill. So whoever steers a run directory need not know that the program runs
// elsewhere.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/net/file_descriptor.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/remote_link.hpp"

namespace tickpath::cli {

// Kills the program where it runs; the proxy ends when that has happened. SIGKILL would end the
// proxy alone.
inline constexpr int kProxyKill = SIGUSR1;

// One thread.
class Proxy {
 public:
  // Throws Error, SystemError; also where the program already runs in this run directory.
  Proxy(std::string run_dir, RemoteProgram program, bool attach);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Until the program has ended: its status as waitpid() tells it; nullopt where nobody saw it.
  // Throws Error: it could not be started, or the host cannot be reached any more (then
  // <name>.remote stays, for `tickpath attach`).
  std::optional<int> run();
  // Whether the program may run there, or has run.
  bool begun() const noexcept { return attach_ || asked_; }

 private:
  void connect();
  void turn();
  void wait();
  void take_signals();
  void take_messages();
  void take(const Message& message);
  void take_file(const Message& message);
  void beat();
  void lost(const std::string& why);
  void say(const std::string& text) const;
  std::string still_runs() const;
  std::string brought(const char* ending) const;

  std::string run_dir_;
  RemoteProgram program_;
  bool attach_;  // the next connection finds the program there, else it starts it
  net::FileDescriptor signals_;
  std::unique_ptr<AgentLink> link_;
  bool asked_ = false;    // on this connection
  bool running_ = false;  // the agent has said so, once
  pid_t pid_ = 0;         // there
  std::int64_t output_at_ = 0;
  int stop_signal_ = 0;       // 0: nobody has asked for its end
  std::int64_t lost_ns_ = 0;  // 0: connected
  std::int64_t stop_ns_ = 0;
  std::int64_t next_ns_ = 0;  // beat, or attempt to connect
  bool ended_ = false;
  std::optional<int> status_;
};

// What an agent is asked for a program ("do" is the caller's).
control::Json agent_request(const RemoteProgram& program);

}  // namespace tickpath::cli

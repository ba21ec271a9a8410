// The connection to the agent on another host, by ssh.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "tools/cli/child.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/remote_messages.hpp"

namespace tickpath::cli {

// What is wrong with a host, its name ahead.
class LinkError : public Error {
 public:
  using Error::Error;
};

// One thread. ssh ends with it.
class AgentLink {
 public:
  // Begins to connect. forward: as agent_command(). Throws Error, SystemError.
  AgentLink(const Host& host, const std::string& forward);

  int file() const noexcept { return pipes_.output.get(); }    // readable: receive()
  int errors() const noexcept { return pipes_.errors.get(); }  // likewise
  // The agent has said who it is.
  bool open() const noexcept { return !machine_.empty(); }
  const std::string& machine() const noexcept { return machine_; }

  // The next message after the agent's first one, without waiting; nullopt: none is there. Throws
  // LinkError once the connection has ended or could not be made, saying why and what to do:
  // unreachable, another host key, not let in, no tickpath, another version of it, nothing heard
  // for kOpenNs since the begin.
  std::optional<Message> receive();
  // The same, waiting for it.
  Message await(int timeout_ms);
  // Until it is open().
  void await_open();
  // Throws LinkError where it takes nothing any more.
  void send(const control::Json& head);

  // ssh has 10 s to connect; then keys are exchanged, and a shell and tickpath begin.
  static constexpr std::int64_t kOpenNs = 20'000'000'000;

 private:
  void wait() const;
  void read_output();
  void read_errors();
  void greet(const Message& message);
  [[noreturn]] void over();
  std::string why_over() const;
  LinkError error(const std::string& what) const;

  Host host_;
  ChildPipes pipes_;
  std::unique_ptr<Child> ssh_;
  MessageReader reader_;
  std::string machine_;
  std::string error_text_;  // the end of what ssh and the shell there said
  bool ended_ = false;
  std::int64_t begin_ns_;
};

}  // namespace tickpath::cli

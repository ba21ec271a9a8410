// The admin socket of a program (admin_protocol.md). Control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/control/json.hpp"

namespace boost::asio {
class io_context;
}

namespace tickpath::control {

class AdminServer {
 public:
  // Answers now, or keeps `answer` and calls it once, later.
  using Answer = std::function<void(const Json&)>;
  using Handler = std::function<void(const Json& request, Answer answer)>;

  // Throws Error where the socket cannot be bound. A stale socket file is replaced: the run
  // directory's lock has shown that nobody uses it.
  AdminServer(boost::asio::io_context& io, const std::string& path);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  void add(const std::string& command, const std::string& help, Handler handler);

  // A request line; larger ones end the connection.
  static constexpr std::size_t kRequestBytesMax = 64 * 1024;
  // Connections at one time; beyond, the oldest that waits for no answer is closed.
  static constexpr std::size_t kSessionsMax = 64;
  // Connections of other users than our own and root: refused with a text, and closed.
  std::uint64_t refused() const noexcept { return refused_; }
  // Times that a connection could not be accepted, for want of descriptors most likely; tried again
  // after a pause.
  std::uint64_t accept_failures() const noexcept { return accept_failures_; }

 private:
  class Session;
  void accept();
  void pause(const std::string& why);
  template <class Socket>
  bool allowed(Socket& socket);
  bool make_room();
  void handle(const std::string& line, const std::string& user, Answer answer) const;
  Json commands() const;

  struct Command {
    std::string help;
    Handler handler;
  };
  struct Acceptor;
  std::string path_;
  std::unique_ptr<Acceptor> acceptor_;
  std::uint64_t refused_ = 0;
  std::vector<std::weak_ptr<Session>> sessions_;  // oldest first
  std::map<std::string, Command> commands_;
  std::uint64_t accept_failures_ = 0;
};

}  // namespace tickpath::control

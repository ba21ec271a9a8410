#include "common/control/admin_client.hpp"

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::control {
namespace {

class Socket {
 public:
  explicit Socket(const std::string& path)
      : file_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      close_quietly();
      throw Error(
          "the admin socket's path is longer than 107 bytes, use a shorter run directory: " + path);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (file_ < 0 ||
        ::connect(file_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      const int error = errno;
      close_quietly();
      throw SystemError((error == EACCES ? "not allowed at " : "nobody answers at ") + path, error);
    }
  }
  ~Socket() { close_quietly(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int file() const noexcept { return file_; }

 private:
  void close_quietly() noexcept {
    if (file_ >= 0) ::close(file_);
  }
  int file_;
};

void wait_for(int file, short events, std::int64_t deadline_ns, const std::string& path) {
  for (;;) {
    const std::int64_t left_ms = (deadline_ns - clock::monotonic_ns()) / 1'000'000;
    pollfd polled{file, events, 0};
    const int ready = left_ms > 0 ? ::poll(&polled, 1, static_cast<int>(left_ms)) : 0;
    if (ready > 0) return;
    if (ready == 0) throw Error("no answer in time from " + path);
    if (errno != EINTR) throw SystemError("waiting for " + path, errno);
  }
}

void send_all(int file, const std::string& line, std::int64_t deadline_ns,
              const std::string& path) {
  std::size_t done = 0;
  while (done < line.size()) {
    wait_for(file, POLLOUT, deadline_ns, path);
    const ssize_t sent = ::send(file, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent > 0)
      done += static_cast<std::size_t>(sent);
    else if (errno == EPIPE)
      return;  // it has closed, and may have said why before
    else if (errno != EAGAIN && errno != EINTR)
      throw SystemError("sending to " + path, errno);
  }
}

std::string receive_line(int file, std::int64_t deadline_ns, const std::string& path) {
  std::string line;
  char buffer[4096];
  for (;;) {
    wait_for(file, POLLIN, deadline_ns, path);
    const ssize_t got = ::recv(file, buffer, sizeof(buffer), 0);
    if (got == 0) throw Error("the program behind " + path + " closed the connection");
    if (got < 0 && errno != EAGAIN && errno != EINTR)
      throw SystemError("receiving from " + path, errno);
    if (got > 0) line.append(buffer, static_cast<std::size_t>(got));
    if (const std::size_t end = line.find('\n'); end != std::string::npos)
      return line.substr(0, end);
  }
}

// Names and symbols in it come from feeds and peers, and go to a terminal.
void escape_texts(Json& value) {
  if (value.is_string()) value = escaped_controls(value.get_ref<const std::string&>());
  if (value.is_structured())
    for (Json& each : value) escape_texts(each);
}

}  // namespace

std::string admin_path(const std::string& run_dir, const std::string& name) {
  return run_dir + "/" + name + ".admin";
}

Json admin_request(const std::string& socket_path, const Json& request, int timeout_ms) {
  const std::int64_t deadline_ns = clock::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  const Socket socket(socket_path);
  send_all(socket.file(), text_of(request) + "\n", deadline_ns, socket_path);
  const std::string line = receive_line(socket.file(), deadline_ns, socket_path);
  Json answer = Json::parse(line, nullptr, false);
  if (answer.is_discarded()) throw Error("an answer that is not JSON from " + socket_path);
  escape_texts(answer);
  if (answer.is_object() && answer.value("denied", false))
    throw SystemError(answer.value("error", "") + " (" + socket_path + ")", EACCES);
  return answer;
}

Json admin_command(const std::string& socket_path, const Json& request, int timeout_ms) {
  Json answer = admin_request(socket_path, request, timeout_ms);
  if (!answer.value("ok", false))
    throw Error(answer.value("error", "refused without a reason") + " (" + socket_path + ")");
  return answer;
}

}  // namespace tickpath::control

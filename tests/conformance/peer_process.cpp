#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {

namespace {

// A connection to the runner that TICKPATH_PEER_RUNNER names, with its first line sent.
int ask_runner(const std::string& line) {
  const std::string runner = std::getenv("TICKPATH_PEER_RUNNER");
  const std::size_t colon = runner.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::inet_addr(runner.substr(0, colon).c_str());
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(runner.substr(colon + 1))));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw SystemError("no peer runner at " + runner, errno);
  }
  return fd;
}

}  // namespace

PeerProcess::PeerProcess(const std::string& provider) {
  if (std::getenv("TICKPATH_PEER_RUNNER") == nullptr) {
    start_here(provider);
  } else {
    start_there(provider);
  }
  answer();  // it says "ok" when its device is open
}

void PeerProcess::start_there(const std::string& provider) {
  static int number = 0;
  remote_name_ = std::to_string(::getpid()) + "." + std::to_string(number++);
  to_peer_ = ask_runner("run " + remote_name_ + " " + provider + "\n");
  from_peer_ = ::dup(to_peer_);
  pid_ = std::stoi(read_line(scaled_ms(30'000)));
}

void PeerProcess::start_here(const std::string& provider) {
  std::array<int, 2> down{}, up{};
  if (::pipe2(down.data(), O_CLOEXEC) != 0 || ::pipe2(up.data(), O_CLOEXEC) != 0) {
    throw SystemError("pipe2", errno);
  }
  const std::string path =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "conformance_peer").string();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(down[0], STDIN_FILENO);
    ::dup2(up[1], STDOUT_FILENO);
    ::execl(path.c_str(), path.c_str(), provider.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(down[0]);
  ::close(up[1]);
  to_peer_ = down[1];
  from_peer_ = up[0];
}

PeerProcess::~PeerProcess() {
  ::close(to_peer_);  // end of input: it leaves, unless it hangs
  ::close(from_peer_);
  if (!remote_name_.empty()) return;  // its runner looks after it
  for (int waited_ms = 0; waited_ms < scaled_ms(2000); waited_ms += 2) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    // A sanitizer's report is a status, too. Tests kill peers by SIGKILL, and hear no last answer.
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (ended == pid_ && status != 0 && signal != SIGKILL && signal != SIGPIPE)
      ADD_FAILURE() << "the peer process ended with wait status " << status;
    if (ended != 0) return;
    ::usleep(2000);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PeerProcess::tell(const std::string& command) {
  const std::string line = command + "\n";
  ASSERT_EQ(::write(to_peer_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}

std::string PeerProcess::read_line(int timeout_ms) {
  for (;;) {
    const std::size_t end = buffered_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{from_peer_, POLLIN, 0};
    if (::poll(&waiting, 1, scaled_ms(timeout_ms)) != 1)
      return "error the peer process does not answer";
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(from_peer_, bytes.data(), bytes.size());
    if (got <= 0) return "error the peer process ended";
    buffered_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string PeerProcess::answer(int timeout_ms) {
  const std::string line = read_line(timeout_ms);
  if (line == "ok") return "";
  if (line.rfind("ok ", 0) == 0) return line.substr(3);
  ADD_FAILURE() << "the peer answered: " << line;
  return line;
}

std::string PeerProcess::ask_error(const std::string& command) {
  tell(command);
  const std::string line = read_line(30'000);
  EXPECT_EQ(line.rfind("error ", 0), 0u) << line;
  return line.substr(std::min<std::size_t>(6, line.size()));
}

void PeerProcess::signal(int number) {
  if (remote_name_.empty()) {
    ::kill(pid_, number);
    return;
  }
  const int fd = ask_runner("signal " + remote_name_ + " " + std::to_string(number) + "\n");
  char done = 0;
  EXPECT_EQ(::read(fd, &done, 1), 1) << "the runner did not signal " << remote_name_;
  ::close(fd);
}

}  // namespace tickpath::rdma::conformance

#include "tools/cli/detach.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {
namespace {

// The end of the one that was called.
[[noreturn]] void wait_for(pid_t child, int pipe) {
  // Ctrl-C is the child's to obey: it stops what it has started and says so meanwhile.
  std::signal(SIGINT, SIG_IGN);
  char word = 0;
  ssize_t got = 0;
  while ((got = ::read(pipe, &word, 1)) < 0 && errno == EINTR) {
  }
  if (got == 1) throw Exit{0};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kShellsSignalBase = 128;  // how shells tell a death by signal
  throw Exit{WIFEXITED(status) ? WEXITSTATUS(status) : kShellsSignalBase + WTERMSIG(status)};
}

}  // namespace

Detached::Detached() {
  std::fflush(nullptr);  // or both would write what is buffered
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  (void)std::signal(SIGCHLD, SIG_DFL);  // ignored, it would hide how the child ends
  const pid_t child = ::fork();
  if (child < 0) throw SystemError("cannot go to the background", errno);
  if (child != 0) {
    ::close(ends[1]);
    wait_for(child, ends[0]);
  }
  ::close(ends[0]);
  told_ = ends[1];
}

Detached::~Detached() {
  if (told_ >= 0) ::close(told_);
}

void Detached::ready(const std::string& log) {
  const int output =
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (output < 0) throw SystemError("cannot open " + log, errno);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::fflush(nullptr);
  (void)::dup2(output, STDOUT_FILENO);
  (void)::dup2(output, STDERR_FILENO);
  if (nothing >= 0) {
    (void)::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  ::close(output);
  (void)::setsid();  // cannot fail: a forked process leads no group
  const char word = 1;
  (void)!::write(told_, &word, 1);  // nobody there any more: goes on all the same
  ::close(told_);
  told_ = -1;
}

}  // namespace tickpath::cli

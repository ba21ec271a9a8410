#include "tools/cli/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::cli {
namespace {

// Between fork() and exec(): system calls only. Reports a failure through the pipe.
[[noreturn]] void become(char* const* arguments, char* const* environment,
                         const std::array<int, 3>& streams, int failure_pipe, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) std::_Exit(127);  // it died before prctl()
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (std::size_t target = 0; target < streams.size(); ++target)
    if (streams[target] >= 0) ::dup2(streams[target], static_cast<int>(target));
  ::execve(arguments[0], arguments, environment);
  const int error = errno;
  (void)!::write(failure_pipe, &error, sizeof(error));
  std::_Exit(127);
}

// To read from, to write to.
std::pair<net::FileDescriptor, net::FileDescriptor> pipe_ends() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  return {net::FileDescriptor(ends[0]), net::FileDescriptor(ends[1])};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::string& output_path,
             const std::map<std::string, std::string>& environment) {
  const net::FileDescriptor output(
      ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (output.get() < 0) throw SystemError("cannot write '" + output_path + "'", errno);
  start(arguments, environment, {-1, output.get(), output.get()});
}

Child::Child(const std::vector<std::string>& arguments, ChildPipes& pipes) {
  auto [its_input, our_input] = pipe_ends();
  auto [our_output, its_output] = pipe_ends();
  auto [our_errors, its_errors] = pipe_ends();
  start(arguments, {}, {its_input.get(), its_output.get(), its_errors.get()});
  for (const int ours : {our_input.get(), our_output.get(), our_errors.get()})
    (void)::fcntl(ours, F_SETFL, O_NONBLOCK);
  pipes = {std::move(our_input), std::move(our_output), std::move(our_errors)};
}

void Child::start(const std::vector<std::string>& arguments,
                  const std::map<std::string, std::string>& environment,
                  const std::array<int, 3>& streams) {
  auto [failure, its_failure] = pipe_ends();
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = merged_environment(environment);
  const std::vector<char*> argument_list = pointers(argument_texts);
  const std::vector<char*> environment_list = pointers(environment_texts);
  const pid_t parent = ::getpid();
  // Inherited from a shell that ignores it (trap '' CHLD) it would have the kernel collect each
  // end.
  (void)std::signal(SIGCHLD, SIG_DFL);
  pid_ = ::fork();
  if (pid_ == 0)
    become(argument_list.data(), environment_list.data(), streams, its_failure.get(), parent);
  int error = pid_ < 0 ? errno : 0;
  its_failure = {};
  // Nothing comes, and the pipe closes, when exec succeeds.
  int reported = 0;
  if (error == 0 && ::read(failure.get(), &reported, sizeof(reported)) == sizeof(reported)) {
    error = reported;
    ::waitpid(pid_, nullptr, 0);
  }
  if (error != 0) throw SystemError("cannot start " + arguments[0], error);
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

Child::~Child() {
  if (!ended()) {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (pidfd_ >= 0) ::close(pidfd_);
}

bool Child::ended() {
  if (ended_) return true;
  const pid_t got = ::waitpid(pid_, &status_, WNOHANG);
  told_ = got == pid_;
  // Somebody has collected its end: it is no child any more, and its number may be another's.
  ended_ = told_ || (got < 0 && errno == ECHILD);
  return ended_;
}

bool Child::wait(int timeout_ms) {
  if (ended()) return true;
  pollfd polled{pidfd_, POLLIN, 0};
  (void)::poll(&polled, 1, timeout_ms);
  return ended();
}

void Child::signal(int number) noexcept {
  if (!ended_) (void)::syscall(SYS_pidfd_send_signal, pidfd_, number, nullptr, 0);
}

bool Child::succeeded() const noexcept {
  return told_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string Child::how_it_ended() const {
  if (!ended_) return "runs";
  return told_ ? how_ended(status_) : "ended, and nobody saw how";
}

std::string how_ended(int status) {
  if (WIFEXITED(status)) return "exited with " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return "killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
}

}  // namespace tickpath::cli

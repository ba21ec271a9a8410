#include "tests/support/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::test_support {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds left_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return left.count() > 0 ? left : std::chrono::milliseconds(0);
}

// ctest sets the variable; a test run by hand takes the build's own folder.
std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& folder,
                         const std::map<std::string, std::string>& environment, int output) {
  ::setpgid(0, 0);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  ::dprintf(STDERR_FILENO, "cannot run %s\n", pointers[0]);
  ::_exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::string& folder,
                 const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  id_ = ::fork();
  if (id_ < 0) throw SystemError("cannot fork", errno);
  if (id_ == 0) become(arguments, folder, environment, ends[1]);
  ::close(ends[1]);
  output_descriptor_ = ends[0];
}

Process::~Process() {
  if (!reaped_) {
    ::kill(-id_, SIGKILL);
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  if (output_descriptor_ >= 0) ::close(output_descriptor_);
}

void Process::signal(int number) const { ::kill(id_, number); }

bool Process::read_some(std::chrono::milliseconds limit) {
  pollfd descriptor{output_descriptor_, POLLIN, 0};
  if (::poll(&descriptor, 1, static_cast<int>(limit.count())) <= 0) return true;
  char buffer[4096];
  const ssize_t count = ::read(output_descriptor_, buffer, sizeof(buffer));
  if (count <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

bool Process::wait_for_output(const std::string& text, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (output_.find(text) == std::string::npos) {
    if (Clock::now() >= end ||
        !read_some(std::min(left_until(end), std::chrono::milliseconds(50)))) {
      return output_.find(text) != std::string::npos;
    }
  }
  return true;
}

Finished Process::wait(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  Finished result;
  int status = 0;
  bool open = true;
  for (;;) {
    if (open) open = read_some(std::min(left_until(end), std::chrono::milliseconds(20)));
    if (!open) ::usleep(2'000);
    if (::waitpid(id_, &status, WNOHANG) == id_) break;
    if (Clock::now() >= end) {
      result.timed_out = true;
      ::kill(-id_, SIGKILL);
      ::waitpid(id_, &status, 0);
      break;
    }
  }
  reaped_ = true;
  // Grandchildren may hold the pipe open; take what is there and do not wait for them.
  ::fcntl(output_descriptor_, F_SETFL, O_NONBLOCK);
  while (read_some(std::chrono::milliseconds(0)) && open) {
    pollfd descriptor{output_descriptor_, POLLIN, 0};
    if (::poll(&descriptor, 1, 0) <= 0) break;
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.output = output_;
  return result;
}

Finished run(const std::vector<std::string>& arguments, const std::string& folder,
             std::chrono::milliseconds limit,
             const std::map<std::string, std::string>& environment) {
  Process process(arguments, folder, environment);
  return process.wait(limit);
}

std::string program(const std::string& name) {
  return from_environment("TICKPATH_BIN", TICKPATH_BUILD_BIN) + "/" + name;
}

std::string source(const std::string& path) {
  return from_environment("TICKPATH_SOURCE", TICKPATH_SOURCE_ROOT) + "/" + path;
}

std::string recording(const std::string& path) {
  const char* data = std::getenv("TICKPATH_DATA");
  const std::string folder = data != nullptr ? data : source("../shared/data");
  const std::string full = folder + "/" + path;
  return std::filesystem::exists(full) ? full : "";
}

}  // namespace tickpath::test_support

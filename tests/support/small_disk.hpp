// What happens on a full disk: a small file system of its own, seen by a child process alone.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/process.hpp"

namespace tickpath::test_support {

// Runs `body` in a child whose `folder` is a tmpfs of `kilobytes`; what it prints is kept, and it
// is over when it returns. Skips the test where no file system may be mounted: it says why. A death
// by a signal (SIGBUS) is Finished::signal.
inline Finished on_a_small_disk(int kilobytes,
                                const std::function<void(const std::string& folder)>& body) {
  constexpr int kCannotMount = 77;
  const Folder folder;
  int output[2];
  Finished finished;
  if (::pipe(output) != 0) return finished;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(output[1], STDOUT_FILENO);
    ::dup2(output[1], STDERR_FILENO);
    ::close(output[0]);
    const int spaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    if (::unshare(spaces) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", 0, size.c_str()) != 0) {
      std::perror("mount");
      ::_exit(kCannotMount);
    }
    body(folder.path());
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(output[1]);
  char bytes[4096];
  for (ssize_t size; (size = ::read(output[0], bytes, sizeof(bytes))) > 0;)
    finished.output.append(bytes, static_cast<std::size_t>(size));
  ::close(output[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  if (finished.exit_code == kCannotMount)
    [&] { GTEST_SKIP() << "no file system may be mounted here: " << finished.output; }();
  return finished;
}

}  // namespace tickpath::test_support

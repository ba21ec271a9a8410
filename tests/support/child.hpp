// A forked process that ends with the object.
#pragma once

#include <csignal>
#include <cstdio>
#include <string>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tickpath::test_support {

// The child runs `main`, and ends with what that returns: a number from 0 to 125, which wait()
// returns. It has one thread: no locks of the test's others.
class Child {
 public:
  // output: a file for all that it prints.
  template <class Main>
  explicit Child(Main&& main, const std::string& output = "") : id_(::fork()) {
    if (id_ != 0) return;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!output.empty() && (std::freopen(output.c_str(), "w", stdout) == nullptr ||
                            ::dup2(::fileno(stdout), STDERR_FILENO) < 0))
      ::_exit(126);
    const int status = main();
    std::fflush(nullptr);
    ::_exit(status);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const noexcept { return id_; }
  void signal(int number) const { ::kill(id_, number); }
  void kill() {
    if (id_ <= 0) return;
    signal(SIGKILL);
    (void)wait();
  }
  // -1: it did not end by itself.
  int wait() {
    int status = 0;
    if (id_ <= 0 || ::waitpid(id_, &status, 0) != id_) return -1;
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_;
};

}  // namespace tickpath::test_support

// What another user of this host can do to us: code that runs in a child process under its id.
#pragma once

#include <csignal>
#include <functional>

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tickpath::test_support {

inline constexpr uid_t kOtherUser = 65'534;  // "nobody" nearly everywhere; any other would do

// Only root may become somebody else.
#define SKIP_UNLESS_ROOT()                                                      \
  if (::geteuid() != 0) {                                                       \
    GTEST_SKIP() << "only root can act as another user: run the tests as root"; \
  }

// A child process that runs `attack` as the other user, until it returns or this object goes. What
// it returns, 0 to 125, is told by wait(). It has one thread: no locks of the test's others.
class OtherUser {
 public:
  explicit OtherUser(const std::function<int()>& attack) {
    child_ = ::fork();
    if (child_ != 0) return;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kOtherUser, kOtherUser, kOtherUser) != 0 ||
        ::setresuid(kOtherUser, kOtherUser, kOtherUser) != 0)
      ::_exit(126);
    ::_exit(attack());
  }
  ~OtherUser() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

  // -1: it did not end by itself.
  int wait() {
    int status = 0;
    if (child_ <= 0 || ::waitpid(child_, &status, 0) != child_) return -1;
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t child_ = -1;
};

inline int as_other_user(const std::function<int()>& attack) { return OtherUser(attack).wait(); }

}  // namespace tickpath::test_support

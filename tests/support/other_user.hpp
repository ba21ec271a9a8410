// What another user of this host can do to us: code that runs in a child process under its id.
#pragma once

#include <functional>

#include <grp.h>
#include <gtest/gtest.h>

#include "tests/support/child.hpp"

namespace tickpath::test_support {

inline constexpr uid_t kOtherUser = 65'534;  // "nobody" nearly everywhere; any other would do

// Only root may become somebody else.
#define SKIP_UNLESS_ROOT()                                                      \
  if (::geteuid() != 0) {                                                       \
    GTEST_SKIP() << "only root can act as another user: run the tests as root"; \
  }

// A child process that runs `attack` as the other user.
class OtherUser : public Child {
 public:
  explicit OtherUser(const std::function<int()>& attack)
      : Child([&] {
          if (::setgroups(0, nullptr) != 0 ||
              ::setresgid(kOtherUser, kOtherUser, kOtherUser) != 0 ||
              ::setresuid(kOtherUser, kOtherUser, kOtherUser) != 0)
            return 126;
          return attack();
        }) {}
};

inline int as_other_user(const std::function<int()>& attack) { return OtherUser(attack).wait(); }

}  // namespace tickpath::test_support

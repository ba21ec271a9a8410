#include "common/base/exec_again.hpp"

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cpu.hpp"

namespace tickpath {
namespace {

constexpr const char* kFile = "TICKPATH_EXEC_AGAIN_FILE";

TEST(ExecAgain, KeepsTheArgumentsAndNothingThatIsOpenNorAPriority) {
  if (const char* const file = std::getenv(kFile); file != nullptr) {  // the new one
    const bool closed = ::fcntl(std::stoi(file), F_GETFD) == -1;
    const bool ordinary = ::sched_getscheduler(0) == SCHED_OTHER;
    ::_exit(closed && ordinary && ::fcntl(STDERR_FILENO, F_GETFD) != -1 ? 0 : 1);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open("/dev/null", O_RDONLY);  // NOLINT: not O_CLOEXEC is what it is about
    ::setenv(kFile, std::to_string(file).c_str(), 1);
    ::setenv("GTEST_FILTER", "ExecAgain.*", 1);
    (void)set_real_time(true);  // where we may
    ::_exit(100 + exec_again());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tickpath

// Which processes of a run directory are signalled, and what is shown of what they left.
#include "tools/cli/programs.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "common/net/file_descriptor.hpp"
#include "tests/support/process.hpp"
#include "tools/cli/hang_watch.hpp"

namespace tickpath::cli {
namespace {

class Signals : public ::testing::Test {
 protected:
  Signals() {
    child_ = ::fork();
    if (child_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
  }
  ~Signals() override {
    ::kill(child_, SIGKILL);
    if (!ended_) ::waitpid(child_, nullptr, 0);
  }
  // Whether the signal ended it.
  bool ends() {
    ended_ = ::waitpid(child_, nullptr, WNOHANG) == child_;
    return ended_;
  }
  test_support::Folder folder_;
  std::string directory_ = folder_.path();
  pid_t child_ = -1;
  bool ended_ = false;
};

TEST_F(Signals, AProcessThatOnlyHasTheNumberOfAProgramIsLeftAlone) {
  std::ofstream(directory_ + "/mdh.pid") << child_ << " 1\n";  // began at another time
  EXPECT_TRUE(running_programs(directory_).empty());
  signal_program(directory_, {"mdh", "mdh", child_}, SIGKILL);
  EXPECT_FALSE(wait_for_exit(child_, 50));
  EXPECT_FALSE(ends());
}

TEST_F(Signals, TheProgramItselfGetsThem) {
  std::ifstream stat("/proc/" + std::to_string(child_) + "/stat");
  std::string field;
  for (int i = 0; i < 22; ++i) stat >> field;  // proc(5): the start; the name has no space here
  std::ofstream(directory_ + "/mdh.pid") << child_ << " " << field << "\n";
  signal_program(directory_, {"mdh", "mdh", child_}, SIGKILL);
  EXPECT_TRUE(wait_for_exit(child_, 20'000));
  EXPECT_TRUE(ends());
}

TEST(LastLines, TheCauseStandsBeforeWhatFollowedIt) {
  const test_support::Folder folder;
  const std::string file = folder / "strategy.out";
  std::ofstream(file) << "one\nstrategy: crashed by SIGSEGV\nframe 1\nframe 2\nframe 3\n";
  EXPECT_EQ(last_lines(file, 2), "    frame 2\n    frame 3\n");
  EXPECT_EQ(last_lines(file, 2, "crashed by "),
            "    strategy: crashed by SIGSEGV\n    frame 2\n    frame 3\n");
  EXPECT_EQ(last_lines(file, 4, "crashed by "),
            "    strategy: crashed by SIGSEGV\n    frame 1\n    frame 2\n    frame 3\n");
  EXPECT_EQ(last_lines(file, 2, "of no line"), "    frame 2\n    frame 3\n");
  EXPECT_EQ(last_lines(file + ".none", 2, "crashed by "), "");
}

// As one does that has just been started: its socket is there before it has time to answer.
TEST(HangWatch, WaitsForNoProgramThatDoesNotAnswer) {
  const test_support::Folder folder;
  std::vector<std::string> names;
  std::vector<net::FileDescriptor> silent;
  for (const char* name : {"sim", "mdh", "oeg", "risk", "strategy"}) {
    names.emplace_back(name);
    sockaddr_un address{AF_UNIX, {}};
    const std::string path = control::admin_path(folder.path(), name);
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    silent.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(
        ::bind(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
        0);
    ASSERT_EQ(::listen(silent.back().get(), 1), 0);
  }
  HangWatch watch(folder.path(), names);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(watch.look().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3 * kStatusMs));
}

}  // namespace
}  // namespace tickpath::cli

// Which processes of a run directory are signalled, and what is shown of what they left.
#include "tools/cli/programs.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
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
#include "tools/cli/misplaced_settings.hpp"

namespace tickpath::cli {
namespace {

// The admin socket of a program that hangs, or has just been started and has no time to answer.
net::FileDescriptor silent_socket(const std::string& run_dir, const std::string& name) {
  sockaddr_un address{AF_UNIX, {}};
  const std::string path = control::admin_path(run_dir, name);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  net::FileDescriptor silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(silent.get(), 1), 0);
  return silent;
}

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
  // As in the directory's file of a program that the child is.
  void write_pid_file(const std::string& name) {
    std::ifstream stat("/proc/" + std::to_string(child_) + "/stat");
    std::string field;
    for (int i = 0; i < 22; ++i) stat >> field;  // proc(5): the start; the name has no space here
    std::ofstream(directory_ + "/" + name + ".pid") << child_ << " " << field << "\n";
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

// A kill is not given before it is known which programs run.
TEST_F(Signals, ProgramsThatHangAreAskedAllAtOnce) {
  std::vector<net::FileDescriptor> sockets;
  for (const std::string name : {"mdh", "oeg", "risk"}) {
    write_pid_file(name);
    sockets.push_back(silent_socket(directory_, name));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<RunningProgram> running = running_programs(directory_);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(2 * kStatusMs));
  ASSERT_EQ(running.size(), 3u);
  for (const RunningProgram& each : running) EXPECT_FALSE(each.answers);
}

TEST_F(Signals, TheProgramItselfGetsThem) {
  write_pid_file("mdh");
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

TEST(HangWatch, WaitsForNoProgramThatDoesNotAnswer) {
  const test_support::Folder folder;
  const std::vector<std::string> names{"sim", "mdh", "oeg", "risk", "strategy"};
  std::vector<net::FileDescriptor> silent;
  for (const std::string& name : names) silent.push_back(silent_socket(folder.path(), name));
  HangWatch watch(folder.path(), names);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(watch.look().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3 * kStatusMs));
}

// A key of one program, given for all.
TEST(MisplacedSettings, AreToldOnceWithTheProgramsThatHaveThem) {
  const std::string unknown =
      "    mdh: --set replay.speed=10: replay.speed: unknown key; --print\n";
  std::vector<CheckOutput> outputs{{"sim", "", ""},
                                   {"mdh", "", unknown},
                                   {"mdh", "", unknown},
                                   {"risk", "", unknown + "    risk: another problem\n"}};
  EXPECT_THAT(
      misplaced_settings({"mdh:x=1", "replay.speed=10"}, outputs),
      ::testing::ElementsAre("--set replay.speed=10 is for every program, and mdh, risk have "
                             "no such key: write --set sim:replay.speed=10"));
  EXPECT_EQ(outputs[1].text, "");
  EXPECT_EQ(outputs[3].text, "    risk: another problem\n");
  std::vector<CheckOutput> all{{"mdh", "", unknown}, {"risk", "", unknown}};
  EXPECT_THAT(misplaced_settings({"replay.speed=10"}, all), ::testing::IsEmpty());
  EXPECT_EQ(all[0].text, unknown) << "nobody has it";
}

// A hand-made run of looks at one program, in which each brings what is new.
class LooksAtOne {
 public:
  std::vector<std::string> see(const control::Json& status, int process, double seconds) {
    now_ns_ += static_cast<std::int64_t>(seconds * 1e9);
    std::vector<std::string> news;
    watch_.see("mdh", status, process, now_ns_, news);
    return news;
  }
  bool no_problem() const { return watch_.problems().empty(); }

 private:
  HangWatch watch_{"run", {"mdh"}};
  std::int64_t now_ns_ = 1;
};

const control::Json kReady{{"state", "ready"}};

TEST(HangWatch, TellsOfAControlThreadThatAnswersNoMoreAndWhenItAnswersAgain) {
  LooksAtOne looks;
  EXPECT_TRUE(looks.see(nullptr, 7, 0).empty());
  EXPECT_TRUE(looks.see(nullptr, 7, 60).empty()) << "it has not begun to answer";
  EXPECT_TRUE(looks.see(kReady, 7, 1).empty());
  EXPECT_TRUE(looks.see(nullptr, 7, 2).empty());
  EXPECT_EQ(looks.see(nullptr, 7, 1.5),
            std::vector<std::string>{
                "mdh: its control thread has given no answer for 3 s (process 7 lives)"});
  EXPECT_TRUE(looks.see(nullptr, 7, 60).empty()) << "it was said";
  EXPECT_EQ(looks.see(kReady, 7, 1), std::vector<std::string>{"mdh answers again"});
  EXPECT_TRUE(looks.no_problem());
}

TEST(HangWatch, SaysNothingOfTheSilenceOfWhoHasEndedOrBegun) {
  LooksAtOne looks;
  EXPECT_TRUE(looks.see(kReady, 7, 0).empty());
  EXPECT_TRUE(looks.see(nullptr, 0, 60).empty());
  EXPECT_TRUE(looks.see(nullptr, 8, 1).empty());
  EXPECT_TRUE(looks.see(nullptr, 8, 5).empty());
}

TEST(HangWatch, TellsWhenAProgramThatWasStartedAgainIsReadyAndThatItIsNot) {
  LooksAtOne looks;
  const control::Json starting{{"state", "starting"}, {"not_ready_reason", "waits for mdh"}};
  EXPECT_TRUE(looks.see(starting, 7, 60).empty()) << "up itself waits for its first life";
  EXPECT_TRUE(looks.see(kReady, 7, 60).empty());
  EXPECT_TRUE(looks.see(starting, 8, 1).empty());
  EXPECT_EQ(looks.see(starting, 8, 11),
            std::vector<std::string>{
                "mdh was started again, and is not ready after 11 s: waits for mdh"});
  EXPECT_EQ(looks.see(kReady, 8, 1), std::vector<std::string>{"mdh is ready again (process 8)"});
  EXPECT_TRUE(looks.see(kReady, 8, 1).empty());
}

}  // namespace
}  // namespace tickpath::cli

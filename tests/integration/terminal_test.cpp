// The progress bar and the status on a real terminal of 80 columns: no line is wider, so none wraps
// and the one that is drawn over and over stays one.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

constexpr std::size_t kColumns = 80;
constexpr int kPatienceMs = std::chrono::milliseconds(kPatience).count();

// Empty, or why this machine has no pseudo-terminal (a container without /dev/pts).
std::string why_none() {
  int terminal = -1, end = -1;
  if (::openpty(&terminal, &end, nullptr, nullptr, nullptr) != 0) return std::strerror(errno);
  ::close(terminal);
  ::close(end);
  return "";
}

// A child on a pseudo-terminal of its own.
class OnATerminal {
 public:
  explicit OnATerminal(std::vector<std::string> arguments) {
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    const winsize size{.ws_row = 24, .ws_col = kColumns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    ::unsetenv("COLUMNS");  // of whoever runs the tests
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  ~OnATerminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(terminal_);
  }
  OnATerminal(const OnATerminal&) = delete;
  OnATerminal& operator=(const OnATerminal&) = delete;

  // False: it ended without it, or was silent for too long.
  bool wait_for(const std::string& text) {
    while (output_.find(text) == std::string::npos)
      if (!read_some()) return false;
    return true;
  }
  // Its exit status; -1: killed.
  int wait() {
    while (read_some()) {
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Ctrl-C.
  void interrupt() const { press("\003"); }
  void press(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short columns, unsigned short rows) const {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  // What is waited for comes from here on.
  void forget() { output_.clear(); }
  const std::string& output() const noexcept { return output_; }

 private:
  // A terminal whose last user is gone reads as EIO.
  bool read_some() {
    pollfd ready{terminal_, POLLIN, 0};
    if (::poll(&ready, 1, kPatienceMs) <= 0) return false;
    char buffer[4096];
    const ssize_t got = ::read(terminal_, buffer, sizeof(buffer));
    if (got > 0) output_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t child_ = -1;
  int terminal_ = -1;
  std::string output_;
};

// What was written from the left edge on, each time, without control sequences.
std::vector<std::string> lines_of(const std::string& output) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < output.size(); ++at) {
    if (output[at] == '\r' || output[at] == '\n') {
      lines.emplace_back();
    } else if (output[at] == '\033') {  // ESC [ parameters letter
      while (at + 1 < output.size() && std::isalpha(static_cast<unsigned char>(output[at])) == 0)
        ++at;
      if (output[at] == 'H') lines.emplace_back();  // to the upper left corner
    } else if ((static_cast<unsigned char>(output[at]) & 0xc0) !=
               0x80) {  // UTF-8: once a character
      lines.back() += output[at];
    }
  }
  return lines;
}

std::string widest_of(const std::string& output) {
  return std::ranges::max(lines_of(output), {}, &std::string::size);
}

// What was drawn over what stood there: a line each.
std::string redrawn_in(const std::string& output) {
  const std::string over = "\r\033[K";
  std::string lines;
  for (std::size_t at = output.find(over); at != std::string::npos;
       at = output.find(over, at + 1)) {
    const std::size_t begin = at + over.size();
    lines += output.substr(begin, output.find_first_of("\r\n", begin) - begin) + "\n";
  }
  return lines;
}

TEST(Terminal, OfEightyColumnsHoldsTheBarOfUpAndTheStatus) {
  if (const std::string why = why_none(); !why.empty())
    GTEST_SKIP() << "no pseudo-terminal is to be had: " << why;
  const PipelineFolder folder;
  OnATerminal up(folder.up(folder.generate(60'000, 6)));
  ASSERT_TRUE(up.wait_for("% ")) << "a bar is drawn:\n" << up.output();
  OnATerminal status({program("tickpath"), "status", "--run-dir", folder.run_dir()});
  EXPECT_EQ(status.wait(), 0) << status.output();
  EXPECT_THAT(status.output(), ::testing::HasSubstr("strategy"));
  EXPECT_LT(widest_of(status.output()).size(), kColumns) << widest_of(status.output());
  OnATerminal watched({program("tickpath"), "status", "--watch", "--run-dir", folder.run_dir()});
  EXPECT_TRUE(watched.wait_for("/s")) << watched.output();
  watched.interrupt();
  EXPECT_EQ(watched.wait(), -1) << "by Ctrl-C";
  EXPECT_LT(widest_of(watched.output()).size(), kColumns) << widest_of(watched.output());
  EXPECT_EQ(up.wait(), 0) << up.output();
  EXPECT_THAT(up.output(), ::testing::HasSubstr("everything is accounted for"));
  const std::string bars = redrawn_in(up.output());
  EXPECT_NE(bars.find("[#"), std::string::npos) << up.output();
  EXPECT_LT(widest_of(bars).size(), kColumns) << widest_of(bars);
}

TEST(Terminal, TopShowsThePipelineTakesKeysAndKillsAfterTwoQuestions) {
  if (const std::string why = why_none(); !why.empty())
    GTEST_SKIP() << "no pseudo-terminal is to be had: " << why;
  const PipelineFolder folder;
  OnATerminal up(folder.up(folder.generate(60'000, 12)));
  ASSERT_TRUE(up.wait_for("% ")) << "a bar is drawn:\n" << up.output();
  OnATerminal top({program("tickpath"), "top", "--interval", "0.2", "--run-dir", folder.run_dir()});
  for (const char* const part :
       {"PROGRAM", "messages/s", "feed good", "tick-to-order", "quoter", "LIMIT", "ZAA"})
    EXPECT_TRUE(top.wait_for(part)) << part << "\n" << top.output();
  EXPECT_LE(widest_of(top.output()).size(), kColumns) << widest_of(top.output());
  const auto press = [&](const std::string& keys, const std::string& answer) {
    top.forget();
    top.press(keys);
    EXPECT_TRUE(top.wait_for(answer)) << keys << "\n" << top.output();
  };
  press("p", "PAUSED");
  press("p", " tickpath ");
  press("?", "any key: back");
  press("x", "PROGRAM");
  press("Kan", "q quit");  // No.
  EXPECT_EQ(folder.counter("risk", "limits", "kills"), 0u);
  press("K", "kill which strategy?");
  press("a", "kill ALL strategies");
  press("y", "done: all strategies: no new orders and replacements; nothing is open");
  EXPECT_EQ(folder.counter("risk", "limits", "kills"), 1u);
  EXPECT_TRUE(top.wait_for("ALARM    risk: all strategies are killed")) << top.output();
  press("U2\ny", "still stopped");
  top.forget();
  top.resize(160, 50);
  EXPECT_TRUE(top.wait_for("POSITION")) << top.output();
  EXPECT_GT(widest_of(top.output()).size(), 2 * kColumns - 40) << "two columns";
  EXPECT_LE(widest_of(top.output()).size(), 2 * kColumns) << widest_of(top.output());
  EXPECT_EQ(up.wait(), 0) << up.output();
  EXPECT_TRUE(top.wait_for("nothing runs in")) << top.output();
  top.press("q");
  EXPECT_EQ(top.wait(), 0) << top.output();
  EXPECT_TRUE(top.output().ends_with("\033[?25h\033[?1049l")) << "the terminal is as it was";
}

TEST(Terminal, TopWithoutATerminalOrARunDirectorySaysWhatToDo) {
  const test_support::Folder folder;
  EXPECT_THAT(run({program("tickpath"), "top", "--run-dir", folder.path()}),
              Ends(1, "tickpath top --once"));
  EXPECT_THAT(run({program("tickpath"), "top", "--once", "--run-dir", folder.path()}),
              Ends(1, "nothing runs in"));
  EXPECT_THAT(run({program("tickpath"), "top", "--once", "--run-dir", folder / "none"}),
              Ends(1, "there is no run directory", "tickpath up"));
}

TEST(Terminal, AProgramThatIsStartedByHandSaysWhenItIsReady) {
  if (const std::string why = why_none(); !why.empty())
    GTEST_SKIP() << "no pseudo-terminal is to be had: " << why;
  const PipelineFolder folder;
  OnATerminal sim({program("sim"), folder.config_dir() + "/sim.toml", "--run-dir", folder.run_dir(),
                   "--set", "replay.file=" + folder.generate(1'000, 1)});
  EXPECT_TRUE(sim.wait_for("sim: ready; log " + folder.run_dir() + "/sim.log")) << sim.output();
}

}  // namespace
}  // namespace tickpath::test_support

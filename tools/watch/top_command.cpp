#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/net/file_descriptor.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/run_dir_check.hpp"
#include "tools/cli/signals.hpp"
#include "tools/watch/commands.hpp"
#include "tools/watch/frame.hpp"
#include "tools/watch/kill_dialog.hpp"
#include "tools/watch/lookout.hpp"
#include "tools/watch/terminal.hpp"
#include "tools/watch/tickpath_child.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

constexpr const char* kKeys =
    "q quit  ? help  p pause  s sort  r reverse  j/k scroll  K kill  U unkill";
constexpr const char* kHelp =
    "\n"
    "  q          quit                      p          stop the picture, and go on\n"
    "  s          sort by the next column   r          the other way round\n"
    "  j, k       scroll the positions (arrows, page keys)\n"
    "  K          kill a strategy, or all: asks whom, and again whether you mean it\n"
    "  U          let one trade again: asks the same\n"
    "\n"
    "  Rates are those of the last second or so. Latencies are from the trace files of this\n"
    "  host: of what ended in the last seconds. A percentile is at most 7 % too high.\n"
    "  A queue's depth is a lower bound. BUSY: turns of the datapath that found work.\n"
    "  P&L, limits and kills are risk's; positions are oeg's.\n"
    "\n"
    "  any key: back\n";

struct TopArguments {
  std::string run_dir = "run";
  double interval_s = 1;
  std::string sort = std::string(kSortKeys[0]);
  bool once = false;
};

std::chrono::milliseconds interval_of(const TopArguments& arguments) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(arguments.interval_s * 1000));
}

FrameOptions options_of(const TopArguments& arguments) {
  FrameOptions options;
  const auto found = std::ranges::find(kSortKeys, arguments.sort);
  options.sort = static_cast<std::size_t>(found - kSortKeys.begin());
  return options;
}

// Rates need two looks.
void print_once(const TopArguments& arguments) {
  Watch watch(arguments.run_dir);
  if (!watch.look()) throw Error(cli::nothing_runs(arguments.run_dir));
  std::this_thread::sleep_for(interval_of(arguments));
  watch.look();
  FrameOptions options = options_of(arguments);
  options.columns = cli::terminal_columns();
  std::fputs(plain_text(frame_of(watch.view(), options)).c_str(), stdout);
}

class Top {
 public:
  explicit Top(const TopArguments& arguments)
      : arguments_(arguments),
        options_(options_of(arguments)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        lookout_(arguments.run_dir, interval_of(arguments), [this] { wake(); }) {}

  void run() {
    Terminal terminal;
    while (!quit_) {
      draw();
      wait();
      if (signals_.came() || terminal.gone()) return;
      while (const auto key = terminal.read_key()) on_key(*key);
      look_at_child();
    }
  }

 private:
  // On the thread that looks.
  void wake() const noexcept { (void)::eventfd_write(wake_.get(), 1); }

  void wait() {
    // A terminal's new size and the end of a child are looked for at least so often.
    constexpr int kGlanceMs = 200;
    std::array<pollfd, 3> files{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                                pollfd{signals_.file(), POLLIN, 0}};
    (void)::poll(files.data(), files.size(), kGlanceMs);
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
    if (!options_.paused) snapshot_ = lookout_.newest();
  }

  void on_key(const Terminal::Key& key) {
    if (dialog_.open() && !child_) {
      dialog_.on_key(key.special ? '\x1b' : key.key);
      if (const auto command = dialog_.take()) start(*command);
      return;
    }
    answer_.clear();
    if (help_) {
      help_ = false;
      return;
    }
    if (key.special)
      on_special(key.key);
    else
      on_plain(key.key);
  }

  void on_plain(char key) {
    switch (key) {
      case 'q':
        quit_ = true;
        break;
      case '?':
      case 'h':
        help_ = true;
        break;
      case 'p':
      case ' ':
        options_.paused = !options_.paused;
        break;
      case 's':
        options_.sort = (options_.sort + 1) % kSortKeys.size();
        break;
      case 'r':
        options_.reverse = !options_.reverse;
        break;
      case 'j':
        scroll(1);
        break;
      case 'k':
        scroll(-1);
        break;
      case 'K':
        dialog_.begin(true);
        break;
      case 'U':
        dialog_.begin(false);
        break;
      default:
        break;
    }
  }
  void on_special(char key) {
    constexpr int kPage = 10;
    if (key == 'A') scroll(-1);
    if (key == 'B') scroll(1);
    if (key == '5') scroll(-kPage);
    if (key == '6') scroll(kPage);
  }
  void scroll(int rows) {
    const std::size_t most =
        snapshot_ == nullptr ? 0 : list_at(snapshot_->view, "positions").size();
    const auto wanted = static_cast<std::int64_t>(options_.skip) + rows;
    options_.skip = static_cast<std::size_t>(
        std::clamp<std::int64_t>(wanted, 0, static_cast<std::int64_t>(most == 0 ? 0 : most - 1)));
  }

  void start(std::vector<std::string> command) {
    command.insert(command.end(), {"--run-dir", arguments_.run_dir});
    try {
      child_ = std::make_unique<TickpathChild>(command);
    } catch (const Error& error) {
      answer_ = error.what();
    }
  }
  void look_at_child() {
    if (!child_ || !child_->ended()) return;
    answer_ = (child_->succeeded() ? "done: " : "FAILED: ") + child_->text();
    child_.reset();
  }

  std::string footer() const {
    if (child_) return "asks risk, and waits until it has taken effect ...";
    if (dialog_.open()) return dialog_.text();
    return answer_.empty() ? kKeys : answer_;
  }

  std::string picture() {
    if (help_) return std::string("\x1b[H\x1b[J") + with_returns(kHelp);
    if (snapshot_ == nullptr) return "\x1b[H\x1b[J looks at '" + arguments_.run_dir + "' ...";
    options_.footer = footer();
    return terminal_text(frame_of(snapshot_->view, options_), colours_);
  }
  static std::string with_returns(std::string_view text) {
    std::string all;
    for (const char each : text) all += each == '\n' ? std::string("\r\n") : std::string(1, each);
    return all;
  }

  // Only what has changed is drawn: over a slow connection, too, the keys must answer.
  void draw() {
    const TerminalSize size = Terminal::size();
    const bool resized = size != size_;
    size_ = size;
    options_.columns = size.columns;
    options_.rows = size.rows;
    std::string now = picture();
    if (!resized && now == drawn_) return;
    Terminal::write(resized ? "\x1b[2J" + now : now);
    drawn_ = std::move(now);
  }

  const TopArguments& arguments_;
  cli::Signals signals_;  // first: blocked in the thread that looks, too
  FrameOptions options_;
  net::FileDescriptor wake_;
  Lookout lookout_;
  std::shared_ptr<const Snapshot> snapshot_;
  KillDialog dialog_;
  std::unique_ptr<TickpathChild> child_;
  std::string answer_;
  bool help_ = false;
  bool quit_ = false;
  const bool colours_ = std::getenv("NO_COLOR") == nullptr;  // no-color.org
  TerminalSize size_{0, 0};
  std::string drawn_;
};

void run_top(const TopArguments& arguments) {
  if (arguments.once) return print_once(arguments);
  if (!Terminal::is_there())
    throw Error("top needs a terminal; `tickpath top --once` prints one look as text");
  Top(arguments).run();
}

}  // namespace

void add_top_command(CLI::App& app) {
  auto* command = cli::add_other_command(app, "top");
  auto arguments = std::make_shared<TopArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where the pipeline runs")
      ->capture_default_str();
  command->add_option("--interval", arguments->interval_s, "Seconds from look to look")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  command
      ->add_option("--sort", arguments->sort,
                   "Strategies and positions by: shares, symbol, strategy, cash, fills, pnl")
      ->check(CLI::IsMember(std::vector<std::string>(kSortKeys.begin(), kSortKeys.end())))
      ->capture_default_str();
  command->add_flag("--once", arguments->once, "Print one look as text and end; for scripts");
  command->callback([arguments] { run_top(*arguments); });
}

}  // namespace tickpath::watch

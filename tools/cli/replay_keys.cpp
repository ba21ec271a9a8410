#include "tools/cli/replay_keys.hpp"

#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {

void command_replay(const std::string& run_dir, const std::vector<std::string>& sims,
                    const control::Json& request) {
  std::string refused;
  for (const std::string& sim : sims) {
    try {
      (void)control::admin_command(control::admin_path(run_dir, sim), request);
    } catch (const Error& error) {
      if (sims.size() == 1) throw;
      refused += (refused.empty() ? "" : "\n") + sim + ": " + error.what();
    }
  }
  if (!refused.empty()) throw Error(refused);
}

std::string minute_later(std::uint64_t position_ns) {
  constexpr std::uint64_t kMinuteNs = 60'000'000'000;
  return time_of_day_text(position_ns + kMinuteNs);
}

ReplayKeys::ReplayKeys(std::string run_dir, std::vector<std::string> sims)
    : run_dir_(std::move(run_dir)), sims_(std::move(sims)) {
  // A background job would be stopped for touching the terminal.
  if (sims_.empty() || ::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1 ||
      ::tcgetpgrp(STDIN_FILENO) != ::getpgrp() || ::tcgetattr(STDIN_FILENO, &before_) != 0)
    return;
  termios keys = before_;
  // Key by key, unseen; Ctrl-C stays what it is.
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  enabled_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

ReplayKeys::~ReplayKeys() {
  if (enabled_) (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::string ReplayKeys::help() const {
  return enabled_ ? "keys: space pauses and continues, f seeks a minute ahead, s stops the replay"
                  : "";
}

std::string ReplayKeys::step(const control::Json& replay) {
  std::string refused;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (enabled_ && ::poll(&input, 1, 0) == 1 && (input.revents & POLLIN) != 0) {
    char typed[8];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof(typed));
    if (count <= 0) break;
    // An arrow arrives as three bytes (ECMA-48, CUF).
    const std::string_view text(typed, static_cast<std::size_t>(count));
    try {
      obey(text == "\033[C" ? 'f' : typed[0], replay);
    } catch (const Error& error) {
      refused = error.what();
    }
  }
  return refused;
}

void ReplayKeys::obey(char key, const control::Json& replay) {
  switch (key) {
    case ' ':
      return command_replay(
          run_dir_, sims_,
          {{"command", replay.value("state", "") == "paused" ? "continue" : "pause"}});
    case 'f':
      return command_replay(
          run_dir_, sims_,
          {{"command", "seek"},
           {"time", minute_later(replay.value("position_ns", std::uint64_t{0}))}});
    case 's':
      command_replay(run_dir_, sims_, {{"command", "halt"}});
      stopped_ = true;
      return;
    default:
      return;
  }
}

}  // namespace tickpath::cli

// Keys that control the replay while it is watched on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <termios.h>

#include "common/control/json.hpp"

namespace tickpath::cli {

// Sends an admin command to each of the sims; throws Error with sim's own text where one refused
// it.
void command_replay(const std::string& run_dir, const std::vector<std::string>& sims,
                    const control::Json& request);

// "12:00:00" and a minute later, as sim takes it.
std::string minute_later(std::uint64_t position_ns);

// One thread. Does nothing where standard input is no terminal of our own process group.
class ReplayKeys {
 public:
  ReplayKeys(std::string run_dir, std::vector<std::string> sims);
  ~ReplayKeys();  // the terminal is again as it was
  ReplayKeys(const ReplayKeys&) = delete;
  ReplayKeys& operator=(const ReplayKeys&) = delete;

  // What the keys do, one line; empty where there are none.
  std::string help() const;
  // Takes what was typed: space pauses and continues, "f" or the right arrow seeks a minute ahead,
  // "s" ends the replay. `replay` is sim's status of it. What sim refuses is returned as text.
  std::string step(const control::Json& replay);
  // By "s", and sim took it.
  bool stopped() const noexcept { return stopped_; }

 private:
  void obey(char key, const control::Json& replay);

  std::string run_dir_;
  std::vector<std::string> sims_;
  bool enabled_ = false;
  bool stopped_ = false;
  termios before_{};
};

}  // namespace tickpath::cli

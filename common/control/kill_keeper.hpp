// The kill switch over restarts: a file beside the program that says who is killed, since when and
// why. risk keeps one and oeg keeps one, so that either is enough. Control thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/control/json.hpp"
#include "common/control/kill_table.hpp"
#include "common/wire/kill.hpp"

namespace tickpath::control {

struct KeptKills {
  std::uint64_t version = 0;  // of the kill switch
  std::vector<wire::KillRecord> kills;
};

// No file: nobody is killed. Throws Error for a file that says nothing certain: whoever may not
// trade must be known before anybody may.
KeptKills read_kills(const std::string& path);
// Whole or not at all, and on the disk when it returns. Throws SystemError.
void write_kills(const std::string& path, const KeptKills& kept);

// As `status` and the file show a kill: {"strategy": 7 or "all", "by": ..., "since": ...}.
Json shown(const wire::KillRecord& kill);
// "strategy 7", "all strategies".
std::string whom(std::uint32_t id);

class KillKeeper {
 public:
  // The table outlives it.
  KillKeeper(std::string path, const KillTable& table);

  // What the last run left, which is logged. Throws Error.
  KeptKills restore() const;
  // Each tick: writes the file when the table has changed.
  void tick();
  // "kill_switch" of `status`: version, saved_version, command, kills; "error" where the file could
  // not be written.
  Json describe() const;
  const std::vector<wire::KillRecord>& kills() const noexcept { return kills_; }

 private:
  std::string path_;
  const KillTable& table_;
  KillState state_{};
  std::vector<wire::KillRecord> kills_;
  std::uint64_t saved_version_ = 0;
  std::uint64_t saved_changes_ = 0;
  std::string error_;
};

}  // namespace tickpath::control

// How far the replay is, for whoever watches `tickpath up`: a bar on a terminal, else a line every
// few seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "common/control/json.hpp"

namespace tickpath::cli {

// "[#####.....]  52 %  1,234,567 of 2,000,000 messages  09:31:02  98,000/s  8 s left", from sim's
// status. columns: of the terminal, which the line fits; 0: no bar, and whole.
std::string replay_line(const control::Json& replay, std::size_t columns);

class ReplayView {
 public:
  ReplayView();
  ~ReplayView();
  ReplayView(const ReplayView&) = delete;
  ReplayView& operator=(const ReplayView&) = delete;

  // Draws, or prints when it is time to.
  void show(const control::Json& replay);
  // Ends the bar's line, so that others may print.
  void finish();

 private:
  static constexpr std::chrono::seconds kBetweenLines{5};
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_line_;
};

}  // namespace tickpath::cli

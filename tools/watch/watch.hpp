// Looks at a running pipeline again and again. One thread.
//
// A look asks the control threads of the programs through their admin sockets, as `tickpath status`
// does, and reads the trace files that they write. No datapath thread takes part in it.
#pragma once

#include <set>
#include <string>

#include "common/control/json.hpp"
#include "tools/watch/recent_hops.hpp"
#include "tools/watch/view.hpp"

namespace tickpath::watch {

class Watch {
 public:
  // Throws Error where there is no such directory.
  explicit Watch(std::string run_dir);

  // Takes as long as the slowest program takes to answer, a second at most for each that hangs.
  // False: nothing runs there (any more), or it cannot be looked at; the view says which.
  bool look();

  // What the last look found.
  const control::Json& view() const noexcept { return view_; }
  const control::Json& statuses() const noexcept { return found_.statuses; }
  const RecentHops& hops() const noexcept { return hops_; }

 private:
  void find_statuses();
  void find_positions();
  void find_hops();
  void find_gone();

  std::string run_dir_;
  Found found_;
  control::Json view_;
  RecentHops hops_;
  std::set<std::string> seen_;
  std::string problem_;  // why the last look failed
};

}  // namespace tickpath::watch

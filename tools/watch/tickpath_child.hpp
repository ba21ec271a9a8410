// A command of `tickpath` that runs beside us: its output is gathered without waiting.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/cli/child.hpp"

namespace tickpath::watch {

class TickpathChild {
 public:
  // The `tickpath` beside our own program. Throws SystemError where it cannot be started.
  explicit TickpathChild(const std::vector<std::string>& arguments);

  // Reads what it has said so far. True once it has ended.
  bool ended();
  bool succeeded() const noexcept { return child_.succeeded(); }
  // What it has said; where it said nothing, how it ended. Control characters are blanks.
  std::string text() const;

 private:
  void read();

  cli::ChildPipes pipes_;
  cli::Child child_;
  std::string said_;
};

}  // namespace tickpath::watch

// Which `tickpath up` has a run directory to itself, and what it says of the run at its end.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "common/net/file_descriptor.hpp"

namespace tickpath::cli {

// Held by the `up` of a whole pipeline from before it looks at the run directory until it has
// checked the books: of two, one would stop or remove what is the other's. The lock is on
// <run_dir>/up.lock, which stays.
class RunOwner {
 public:
  // Makes the directory. Throws Error where another `up` has it; SystemError.
  explicit RunOwner(const std::string& run_dir);
  RunOwner(const RunOwner&) = delete;
  RunOwner& operator=(const RunOwner&) = delete;

  // What went wrong; empty: the run was good. `tickpath down` passes it on. Throws SystemError.
  void tell(const std::string& verdict) const;

  // The process that has it; 0: none.
  static pid_t holder(const std::string& run_dir);
  // Whether that process has started a program that has no place in the run directory yet. False
  // where the kernel does not list its children.
  static bool starts_one(const std::string& run_dir);
  // The verdict of the newest `up`; nullopt: it has said nothing yet, or ended without a word.
  static std::optional<std::string> verdict(const std::string& run_dir);

 private:
  std::string run_dir_;
  net::FileDescriptor lock_;
};

}  // namespace tickpath::cli

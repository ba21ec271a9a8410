// What is left of a run, by numbers that two runs can be compared by.
#pragma once

#include <cstdint>
#include <string>

#include "common/control/summary.hpp"
#include "common/net/file_descriptor.hpp"
#include "tools/lockstep/digest.hpp"
#include "tools/lockstep/member.hpp"

namespace tickpath::lockstep {

std::string sim_journal_path(const std::string& run_dir);

// Sequence numbers and everything else that a program counts.
std::string counters_of(const Member& member);
// Positions, orders, flows; also written to <run_dir>/<name>.summary.json. The program has stopped.
control::Summary write_summary(Member& member);
// mdh: every level of every book. Others have none.
void add_books(const Member& member, Digest& digest);
// What it has left for people to look at: the router's decisions, exceptions, kills.
void add_files(const std::string& run_dir, const std::string& name, Digest& digest);
// Throws SystemError.
std::uint64_t digest_of_file(const std::string& path);

// Makes the directory, or empties one that a run in lockstep left, and opens the log there; all for
// our user alone (it changes the umask). It is the caller's as long as what is returned lives.
// Throws Error for one that holds anything else, or that another run has.
[[nodiscard]] net::FileDescriptor prepare_run_dir(const std::string& run_dir);

}  // namespace tickpath::lockstep

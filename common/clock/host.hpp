// Which clock a time stamp counter belongs to: programs of one running kernel share one, programs
// on different hosts do not.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/cpu.hpp"
#include "common/base/units.hpp"

namespace tickpath::clock {

// FNV-1a (Fowler, Noll, Vo) of /proc/sys/kernel/random/boot_id, never 0. Two boots of one machine
// are two hosts: its counter started anew. Throws SystemError where the file cannot be read.
std::uint64_t host_id();
// The same of any boot id, for tests and tools.
std::uint64_t host_id_of(const std::string& boot_id) noexcept;
// gethostname(2); "unknown" where the kernel has none.
std::string host_name();
// As /proc/cpuinfo names the first processor; "unknown" where it names none.
std::string cpu_model();
// Online now, whether or not this program may run on them.
std::uint32_t processors() noexcept;

// The clock that a program stamps with, and whose it is. Tests put another one in its place; the
// programs never do.
struct Source {
  std::uint64_t host = 0;
  TscTicks (*read)(const void* state) = nullptr;  // nullptr: tsc_after_loads()
  const void* state = nullptr;

  // Not before what was loaded ahead of it had its value: a peer's reading that has reached us is
  // never of a later time than this.
  TscTicks now() const noexcept { return read == nullptr ? tsc_after_loads() : read(state); }
};
// This host's TSC. Throws like host_id().
Source this_host();

}  // namespace tickpath::clock

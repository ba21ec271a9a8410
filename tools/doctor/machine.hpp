// What /proc and /sys say about a machine; below another root, about one that a test wrote down.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/doctor/dcb.hpp"

namespace tickpath::cli::doctor {

using CpuSet = std::set<int>;
inline constexpr const char* kCpuFolder = "/sys/devices/system/cpu/";

class Machine {
 public:
  // root: put before every path; empty for the machine we run on. Never throws: what cannot be read
  // is absent.
  explicit Machine(std::string root = {}) : root_(std::move(root)) {}

  // The file's text without white space at its ends. nullopt: cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  std::optional<std::string> bytes(const std::string& path) const;  // as it is
  std::optional<std::int64_t> number(const std::string& path) const;
  // A kernel list of CPUs ("0-3,8"); an empty one is an empty set.
  std::optional<CpuSet> cpus(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Names in a folder, sorted; empty where there is none.
  std::vector<std::string> list(const std::string& folder) const;

  // Command names of the processes that run.
  std::set<std::string> processes() const;
  // A line of /proc/self/limits, its soft value: "unlimited" or a number.
  std::optional<std::string> limit(const std::string& name) const;
  // A capability bit of this process (linux/capability.h); nullopt: cannot be read.
  std::optional<bool> has_capability(int bit) const;
  CpuSet online() const;
  // NUMA node of a CPU; -1: unknown.
  int node_of(int cpu) const;
  // Whether the kernel takes CLOCK_REALTIME for synchronised (adjtimex(2), STA_UNSYNC). A file
  // below a root of its own: "/clock_synchronised", 0 or 1.
  std::optional<bool> clock_synchronised() const;
  // PFC and priorities of a network interface, by netlink. A file below a root of its own:
  // "/dcb/INTERFACE", with what `dcb` prints (parse_dcb_text()).
  DcbAnswer dcb(const std::string& interface) const;

 private:
  std::string root_;
};

// "0-3,8" and back. Damaged text gives what could be read of it.
CpuSet parse_cpus(const std::string& text);
std::string to_text(const CpuSet& cpus);

}  // namespace tickpath::cli::doctor

// What a person must set on a machine for low latency: looked at, judged, and how to put it right.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/machine.hpp"

namespace tickpath::cli::doctor {

enum class State : std::uint8_t {
  kOk,
  kWarn,     // costs latency now and then
  kFail,     // the pipeline will not run, or not as configured
  kUnknown,  // could not be read; `current` says why
};

struct Finding {
  std::string id;  // "cpu.governor"; stable, scripts may rely on it
  State state = State::kUnknown;
  std::string current;
  std::string needed;
  std::string why;
  std::string command;  // for a shell; several lines are several commands
};

// `finding`, once it could be read: kOk where it is good, else `bad`.
inline Finding judged(Finding finding, bool good, std::string current, State bad = State::kWarn) {
  finding.current = std::move(current);
  finding.state = good ? State::kOk : bad;
  return finding;
}

// The part of one program's configuration that concerns the machine.
struct Pins {
  static constexpr int kUnpinned = -1;
  static constexpr int kAuto = -2;
  std::string program;  // the file's name without ".toml"
  std::string file;
  int cpu = kUnpinned;
  std::string wait = "auto";
  std::string provider = "shm";
  std::string device;
  int traffic_class = 0;                  // fabric.traffic_class; 0: the system's default
  bool relaxed_ordering = false;          // fabric.relaxed_ordering
  std::int64_t receive_buffer_bytes = 0;  // feed.receive_buffer; 0: none
};

// A file, or a folder of *.toml files. Keys other than those above are not looked at: that is
// `PROGRAM --check`. Throws config::ConfigError naming file and line.
std::vector<Pins> read_pins(const std::string& path);

struct Subject {
  const Machine& machine;
  std::vector<Pins> pins;  // empty: the machine on its own
  // Why libfabric has no such device (fabric.device) here; empty: it has. Not set: nobody asks it.
  std::function<std::string(const std::string& device)> ask_libfabric{};

  CpuSet pinned_cpus() const;
  bool uses_verbs() const;
};

// Every check, in the order of the report.
std::vector<Finding> examine(const Subject& subject);

// Parts of examine(), by theme.
std::vector<Finding> check_memory(const Subject& subject);
std::vector<Finding> check_cpus(const Subject& subject);
std::vector<Finding> check_power(const Subject& subject);
std::vector<Finding> check_interrupts(const Subject& subject);
std::vector<Finding> check_clocks(const Subject& subject);
std::vector<Finding> check_kernel(const Subject& subject);
std::vector<Finding> check_rdma(const Subject& subject);
std::vector<Finding> check_pins(const Subject& subject);

std::string to_string(State state);
// A table; with `all`, also why and how of what is fine.
std::string to_text(const std::vector<Finding>& findings, bool all);
// {"findings": [{"id", "state", "current", "needed", "why", "command"}...], "ok": n, "warn": n,
// "fail": n, "unknown": n}
std::string to_json(const std::vector<Finding>& findings);

// Exit statuses of `tickpath doctor`: nothing failed; something failed; (2 is a wrong command line
// or configuration;) with --strict, nothing failed but there are warnings.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitWarnings = 3;
int exit_status(const std::vector<Finding>& findings, bool strict);

}  // namespace tickpath::cli::doctor

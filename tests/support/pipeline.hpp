// The five programs of config/demo in a folder of their own: own run directory, own ports; on the
// provider that the environment tells (tests/support/provider.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::test_support {

// What a program held at its end in one instrument for one strategy.
struct HeldPosition {
  std::int64_t shares;
  std::int64_t cash;
  bool operator==(const HeldPosition&) const = default;
};

class PipelineFolder {
 public:
  // Copies config/demo, config/venues or config/shards (these on shm only), with free ports and a
  // multicast group that no other test has.
  explicit PipelineFolder(const std::string& config = "config/demo");

  const std::string& path() const noexcept { return folder_.path(); }
  std::string run_dir() const { return folder_ / "run"; }
  std::string config_dir() const { return folder_ / "config"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::uint16_t order_port() const noexcept { return order_port_; }

  // Where `program` listens on the fabric, by its configuration.
  std::string endpoint(const std::string& program) const;
  // Replaces `from` by `to` in config/<program>.toml; throws Error when it is not there.
  void edit(const std::string& program, const std::string& from, const std::string& to) const;

  // One strategy in place of the configured ones, as number 1: tests/plugins/<plugin>.so. more: of
  // its [[plugin]], as TOML.
  void trade_only_by(const std::string& plugin, const std::string& more = {}) const;

  // Writes a recording by `tickpath generate` and returns its path.
  std::string generate(std::uint64_t messages, double seconds, int symbols = 20,
                       int seed = 1) const;

  // `tickpath up config --until-end` on a recording, with more arguments behind.
  std::vector<std::string> up(const std::string& recording,
                              const std::vector<std::string>& more = {}) const;
  // Throws Error where a log has a line that was not filled in (check_logs()).
  Finished run_up(const std::string& recording, const std::vector<std::string>& more = {},
                  std::chrono::milliseconds limit = std::chrono::seconds(120)) const;

  // One program of the pipeline by hand.
  Finished run_program(const std::string& name, const std::vector<std::string>& more = {},
                       std::chrono::milliseconds limit = test_support::kPatience) const;

  // Starts it, with each of these behind a --set.
  std::unique_ptr<Process> begin(const std::string& name,
                                 const std::vector<std::string>& settings = {}) const;

  // What `name` left at its end.
  std::string summary(const std::string& name) const;
  // Throws Error naming the line of any program's log with a place "{}" that nothing was put into,
  // or a negative number written as an unsigned one.
  void check_logs() const;
  // The end of each program's log, for a test that failed.
  std::string logs() const;
  // The positions in it that are not nothing, by "strategy symbol".
  std::map<std::string, HeldPosition> positions(const std::string& name) const;

  // Waits until a counter of a running program (as `tickpath status --json` tells it) is above
  // `value`; false after a minute.
  bool wait_counter_above(const std::string& name, const std::string& group,
                          const std::string& counter, std::uint64_t value) const;
  std::uint64_t counter(const std::string& name, const std::string& group,
                        const std::string& counter) const;
  // Waits until it listens on the fabric, on shm; false after kPatience.
  bool wait_listening(const std::string& program) const;
  // Process id of a running program, by `tickpath status`; -1 when it is not running.
  pid_t program_id(const std::string& name) const;

 private:
  Folder folder_;
  std::uint16_t order_port_;
};

}  // namespace tickpath::test_support

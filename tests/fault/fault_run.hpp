// The five programs one by one, so that each can be killed, stopped, and started again while the
// others run. Waits are for states that the programs tell, never for time.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {

// For states that must come: long enough for two loaded cores, short enough to end.
inline constexpr std::chrono::seconds kMustCome{120};

// How many times as long things take here: TICKPATH_TIME_SCALE on verbs in an emulated machine,
// else 1.
std::int64_t time_scale();
// heartbeat.dead_after in effect: config/demo's 35 ms; on verbs in an emulated machine, whose
// threads may not run for longer than that, TICKPATH_TIME_SCALE times as long.
std::int64_t dead_after_ms();
// Within which a heartbeat that stops must be noticed: dead_after with the time of a beat and of
// the looks (50 ms with config/demo). What the table promises.
double heartbeat_bound_ms();

// How much later than asked for a thread is woken at most while this lives: on a machine that is
// busy or emulated every bound is exceeded by that, once by the thread that acts and once by the
// one that looks.
class Lateness {
 public:
  Lateness();
  double ms() const { return 2 * static_cast<double>(longest_ns_.load()) / 1e6; }

 private:
  std::atomic<std::int64_t> longest_ns_{0};
  std::jthread thread_;
};

// What a program does, by one of its own counters: "14 orders refused".
struct Deed {
  std::string what;
  std::string program, group, counter;
};

// The programs that were neither killed nor restarted: what these counted since the start is
// compared.
struct Unharmed {
  bool sim = true;
  bool oeg = true;
  bool strategy = true;
};

class FaultRun {
 public:
  FaultRun();
  ~FaultRun();
  FaultRun(const FaultRun&) = delete;
  FaultRun& operator=(const FaultRun&) = delete;

  PipelineFolder& folder() noexcept { return folder_; }
  // More arguments for one program, e.g. {"--set", "venue.heartbeat=1"}; before it starts.
  void configure(const std::string& program, const std::vector<std::string>& arguments);

  // Starts all, each when the one before is ready, then the replay; waits until orders fill.
  // Throws Error when something does not come up.
  void begin();
  // One program, until it is ready (`until_ready`).
  void start(const std::string& program, bool until_ready = true);
  void kill(const std::string& program) { signal(program, SIGKILL); }
  void signal(const std::string& program, int number);
  // Reaps a killed one, so that its name is free again.
  void reap(const std::string& program);

  // Null when it does not answer.
  nlohmann::json status(const std::string& program) const;
  std::uint64_t counter(const std::string& program, const std::string& group,
                        const std::string& name) const;
  std::vector<std::uint64_t> counts(const std::vector<Deed>& deeds) const;
  // What was done since `before`: "3 orders sent, 14 orders refused".
  std::string done_since(const std::vector<Deed>& deeds,
                         const std::vector<std::uint64_t>& before) const;
  // False after kMustCome.
  bool wait_until(const std::function<bool()>& done) const;
  bool wait_counter_above(const std::string& program, const std::string& group,
                          const std::string& name, std::uint64_t value) const;
  // Strategies trade: oeg sends more orders than now.
  bool trades();

  // Ends the replay, lets everything settle, stops the programs in order. True: each ended with 0.
  bool end();
  nlohmann::json summary(const std::string& program) const;
  // What does not fit at the end; empty when all is well.
  std::string broken_books(Unharmed unharmed) const;
  // The end of each log, for a failed test.
  std::string logs() const;

 private:
  PipelineFolder folder_;
  std::map<std::string, std::vector<std::string>> extra_;
  std::map<std::string, std::unique_ptr<Process>> programs_;
};

// CLOCK_MONOTONIC, as programs note their losses.
std::int64_t monotonic_ns();
double ms_since(std::int64_t from_ns);

}  // namespace tickpath::test_support

// How long something takes at the venue: a constant, a draw from a distribution, or what a recorded
// trace of latencies says. Seeded: the same seed gives the same times in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/random.hpp"
#include "common/base/units.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::sim {

enum class LatencyKind : std::uint8_t {
  kNone,
  kFixed,      // delay
  kUniform,    // delay to delay + spread
  kNormal,     // mean delay, standard deviation spread; never below 0
  kLognormal,  // median delay, sigma of the logarithm
  kEmpirical,  // a random one of the file's
  kTrace,      // the file's in their order, from the start again at its end
};

struct LatencyOptions {
  LatencyKind kind = LatencyKind::kNone;
  std::int64_t delay_ns = 0;
  std::int64_t spread_ns = 0;
  double sigma = 0.5;
  std::int64_t limit_ns = 1'000'000'000;  // no draw is longer
  std::string file;
};

// The latencies of a file, in nanoseconds: text, one number a line; what follows a comma is not
// read, nor are empty lines and those that begin with '#'. Plain, .gz or .zst. Throws Error naming
// file and line, SystemError.
std::vector<std::uint64_t> read_latencies(const std::string& path);

// Constructor on the control thread (reads the file, throws as read_latencies()), draw() on the
// datapath: no allocation.
class LatencyModel {
 public:
  LatencyModel(const LatencyOptions& options, std::uint64_t seed);

  bool active() const noexcept { return options_.kind != LatencyKind::kNone; }
  std::uint64_t draw_ns() noexcept;

 private:
  double normal() noexcept;
  std::uint64_t bounded(double ns) const noexcept;

  LatencyOptions options_;
  Random random_;
  std::vector<std::uint64_t> samples_;
  std::size_t next_ = 0;
};

// Written by the datapath thread; any thread reads.
struct LatencyCounters {
  TICKPATH_COUNTERS(delayed,    // what went through
                    held_back,  // of those: would have overtaken the one before, and waited for it
                    total_ns);  // of all delays
};

// A latency that keeps the order: the time at which each thing comes out. Datapath thread.
class LatencyStage {
 public:
  LatencyStage(const LatencyOptions& options, std::uint64_t seed) : model_(options, seed) {}

  bool active() const noexcept { return model_.active(); }
  // Something went in; never earlier than what went in before it.
  TscTicks due(TscTicks now) noexcept;
  const LatencyCounters& counters() const noexcept { return counters_; }

 private:
  LatencyModel model_;
  clock::TickConverter converter_;
  TscTicks last_{};
  LatencyCounters counters_;
};

}  // namespace tickpath::sim

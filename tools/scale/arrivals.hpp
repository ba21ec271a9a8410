// When packets of the feed arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "tools/scale/queueing.hpp"
#include "tools/scale/scenario.hpp"

namespace tickpath::scale {

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // The time of the next packet; never before the one before.
  virtual Picoseconds next() = 0;
};

// As the scenario has it: packets at random (Poisson) at one rate within bursts and at another one
// between them. Bursts have one length and come at equal distances; the first begins when the mean
// time between two has passed.
class BurstArrivals final : public Arrivals {
 public:
  explicit BurstArrivals(const FeedModel& feed, std::uint64_t seed);
  Picoseconds next() override;

 private:
  // Packets are a Poisson process of rate 1 in `work`, which passes quicker in bursts.
  double seconds_at(double work) const noexcept;

  Random random_;
  double work_ = 0;
  double quiet_rate_, burst_rate_;  // packets a second
  double quiet_seconds_, burst_seconds_;
};

// The times of a recording's messages, `packet_messages` of them a packet, in a scale in which they
// have the mean rate that is asked for; from its start again when it is over.
class RecordedArrivals final : public Arrivals {
 public:
  // times_ns: of messages, ascending; at least two packets of them. Throws Error where all are one.
  RecordedArrivals(const FeedModel& feed, const std::vector<std::uint64_t>& times_ns);
  Picoseconds next() override;

 private:
  std::vector<double> packets_;  // seconds from the first, in scale
  double period_;                // from one pass to the next
  std::size_t at_ = 0;
  double base_ = 0;
};

// The times of at most `messages` of the first day of a recording in any format that sim replays.
// Throws Error where it cannot be read or has too few.
std::vector<std::uint64_t> times_of_recording(const std::string& path, std::uint64_t messages);

}  // namespace tickpath::scale

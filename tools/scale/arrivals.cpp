#include "tools/scale/arrivals.hpp"

#include <cmath>

#include "common/base/error.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::scale {

BurstArrivals::BurstArrivals(const FeedModel& feed, std::uint64_t seed) : random_(seed) {
  const double mean = feed.rate / feed.packet_messages;
  const double share = feed.burst_share;
  burst_seconds_ = share == 0 ? 0 : static_cast<double>(feed.burst_ns) * 1e-9;
  quiet_seconds_ = share == 0 ? 1 : burst_seconds_ * (1 - share) / share;
  burst_rate_ = mean * feed.burst_factor;
  quiet_rate_ = share == 0 ? mean : share == 1 ? 0 : (mean - share * burst_rate_) / (1 - share);
}

double BurstArrivals::seconds_at(double work) const noexcept {
  const double in_quiet = quiet_seconds_ * quiet_rate_;
  const double in_period = in_quiet + burst_seconds_ * burst_rate_;
  const double periods = std::floor(work / in_period);
  const double rest = work - periods * in_period;
  const double start = periods * (quiet_seconds_ + burst_seconds_);
  if (rest < in_quiet) return start + rest / quiet_rate_;
  // Rounding may leave nothing of a period where there are no bursts.
  if (burst_seconds_ == 0) return start + quiet_seconds_;
  return start + quiet_seconds_ + (rest - in_quiet) / burst_rate_;
}

Picoseconds BurstArrivals::next() {
  work_ -= std::log1p(-random_.unit());
  return picoseconds(seconds_at(work_));
}

RecordedArrivals::RecordedArrivals(const FeedModel& feed,
                                   const std::vector<std::uint64_t>& times_ns) {
  // A packet leaves with the last of its messages.
  for (std::size_t i = feed.packet_messages; i <= times_ns.size(); i += feed.packet_messages)
    packets_.push_back(static_cast<double>(times_ns[i - 1] - times_ns[0]) * 1e-9);
  if (packets_.size() < 2 || packets_.back() <= packets_.front())
    throw Error("the recording has too few messages, or all at one time: two packets of " +
                std::to_string(feed.packet_messages) + " messages at different times are needed");
  const double packets_a_second = feed.rate / feed.packet_messages;
  const double wanted = static_cast<double>(packets_.size() - 1) / packets_a_second;
  const double scale = wanted / (packets_.back() - packets_.front());
  const double first = packets_.front();
  for (double& packet : packets_) packet = (packet - first) * scale;
  period_ = packets_.back() + 1 / packets_a_second;
}

Picoseconds RecordedArrivals::next() {
  if (at_ == packets_.size()) {
    at_ = 0;
    base_ += period_;
  }
  return picoseconds(base_ + packets_[at_++]);
}

std::vector<std::uint64_t> times_of_recording(const std::string& path, std::uint64_t messages) {
  const auto reader = itch::open_recording(path);
  std::vector<std::uint64_t> times;
  itch::RecordedMessage message;
  while (times.size() < messages) {
    const itch::ReadStatus status = reader->next(message);
    if (status == itch::ReadStatus::kDamaged && times.empty())
      throw Error(path + ": " + reader->damage());
    // A night is no part of any load.
    if (status != itch::ReadStatus::kMessage || message.begins_day) break;
    // Captures may have times that go back a little.
    times.push_back(times.empty() ? message.timestamp_ns
                                  : std::max(times.back(), message.timestamp_ns));
  }
  return times;
}

}  // namespace tickpath::scale

// How far the replay has come: for `status`, and as a bar for whoever runs sim by hand.
#pragma once

#include <cstdint>
#include <future>
#include <string>

#include "sim/replay/recording_loader.hpp"
#include "sim/replay/replayer.hpp"

namespace tickpath::sim {

struct ReplayStatus {
  ReplayState state = ReplayState::kWaiting;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_total = 0;  // 0: not known yet
  bool total_is_estimate = false;
  std::uint64_t position_ns = 0;  // the recording's own time since midnight
  double speed = 1.0;             // times the recorded pace
  std::uint64_t elapsed_ns = 0;
  std::uint64_t rate = 0;          // messages a second, since the start
  std::int64_t remaining_ns = -1;  // -1: not known
  double fraction() const noexcept {
    return messages_total == 0
               ? 0
               : static_cast<double>(messages_sent) / static_cast<double>(messages_total);
  }
};

// Control thread.
class Progress {
 public:
  // pace: as configured; its rate is that on the way to where a seek leads.
  Progress(const Replayer& replayer, const FeedSender& feed, const RecordingLoader& loader,
           const PaceOptions& pace)
      : replayer_(replayer),
        feed_(feed),
        loader_(loader),
        max_rate_(pace.rate),
        planned_speed_(pace.speed) {}

  // Reads the recording once on a thread of its own, to know how much there is.
  void plan(const RecordingOptions& options);
  ReplayStatus status();

  // Draws over its own line on stderr, if that is a terminal, a few times a second.
  void draw();

 private:
  void estimate_total(ReplayStatus& status);
  std::int64_t remaining_after_seek(const ReplayStatus& status, std::uint64_t to_ns) const;
  // From a time of the recording to its end, at the speed of now.
  std::uint64_t planned_rest_ns(const ReplayStatus& status, std::uint64_t timestamp_ns) const;

  const Replayer& replayer_;
  const FeedSender& feed_;
  const RecordingLoader& loader_;
  std::uint64_t max_rate_;
  double planned_speed_;
  std::future<ReplayPlan> future_;
  ReplayPlan plan_{};
  std::int64_t drawn_at_ns_ = 0;
  bool finished_ = false;
};

// "[#####.....]  52 %  1,234,567 messages  09:31:02.100  98,000/s  3 s left"
std::string progress_line(const ReplayStatus& status);

}  // namespace tickpath::sim

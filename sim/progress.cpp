#include "sim/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "common/clock/clock.hpp"
#include "common/log/log.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {
namespace {

constexpr std::int64_t kDrawPeriodNs = 200'000'000;  // five times a second looks like motion
constexpr int kBarCells = 30;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace

void Progress::plan(const RecordingOptions& options) {
  future_ = std::async(std::launch::async, [options] {
    try {
      return plan_replay(options);
    } catch (const Error&) {
      return ReplayPlan{};  // the loader reads the same file and tells of it
    }
  });
}

ReplayStatus Progress::status() {
  if (future_.valid() && future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    plan_ = future_.get();
  const ReplayProgress& progress = replayer_.progress();
  ReplayStatus status;
  status.state = static_cast<ReplayState>(progress.state.get());
  status.messages_sent = feed_.counters().messages.get();
  status.position_ns = progress.position_ns.get();
  status.elapsed_ns = progress.elapsed_ns.get();
  if (status.elapsed_ns != 0)
    status.rate = static_cast<std::uint64_t>(static_cast<double>(status.messages_sent) *
                                             kNsPerSecond / static_cast<double>(status.elapsed_ns));
  const std::uint64_t changed = progress.speed_millionths.get();
  status.speed = changed == 0 ? planned_speed_ : static_cast<double>(changed) * 1e-6;
  estimate_total(status);
  if (status.state == ReplayState::kEnded || status.state == ReplayState::kHalted)
    status.remaining_ns = 0;
  else if (const std::uint64_t to = progress.seek_to_ns.get(); to != 0 && plan_.messages != 0)
    status.remaining_ns = remaining_after_seek(status, to);
  else if (changed != 0 && plan_.messages != 0)
    status.remaining_ns = static_cast<std::int64_t>(planned_rest_ns(status, status.position_ns));
  else if (plan_.messages != 0)
    status.remaining_ns =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(plan_.duration_ns) -
                                      static_cast<std::int64_t>(status.elapsed_ns));
  else if (status.fraction() > 0)
    status.remaining_ns = static_cast<std::int64_t>(static_cast<double>(status.elapsed_ns) *
                                                    (1 / status.fraction() - 1));
  return status;
}

std::uint64_t Progress::planned_rest_ns(const ReplayStatus& status,
                                        std::uint64_t timestamp_ns) const {
  return static_cast<std::uint64_t>(static_cast<double>(plan_.remaining_ns(timestamp_ns)) *
                                    planned_speed_ / status.speed);
}

// The recorded pace from where the replay is, or will be when it has caught up.
std::int64_t Progress::remaining_after_seek(const ReplayStatus& status, std::uint64_t to_ns) const {
  const bool there = status.position_ns >= to_ns;
  std::uint64_t left = planned_rest_ns(status, there ? status.position_ns : to_ns);
  const std::uint64_t before = plan_.messages_before(to_ns);
  if (!there && max_rate_ != 0 && before > status.messages_sent)
    left += (before - status.messages_sent) * kNsPerSecond / max_rate_;
  return static_cast<std::int64_t>(left);
}

// A recording too large to be read twice: what was read so far tells how many bytes a message has.
void Progress::estimate_total(ReplayStatus& status) {
  status.messages_total = plan_.messages;
  if (plan_.messages != 0) return;
  if (loader_.done()) {
    status.messages_total = loader_.messages_read();
    return;
  }
  status.total_is_estimate = true;
  if (loader_.file_bytes_read() != 0)
    status.messages_total =
        static_cast<std::uint64_t>(static_cast<double>(loader_.messages_read()) *
                                   static_cast<double>(loader_.file_bytes_total()) /
                                   static_cast<double>(loader_.file_bytes_read()));
}

std::string progress_line(const ReplayStatus& status) {
  const double fraction = std::clamp(status.fraction(), 0.0, 1.0);
  const int cells = static_cast<int>(fraction * kBarCells);
  std::string bar(static_cast<std::size_t>(cells), '#');
  bar.resize(kBarCells, '.');
  std::string line =
      fmt::format("[{}] {:3.0f} %  {} messages  {}  {}/s", bar, fraction * 100,
                  status.messages_sent, format_time_of_day(status.position_ns), status.rate);
  if (status.remaining_ns > 0)
    line += fmt::format("  {:.0f} s left", static_cast<double>(status.remaining_ns) / kNsPerSecond);
  return line;
}

void Progress::draw() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (!terminal || finished_) return;
  const std::int64_t now = clock::monotonic_ns();
  const ReplayStatus current = status();
  if (current.state == ReplayState::kWaiting) return;
  finished_ = current.state != ReplayState::kRunning && current.state != ReplayState::kPaused;
  if (!finished_ && now - drawn_at_ns_ < kDrawPeriodNs) return;
  drawn_at_ns_ = now;
  std::fprintf(stderr, "\r%s\033[K%s", progress_line(current).c_str(), finished_ ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace tickpath::sim

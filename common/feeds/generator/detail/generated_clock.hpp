// The clock of a generated day: how busy each time of the day is, and the time of each message.
#pragma once

#include <cstdint>

namespace tickpath::itch::detail {

// Activity over the trading day: a parabola, high at the open and the close. Before 09:30 and after
// 16:00 it is what it is there.
class DayShape {
 public:
  // Scaled to a mean of 1 over the stretch.
  DayShape(double from_s, double to_s) noexcept;
  double at(double s) const noexcept { return raw(s) / mean_; }
  // The integral of the stretch from `s` to its end: the mean times its length.
  double until_end(double s) const noexcept { return (integral(to_s_) - integral(s)) / mean_; }

 private:
  static double raw(double s) noexcept;
  static double integral(double s) noexcept;

  double to_s_;
  double mean_;
};

// The flow's own time runs as fast as the clock, but for a correction on the way: a recording has
// exactly so many messages, and lasts exactly so long.
class GeneratedClock {
 public:
  // rate: messages a second of the flow.
  GeneratedClock(std::uint64_t start_ns, double length_ns, double rate) noexcept;

  std::uint64_t now_ns() const noexcept { return now_ns_; }
  double now_s() const noexcept { return now_exact_ns_ * 1e-9; }
  double end_s() const noexcept { return end_ns_ * 1e-9; }
  double activity() const noexcept { return shape_.at(now_s()); }
  // The flow has come to `flow_s`; `left` messages follow.
  void follow(double flow_s, std::uint64_t left) noexcept;
  // The time, in nanoseconds, to which follow() would set the clock.
  double time_of(double flow_s, std::uint64_t left) const noexcept;
  // Something else happens at `at_ns`, before the flow's next event: the flow comes as far as it
  // does until then.
  void interrupt(std::uint64_t at_ns, std::uint64_t left) noexcept;
  // `messages` are spread evenly over what is left until `until_ns`.
  void step(std::uint64_t until_ns, std::uint64_t messages) noexcept;
  void jump(std::uint64_t to_ns) noexcept;
  void advance_to_end() noexcept { jump(static_cast<std::uint64_t>(end_ns_)); }

 private:
  void move(double gap_ns) noexcept;
  double correction(std::uint64_t left) const noexcept;

  double now_exact_ns_;
  double end_ns_;
  DayShape shape_;
  std::uint64_t now_ns_;
  double rate_;
  double flow_s_ = 0;
};

}  // namespace tickpath::itch::detail

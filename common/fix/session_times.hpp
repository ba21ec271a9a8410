// When a FIX session is open: StartTime, EndTime, StartDay and EndDay, as QuickFIX calls them.
#pragma once

#include <cstdint>
#include <string>

namespace tickpath::fix {

// In UTC. Own arithmetic in place of FIX::TimeRange, which takes two times on both sides of a
// night's break (22:00 to 21:00) for the same session, and reads clocks of its own.
class SessionTimes {
 public:
  SessionTimes() = default;  // it never ends
  // "08:00" or "08:00:00"; both empty: it never ends. The second of the end is the session's.
  // Equal: it ends where the next one begins. Days, "mon" or "monday" and so on: once a week, from
  // that day's start to that day's end; empty: every day. Throws Error.
  SessionTimes(const std::string& start, const std::string& end, const std::string& start_day = {},
               const std::string& end_day = {});

  bool limited() const noexcept { return period_s_ != 0; }
  // CLOCK_REALTIME. One that never ends is always open, and always the same.
  bool is_open(std::int64_t realtime_ns) const noexcept;
  // Both in one session, which is open at both.
  bool same_session(std::int64_t a_ns, std::int64_t b_ns) const noexcept;

 private:
  std::int64_t since_start_s(std::int64_t realtime_ns) const noexcept;

  std::int64_t period_s_ = 0;  // of a day or a week; 0: it never ends
  std::int64_t start_s_ = 0;   // of the first session, since the epoch
  std::int64_t length_s_ = 0;
};

}  // namespace tickpath::fix

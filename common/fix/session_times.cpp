#include "common/fix/session_times.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/error.hpp"

namespace tickpath::fix {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kWeekS = 7 * kDayS;
// 1970-01-01 was a Thursday: the week's first second, Sunday's, was so much earlier.
constexpr std::int64_t kFirstSundayS = -4 * kDayS;

std::int64_t second_of(const std::string& text) {
  std::int64_t seconds = 0;
  const bool shape = (text.size() == 5 || (text.size() == 8 && text[5] == ':')) && text[2] == ':';
  for (std::size_t at = 0; shape && at < 8; at += 3) {
    const std::string part = at < text.size() ? text.substr(at, 2) : "00";
    const bool digits = part.find_first_not_of("0123456789") == std::string::npos;
    const int value = digits ? std::stoi(part) : 99;
    if (value > (at == 0 ? 23 : 59)) throw Error("'" + text + "' is no time of day");
    seconds = seconds * 60 + value;
  }
  if (!shape) throw Error("'" + text + "' is no time of day; write \"08:00\" or \"08:00:00\"");
  return seconds;
}

std::int64_t day_of(const std::string& text) {
  constexpr std::array<std::string_view, 7> kDays = {"sunday",   "monday", "tuesday", "wednesday",
                                                     "thursday", "friday", "saturday"};
  const auto found = std::find_if(kDays.begin(), kDays.end(), [&](std::string_view day) {
    return text == day || text == day.substr(0, 3);
  });
  if (found == kDays.end()) throw Error("'" + text + "' is no day of the week; write \"mon\"");
  return found - kDays.begin();
}

std::int64_t floor_divide(std::int64_t value, std::int64_t by) noexcept {
  return value / by - (value % by < 0 ? 1 : 0);
}

}  // namespace

SessionTimes::SessionTimes(const std::string& start, const std::string& end,
                           const std::string& start_day, const std::string& end_day) {
  if (start.empty() != end.empty()) throw Error("start_time and end_time go together");
  if (start_day.empty() != end_day.empty()) throw Error("start_day and end_day go together");
  if (start.empty() && !start_day.empty()) throw Error("start_day needs a start_time");
  if (start.empty()) return;
  const bool weekly = !start_day.empty();
  period_s_ = weekly ? kWeekS : kDayS;
  start_s_ = second_of(start);
  std::int64_t end_s = second_of(end);
  if (weekly) {
    start_s_ += kFirstSundayS + day_of(start_day) * kDayS;
    end_s += kFirstSundayS + day_of(end_day) * kDayS;
  }
  length_s_ = end_s - start_s_;
  if (length_s_ <= 0) length_s_ += period_s_;
}

std::int64_t SessionTimes::since_start_s(std::int64_t realtime_ns) const noexcept {
  return floor_divide(realtime_ns, 1'000'000'000) - start_s_;
}

bool SessionTimes::is_open(std::int64_t realtime_ns) const noexcept {
  if (!limited()) return true;
  const std::int64_t since = since_start_s(realtime_ns);
  return since - floor_divide(since, period_s_) * period_s_ <= length_s_;
}

bool SessionTimes::same_session(std::int64_t a_ns, std::int64_t b_ns) const noexcept {
  if (!limited()) return true;
  return is_open(a_ns) && is_open(b_ns) &&
         floor_divide(since_start_s(a_ns), period_s_) ==
             floor_divide(since_start_s(b_ns), period_s_);
}

}  // namespace tickpath::fix

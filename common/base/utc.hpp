// Times of the calendar, for people and files. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tickpath {

// ISO 8601, in UTC; from the Unix epoch.
std::string utc_day_text(std::int64_t unix_s);  // "2027-02-19"
// The seconds of a day's begin, as utc_day_text() writes it. nullopt: no day from 1970 on.
std::optional<std::int64_t> parse_utc_day(const std::string& text);
std::string utc_text(std::int64_t unix_s);  // "2027-02-19T10:00:00Z"
// "2027-02-19T10:00:00.123Z", with so many digits of the second, 1 to 9: the rest is cut.
std::string utc_text_ns(std::int64_t unix_ns, int digits);

}  // namespace tickpath

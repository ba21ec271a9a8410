// Times of day as a person writes them, "09:30" or "09:30:00.25", and as ITCH carries them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tickpath::sim {

// ITCH's timestamps fit 48 bits (TotalView-ITCH 5.0, "Data Types"); this is later than any.
inline constexpr std::uint64_t kNoTime = ~std::uint64_t{0};

// Nanoseconds since midnight. Hours from 24 on are of the days behind the first one of a recording.
// Throws Error saying what is allowed.
std::uint64_t parse_time_of_day(std::string_view text);

// The time that is meant at a position of a recording of several days: times of day are of the day
// at hand, hours from 24 on count from the first one's midnight. Nanoseconds since that.
std::uint64_t on_day_of(std::uint64_t position_ns, std::uint64_t time_ns) noexcept;

// "09:30:00.250"
std::string format_time_of_day(std::uint64_t ns);

}  // namespace tickpath::sim

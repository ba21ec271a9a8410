#include "sim/replay/time_of_day.hpp"

#include <charconv>

#include <fmt/core.h>

#include "common/base/error.hpp"

namespace tickpath::sim {
namespace {

constexpr std::uint64_t kSecondOfDayNs = 1'000'000'000;

[[noreturn]] void refuse(std::string_view text) {
  throw Error("\"" + std::string(text) +
              "\" is not a time of day; write hours, minutes and, if wanted, seconds: \"09:30\", "
              "\"09:30:00.25\"");
}

// Two digits below `limit`; advances `rest` past them.
std::uint64_t two_digits(std::string_view& rest, std::uint64_t limit, std::string_view text) {
  std::uint64_t value = 0;
  if (rest.size() < 2) refuse(text);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + 2, value);
  if (error != std::errc{} || end != rest.data() + 2 || value >= limit) refuse(text);
  rest.remove_prefix(2);
  return value;
}

// Two digits or, of a recording of several days, more; at most a hundred years of them.
std::uint64_t hours(std::string_view& rest, std::string_view text) {
  constexpr std::size_t kDigitsMax = 6;
  const std::string_view digits = rest.substr(0, rest.find(':'));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.size() < 2 || digits.size() > kDigitsMax || error != std::errc{} ||
      end != digits.data() + digits.size())
    refuse(text);
  rest.remove_prefix(digits.size());
  return value;
}

std::uint64_t fraction_ns(std::string_view digits, std::string_view text) {
  if (digits.empty() || digits.size() > 9) refuse(text);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const char digit = i < digits.size() ? digits[i] : '0';
    if (digit < '0' || digit > '9') refuse(text);
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

}  // namespace

std::uint64_t parse_time_of_day(std::string_view text) {
  std::string_view rest = text;
  const auto skip = [&](char separator) {
    if (rest.empty() || rest.front() != separator) refuse(text);
    rest.remove_prefix(1);
  };
  std::uint64_t seconds = hours(rest, text) * 3600;
  skip(':');
  seconds += two_digits(rest, 60, text) * 60;
  if (rest.empty()) return seconds * kSecondOfDayNs;
  skip(':');
  seconds += two_digits(rest, 60, text);
  if (rest.empty()) return seconds * kSecondOfDayNs;
  skip('.');
  return seconds * kSecondOfDayNs + fraction_ns(rest, text);
}

std::uint64_t on_day_of(std::uint64_t position_ns, std::uint64_t time_ns) noexcept {
  constexpr std::uint64_t kDayNs = 86'400 * kSecondOfDayNs;
  return time_ns < kDayNs ? position_ns / kDayNs * kDayNs + time_ns : time_ns;
}

std::string format_time_of_day(std::uint64_t ns) {
  const std::uint64_t seconds = ns / kSecondOfDayNs;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     ns % kSecondOfDayNs / 1'000'000);
}

}  // namespace tickpath::sim

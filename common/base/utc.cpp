#include "common/base/utc.hpp"

#include <ctime>

#include "common/base/format.hpp"

namespace tickpath {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::tm parts_of(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return parts;
}

}  // namespace

std::string utc_day_text(std::int64_t unix_s) {
  const std::tm parts = parts_of(unix_s);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d", &parts)};
}

std::optional<std::int64_t> parse_utc_day(const std::string& text) {
  std::tm parts{};
  if (::strptime(text.c_str(), "%Y-%m-%d", &parts) == nullptr) return std::nullopt;
  const std::int64_t unix_s = ::timegm(&parts);
  // February 30 is a day of March by now.
  if (unix_s < 0 || utc_day_text(unix_s) != text) return std::nullopt;
  return unix_s;
}

std::string utc_text(std::int64_t unix_s) {
  const std::tm parts = parts_of(unix_s);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string utc_text_ns(std::int64_t unix_ns, int digits) {
  std::string text = utc_text(unix_ns / kNsPerSecond);
  text.pop_back();
  const std::string fraction = formatted("%09d", static_cast<int>(unix_ns % kNsPerSecond));
  return text + "." + fraction.substr(0, static_cast<std::size_t>(digits)) + "Z";
}

}  // namespace tickpath

#include "common/config/values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tickpath::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
// Largest first: format_*() takes the first that divides.
constexpr std::array<Unit, 5> kDurations{
    {{"min", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
constexpr std::array<Unit, 3> kSizes{{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}};

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

// Splits "1.5ms" into a number and what follows. False where there is no number.
bool split_number(std::string_view text, double& number, std::string_view& rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return true;
}

// Scales without a double where the number is whole, so that every int64 is exact.
bool scale(std::string_view text, double number, std::int64_t factor, std::int64_t& scaled) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  const bool is_whole = error == std::errc{} && (end == text.data() + text.size() ||
                                                 (*end != '.' && *end != 'e' && *end != 'E'));
  if (is_whole) return !__builtin_mul_overflow(whole, factor, &scaled);
  const double value = std::round(number * static_cast<double>(factor));
  if (!(std::fabs(value) < 9.2e18)) return false;
  scaled = static_cast<std::int64_t>(value);
  return true;
}

}  // namespace

ConfigError::ConfigError(std::vector<std::string> problems)
    : Error(join(problems)), problems_(std::move(problems)) {}

std::int64_t parse_duration_ns(std::string_view text) {
  double number = 0;
  std::string_view unit;
  std::int64_t ns = 0;
  if (split_number(text, number, unit)) {
    if (unit.empty() && number == 0) return 0;
    for (const Unit& known : kDurations)
      if (unit == known.name && scale(text, number, known.factor, ns)) return ns;
  }
  throw Error("a duration is a number with a unit (ns, us, ms, s, min), such as \"50us\"");
}

std::uint64_t parse_size_bytes(std::string_view text) {
  double number = 0;
  std::string_view unit;
  std::int64_t bytes = 0;
  if (split_number(text, number, unit) && number >= 0) {
    if ((unit.empty() || unit == "B") && scale(text, number, 1, bytes))
      return static_cast<std::uint64_t>(bytes);
    for (const Unit& known : kSizes)
      if (unit == known.name && scale(text, number, known.factor, bytes))
        return static_cast<std::uint64_t>(bytes);
  }
  throw Error("a size is a number of bytes or one with a unit (KiB, MiB, GiB), such as \"8MiB\"");
}

Address parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0 && colon + 1 < text.size()) {
    const std::string_view digits = text.substr(colon + 1);
    unsigned port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const std::string_view host = text.substr(0, colon);
    const bool host_is_clean = host.find_first_of(" \t\r\n:/") == std::string_view::npos;
    if (error == std::errc{} && end == digits.data() + digits.size() && port <= 65535 &&
        host_is_clean)
      return {std::string(host), static_cast<std::uint16_t>(port)};
  }
  throw Error("an address is \"host:port\" with a port from 0 to 65535");
}

std::string format_duration(std::int64_t ns) {
  if (ns == 0) return "0s";
  for (const Unit& unit : kDurations)
    if (ns % unit.factor == 0) return std::to_string(ns / unit.factor) + std::string(unit.name);
  return std::to_string(ns) + "ns";
}

std::string format_size(std::uint64_t bytes) {
  for (const Unit& unit : kSizes) {
    const auto factor = static_cast<std::uint64_t>(unit.factor);
    if (bytes != 0 && bytes % factor == 0)
      return std::to_string(bytes / factor) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

std::string format_address(const Address& address) {
  return address.host + ":" + std::to_string(address.port);
}

}  // namespace tickpath::config

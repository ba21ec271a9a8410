// The value types that a configuration struct may hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.hpp"

namespace tickpath::config {

// "host:port". The host is a name or a numeric IPv4 address; it is not resolved here.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

// A free-form table (a plugin's parameters): its keys are the plugin's business.
using ParameterValue = std::variant<std::int64_t, double, bool, std::string>;
struct Parameter {
  std::string key;
  ParameterValue value;
  std::string place{};  // of the value: "demo/strategy.toml:46:16", or "--set plugin.0.x=1"

  // Wherever they stand.
  friend bool operator==(const Parameter& a, const Parameter& b) {
    return a.key == b.key && a.value == b.value;
  }
};
using Parameters = std::vector<Parameter>;

// Everything that is wrong with a configuration, one problem a line, each
// "file:line: key: what was found; what is allowed".
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<std::string> problems);
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// "250ns", "50us", "1.5ms", "2s", "1min" to nanoseconds; "64", "8KiB", "8MiB", "1GiB" to bytes;
// "host:port". Throw Error saying what is allowed.
std::int64_t parse_duration_ns(std::string_view text);
std::uint64_t parse_size_bytes(std::string_view text);
Address parse_address(std::string_view text);

// The shortest exact spelling that the functions above read back.
std::string format_duration(std::int64_t ns);
std::string format_size(std::uint64_t bytes);
std::string format_address(const Address& address);

}  // namespace tickpath::config

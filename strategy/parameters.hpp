// What a plugin may ask about its [plugin.parameters], with the errors it would get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/values.hpp"

namespace tickpath::strategy {

// Control thread. Each getter returns a tickpath_status; when it is not TICKPATH_OK, error() says
// which key, what was found and what to write instead. Texts live as long as this object.
class ParameterReader {
 public:
  // For errors: title "strategy 1 (momentum)"; place of its [[plugin]], "demo/strategy.toml:40:1".
  ParameterReader(config::Parameters parameters, std::string title, std::string place);

  bool has(std::string_view key) noexcept;
  int integer(std::string_view key, std::int64_t& value);
  int number(std::string_view key, double& value);  // an integer is a number, too
  int boolean(std::string_view key, bool& value);
  int duration_ns(std::string_view key, std::uint64_t& value);
  int text(std::string_view key, const char*& value);
  // One element of a text that is a comma-separated list.
  int text_at(std::string_view key, std::size_t index, const char*& value);

  // The plugin will not have the value: "at least 1". Returns TICKPATH_INVALID.
  int reject(std::string_view key, std::string_view wanted);

  // "demo/strategy.toml:46:16: strategy 1 (momentum): parameter 'window': ..."
  const std::string& error() const noexcept { return error_; }
  // Keys that the file gives and nobody asked for: most likely misspelt. Empty: none.
  std::string unused() const;

 private:
  struct Entry {
    config::Parameter parameter;
    bool asked = false;
    std::vector<std::string> elements;  // of a list, split at the first question
  };
  Entry* find(std::string_view key);
  int missing(std::string_view key, std::string_view type);
  int wrong(const Entry& entry, std::string_view type);
  std::string named(const std::string& place, std::string_view key) const;

  std::vector<Entry> entries_;
  std::string title_;
  std::string place_;
  std::string error_;
  std::vector<std::string> questions_;
};

}  // namespace tickpath::strategy

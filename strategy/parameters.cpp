#include "strategy/parameters.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/base/nearest.hpp"
#include "strategy/plugin.h"

namespace tickpath::strategy {
namespace {

std::string describe(const config::ParameterValue& value) {
  switch (value.index()) {
    case 0:
      return "the integer " + std::to_string(std::get<std::int64_t>(value));
    case 1:
      return "the number " + std::to_string(std::get<double>(value));
    case 2:
      return std::get<bool>(value) ? "the flag true" : "the flag false";
    default:
      return "the text \"" + std::get<std::string>(value) + "\"";
  }
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> elements;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view element = text.substr(0, comma);
    while (!element.empty() && element.front() == ' ') element.remove_prefix(1);
    while (!element.empty() && element.back() == ' ') element.remove_suffix(1);
    if (!element.empty()) elements.emplace_back(element);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return elements;
}

}  // namespace

ParameterReader::ParameterReader(config::Parameters parameters, std::string title,
                                 std::string place)
    : title_(std::move(title)), place_(std::move(place)) {
  for (config::Parameter& parameter : parameters)
    entries_.push_back({std::move(parameter), false, {}});
}

ParameterReader::Entry* ParameterReader::find(std::string_view key) {
  if (std::find(questions_.begin(), questions_.end(), key) == questions_.end())
    questions_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.parameter.key != key) continue;
    entry.asked = true;
    return &entry;
  }
  return nullptr;
}

bool ParameterReader::has(std::string_view key) noexcept { return find(key) != nullptr; }

std::string ParameterReader::named(const std::string& place, std::string_view key) const {
  return place + ": " + title_ + ": parameter '" + std::string(key) + "': ";
}

int ParameterReader::missing(std::string_view key, std::string_view type) {
  error_ = named(place_, key) + "missing; ";
  std::vector<std::string> unasked;
  for (const Entry& entry : entries_)
    if (!entry.asked) unasked.push_back(entry.parameter.key);
  const std::string near = nearest_word(key, unasked);
  if (near.empty())
    error_ += "add it (" + std::string(type) + ") to its [plugin.parameters]";
  else
    error_ += "is '" + near + "' in its [plugin.parameters] meant to be it?";
  return TICKPATH_MISSING_PARAMETER;
}

int ParameterReader::wrong(const Entry& entry, std::string_view type) {
  error_ = named(entry.parameter.place, entry.parameter.key) + "found " +
           describe(entry.parameter.value) + "; the plugin wants " + std::string(type);
  return TICKPATH_WRONG_TYPE;
}

int ParameterReader::integer(std::string_view key, std::int64_t& value) {
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, "an integer");
  const auto* held = std::get_if<std::int64_t>(&entry->parameter.value);
  if (held == nullptr) return wrong(*entry, "an integer");
  value = *held;
  return TICKPATH_OK;
}

int ParameterReader::number(std::string_view key, double& value) {
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, "a number");
  if (const auto* real = std::get_if<double>(&entry->parameter.value)) {
    value = *real;
  } else if (const auto* integer = std::get_if<std::int64_t>(&entry->parameter.value)) {
    value = static_cast<double>(*integer);
  } else {
    return wrong(*entry, "a number");
  }
  return TICKPATH_OK;
}

int ParameterReader::boolean(std::string_view key, bool& value) {
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, "true or false");
  const auto* held = std::get_if<bool>(&entry->parameter.value);
  if (held == nullptr) return wrong(*entry, "true or false");
  value = *held;
  return TICKPATH_OK;
}

int ParameterReader::duration_ns(std::string_view key, std::uint64_t& value) {
  constexpr std::string_view kType = "a duration with its unit, such as \"5ms\"";
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, kType);
  const auto* held = std::get_if<std::string>(&entry->parameter.value);
  if (held == nullptr) return wrong(*entry, kType);
  try {
    const std::int64_t ns = config::parse_duration_ns(*held);
    if (ns < 0) return wrong(*entry, kType);
    value = static_cast<std::uint64_t>(ns);
  } catch (const Error&) {
    return wrong(*entry, kType);
  }
  return TICKPATH_OK;
}

int ParameterReader::text(std::string_view key, const char*& value) {
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, "a text in quotes");
  const auto* held = std::get_if<std::string>(&entry->parameter.value);
  if (held == nullptr) return wrong(*entry, "a text in quotes");
  value = held->c_str();
  return TICKPATH_OK;
}

int ParameterReader::text_at(std::string_view key, std::size_t index, const char*& value) {
  constexpr std::string_view kType = "a list in quotes, such as \"AAPL, MSFT\"";
  Entry* entry = find(key);
  if (entry == nullptr) return missing(key, kType);
  const auto* held = std::get_if<std::string>(&entry->parameter.value);
  if (held == nullptr) return wrong(*entry, kType);
  if (entry->elements.empty()) entry->elements = split_at_commas(*held);
  if (entry->elements.empty()) return wrong(*entry, kType);
  if (index >= entry->elements.size()) return TICKPATH_MISSING_PARAMETER;
  value = entry->elements[index].c_str();
  return TICKPATH_OK;
}

int ParameterReader::reject(std::string_view key, std::string_view wanted) {
  const Entry* entry = find(key);
  if (entry == nullptr) return missing(key, wanted);
  (void)wrong(*entry, wanted);
  return TICKPATH_INVALID;
}

std::string ParameterReader::unused() const {
  std::string unknown;
  for (const Entry& entry : entries_) {
    if (entry.asked) continue;
    unknown += unknown.empty() ? "" : "; ";
    unknown += named(entry.parameter.place, entry.parameter.key) + "unknown";
  }
  if (unknown.empty()) return {};
  std::string known;
  for (const std::string& question : questions_) known += (known.empty() ? "" : ", ") + question;
  return unknown + "; the plugin knows: " + (known.empty() ? "none" : known);
}

}  // namespace tickpath::strategy

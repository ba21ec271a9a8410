#include "common/control/counters.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace tickpath::control {

void Counters::add(const std::string& group, const std::string& name, const Counter& counter,
                   Weight weight) {
  add(
      group, name, [&counter] { return counter.get(); }, weight);
}

void Counters::add(const std::string& group, const std::string& name,
                   std::function<std::uint64_t()> value, Weight weight) {
  entries_.push_back({group, name, std::move(value), weight});
}

void Counters::remove(const std::string& group) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.group == group; });
}

std::uint64_t Counters::value(const std::string& group, const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.group == group && entry.name == name) return entry.value();
  return 0;
}

Json Counters::to_json() const {
  Json json = Json::object();
  for (const Entry& entry : entries_) json[entry.group][entry.name] = entry.value();
  return json;
}

Json Counters::key_json() const {
  Json json = Json::object();
  for (const Entry& entry : entries_)
    if (entry.weight == Weight::kKey) json[entry.group + "." + entry.name] = entry.value();
  return json;
}

}  // namespace tickpath::control

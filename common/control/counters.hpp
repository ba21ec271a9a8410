// The counters that `status` shows, by group and name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/counter.hpp"
#include "common/control/json.hpp"

namespace tickpath::control {

// Control thread only. The counters stay with their owners, which must outlive the registry's use;
// their single writer keeps writing while this reads.
class Counters {
 public:
  // A "key" counter is also shown in the table of `tickpath status`.
  enum class Weight : std::uint8_t { kDetail, kKey };

  void add(const std::string& group, const std::string& name, const Counter& counter,
           Weight weight = Weight::kDetail);
  // A value computed when asked (a ring's fill, a state).
  void add(const std::string& group, const std::string& name, std::function<std::uint64_t()> value,
           Weight weight = Weight::kDetail);
  // All of a struct (TICKPATH_COUNTERS); `key`: those of Weight::kKey, by name.
  template <class Struct>
  void add(const std::string& group, const Struct& counters,
           std::initializer_list<std::string_view> key = {}) {
    std::size_t keys = 0;
    counters.for_each([&](std::string_view name, const Counter& counter) {
      const bool is_key = std::ranges::find(key, name) != key.end();
      keys += is_key;
      add(group, std::string(name), counter, is_key ? Weight::kKey : Weight::kDetail);
    });
    TICKPATH_CHECK(keys == key.size(), "a key counter is misspelled");
  }
  // All of a group, when what it counts is gone (a subscriber that left).
  void remove(const std::string& group);

  std::uint64_t value(const std::string& group, const std::string& name) const;
  // {"group": {"name": value, ...}, ...} in the order of add().
  Json to_json() const;
  // {"group.name": value} of the key counters.
  Json key_json() const;

 private:
  struct Entry {
    std::string group;
    std::string name;
    std::function<std::uint64_t()> value;
    Weight weight;
  };
  std::vector<Entry> entries_;
};

}  // namespace tickpath::control

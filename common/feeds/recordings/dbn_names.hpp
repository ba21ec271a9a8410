// What the instruments of Databento's records are called, by the day. Names come from the metadata
// (days are UTC), from mappings in the stream, and from lines of CSV. The newest name counts. A
// name of the metadata ends with its interval.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/feeds/recordings/dbn.hpp"

namespace tickpath::itch {

class DbnNames {
 public:
  using Names = std::map<std::uint32_t, std::string>;  // by instrument

  // What a day's beginning changes.
  struct Day {
    std::vector<std::uint32_t> without;  // had a name, and have none
    Names names;                         // those of the day, new or not
  };

  void add(const std::vector<dbn::Mapping>& mappings);
  // Names of instruments that have none yet.
  void expect(const Names& names) { names_.insert(names.begin(), names.end()); }
  void set(std::uint32_t instrument, const std::string& name) { names_[instrument] = name; }
  // In the stream: no interval ends it.
  void set_for_good(std::uint32_t instrument) { of_day_.erase(instrument); }
  // Empty: none.
  std::string of(std::uint32_t instrument) const;
  const Names& all() const noexcept { return names_; }
  bool by_day() const noexcept { return !mappings_.empty(); }
  // The day at hand has its name.
  bool is_of_day(std::uint32_t instrument) const { return of_day_.contains(instrument); }
  // Some day has a name for it.
  bool maps(std::uint32_t instrument) const;

  // day: since the Unix epoch; 0 is not known, and stands for the first one of all. Names that end
  // are forgotten; set() takes the others.
  Day begin_day(std::uint64_t day);
  std::uint64_t day() const noexcept { return day_; }

 private:
  Names names_;
  std::vector<dbn::Mapping> mappings_;
  std::set<std::uint32_t> of_day_;  // named by mappings_
  std::uint64_t day_ = 0;
};

}  // namespace tickpath::itch

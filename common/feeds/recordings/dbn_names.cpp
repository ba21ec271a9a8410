#include "common/feeds/recordings/dbn_names.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tickpath::itch {
namespace {

// 20261231.
std::uint32_t date_of(std::uint64_t day) noexcept {
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(day)}}};
  return static_cast<std::uint32_t>(static_cast<int>(date.year()) * 10'000) +
         static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
}

}  // namespace

void DbnNames::add(const std::vector<dbn::Mapping>& mappings) {
  mappings_.insert(mappings_.end(), mappings.begin(), mappings.end());
}

std::string DbnNames::of(std::uint32_t instrument) const {
  const auto named = names_.find(instrument);
  return named == names_.end() ? "" : named->second;
}

bool DbnNames::maps(std::uint32_t instrument) const {
  return std::ranges::any_of(mappings_, [instrument](const dbn::Mapping& mapping) {
    return mapping.instrument == instrument;
  });
}

DbnNames::Day DbnNames::begin_day(std::uint64_t day) {
  day_ = day;
  const std::uint32_t date =
      day != 0 ? date_of(day) : std::ranges::min(mappings_, {}, &dbn::Mapping::from).from;
  Day begun;
  for (const dbn::Mapping& mapping : mappings_)
    if (mapping.from <= date && date < mapping.to)
      begun.names.insert_or_assign(mapping.instrument, mapping.symbol);
  for (const std::uint32_t instrument : std::exchange(of_day_, {}))
    if (!begun.names.contains(instrument) && names_.erase(instrument) != 0)
      begun.without.push_back(instrument);
  for (const auto& [instrument, name] : begun.names) of_day_.insert(instrument);
  return begun;
}

}  // namespace tickpath::itch

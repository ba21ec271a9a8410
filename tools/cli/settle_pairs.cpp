// Which one's books of a pair are the pair's.
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "tools/cli/conservation_parts.hpp"

namespace tickpath::cli {
namespace {

using control::Summary;

// The summaries of a program that may count, at one venue.
std::vector<Summary*> counted(std::vector<Summary>& summaries, const char* program,
                              std::uint8_t venue) {
  std::vector<Summary*> found;
  for (Summary& each : summaries)
    if (each.program == program && each.venue == venue && !each.stood_by) found.push_back(&each);
  return found;
}

// A venue's oegs that are of one shard of it (OegConfig::shard): pairs are of one each.
std::vector<Summary*> of_shard(const std::vector<Summary*>& oegs, std::uint64_t shard) {
  std::vector<Summary*> found;
  for (Summary* each : oegs)
    if (detail_of(*each, "shard") == shard) found.push_back(each);
  return found;
}

// Leaves those of `group` that have the highest `name`.
void keep_last(const std::vector<Summary*>& group, const char* name) {
  std::uint64_t last = 0;
  for (const Summary* each : group) last = std::max(last, detail_of(*each, name));
  for (Summary* const each : group) {
    if (detail_of(*each, name) == last) continue;
    each->stood_by = true;
    each->positions.clear();
    each->profits.clear();
    each->venues.clear();
  }
}

}  // namespace

void settle_pairs(std::vector<Summary>& summaries) {
  std::set<std::uint8_t> venues;
  for (const Summary& summary : summaries) venues.insert(summary.venue);
  for (const std::uint8_t venue : venues) {
    std::vector<Summary*> pairs = counted(summaries, "oeg", venue);
    std::erase_if(pairs, [](const Summary* each) { return detail_of(*each, "pair_epoch") == 0; });
    std::set<std::uint64_t> shards;
    for (const Summary* each : pairs) shards.insert(detail_of(*each, "shard"));
    for (const std::uint64_t shard : shards) keep_last(of_shard(pairs, shard), "pair_epoch");
    // Each of several oegs may have a risk of its own.
    if (counted(summaries, "oeg", venue).size() < 2)
      keep_last(counted(summaries, "risk", venue), "active_ms");
  }
}

}  // namespace tickpath::cli

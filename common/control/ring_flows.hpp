// A publisher's side of the books.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/control/summary.hpp"
#include "common/link/publisher.hpp"

namespace tickpath::control {

// The newest connection of each reader; none where that was lost, for then nobody can say how far
// the reader came.
inline std::vector<RingFlow> ring_flows(const std::vector<link::SubscriberAccount>& accounts) {
  std::map<std::string, const link::SubscriberAccount*> newest;
  for (const link::SubscriberAccount& account : accounts) {
    const link::SubscriberAccount*& kept = newest[account.name];
    if (kept == nullptr || kept->id < account.id) kept = &account;
  }
  std::vector<RingFlow> flows;
  for (const auto& [name, account] : newest)
    if (!account->lost) flows.push_back({name, account->published, 0, 0});
  return flows;
}

}  // namespace tickpath::control

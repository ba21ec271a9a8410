#include "common/wire/rights.hpp"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "common/wire/names.hpp"

namespace tickpath::wire {
namespace {

// Written out once more, so that a change of the table must be meant.
const std::set<std::tuple<Role, Service, Role>> kGranted = {
    {Role::kMdh, Service::kBookUpdates, Role::kStrategy},
    {Role::kMdh, Service::kBookUpdates, Role::kOeg},
    {Role::kMdh, Service::kBookUpdates, Role::kRisk},
    {Role::kMdh, Service::kRemoteTables, Role::kStrategy},
    {Role::kMdh, Service::kRemoteTables, Role::kOeg},
    {Role::kMdh, Service::kRemoteTables, Role::kRisk},
    {Role::kMdh, Service::kRemoteTables, Role::kTool},
    {Role::kMdh, Service::kHome, Role::kMdh},
    {Role::kMdh, Service::kHome, Role::kStrategy},
    {Role::kMdh, Service::kHome, Role::kOeg},
    {Role::kMdh, Service::kHome, Role::kRisk},
    {Role::kMdh, Service::kHome, Role::kTool},
    {Role::kMdh, Service::kHomeWrite, Role::kMdh},
    {Role::kMdh, Service::kPrices, Role::kStrategy},
    {Role::kMdh, Service::kPrices, Role::kOeg},
    {Role::kMdh, Service::kPrices, Role::kRisk},
    {Role::kMdh, Service::kPrices, Role::kTool},
    {Role::kMdh, Service::kValues, Role::kStrategy},
    {Role::kMdh, Service::kValues, Role::kTool},
    {Role::kOeg, Service::kOrders, Role::kStrategy},
    {Role::kOeg, Service::kDropCopy, Role::kRisk},
    {Role::kOeg, Service::kRemoteTables, Role::kRisk},
    {Role::kOeg, Service::kRemoteTables, Role::kTool},
    {Role::kOeg, Service::kStandby, Role::kOeg},
    {Role::kOeg, Service::kSnapshot, Role::kOeg},
    {Role::kRisk, Service::kWitness, Role::kOeg},
};

TEST(Rights, OfEveryRoleAtEveryServiceAreTheseAndNoOthers) {
  std::size_t granted = 0;
  // One value beyond each enumeration too: what a peer of another build, or a liar, may send.
  for (unsigned listener = 0; listener <= 7; ++listener)
    for (unsigned service = 0; service <= 11; ++service)
      for (unsigned peer = 0; peer <= 7; ++peer) {
        const auto l = static_cast<Role>(listener);
        const auto s = static_cast<Service>(service);
        const auto p = static_cast<Role>(peer);
        const bool expected = kGranted.contains({l, s, p});
        EXPECT_EQ(may_use(l, p, s), expected)
            << name(p) << " asks " << name(l) << " for " << name(s);
        granted += expected ? 1u : 0u;
      }
  EXPECT_EQ(granted, kGranted.size());
}

}  // namespace
}  // namespace tickpath::wire

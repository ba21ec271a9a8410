// From which address the verbs provider connects, on a scripted host (fake_verbs.hpp) with a VLAN
// and a second device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/verbs/cm.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"

namespace tickpath::rdma::detail {
namespace {

using test_support::fake_host;
using test_support::FakeVerbs;
using ::testing::ElementsAre;

// The sources that were tried, in order; "": no route leads there.
std::vector<std::string> sources(const std::string& device, const std::string& target) {
  const FakeVerbs verbs(fake_host("vlan"));
  DeviceOptions options{.provider = "verbs", .device = device};
  options.security.mode = net::SecurityMode::kNone;
  VerbsCore core(options);
  CmConnector connector(core, parse_ip(target), 7700, SetupDeadline(std::chrono::seconds(5)));
  connector.resolve();
  EXPECT_TRUE(core.same_device(connector.id()));
  return verbs.resolved();
}

TEST(CmConnector, ResolveFromANamedDeviceTakesTheAddressOfTheVlanThatLeadsThere) {
  EXPECT_THAT(sources("mlx5_0", "10.7.0.2"), ElementsAre("10.7.0.1"));
}

TEST(CmConnector, ResolveFromANamedDeviceTakesItsBestAddressWhereRoutesPreferAnotherDevice) {
  EXPECT_THAT(sources("mlx5_0", "10.0.1.2"), ElementsAre("10.0.1.1", "10.0.0.1"));
}

TEST(CmConnector, ResolveFromANamedDeviceTakesItsBestAddressWhereNoRouteLeads) {
  EXPECT_THAT(sources("mlx5_0", "10.9.0.2"), ElementsAre("", "10.0.0.1"));
}

TEST(CmConnector, ResolveFromANamedAddressTakesThat) {
  EXPECT_THAT(sources("10.0.0.1", "10.7.0.2"), ElementsAre("10.0.0.1"));
}

TEST(CmConnector, ResolveWithoutADeviceTakesWhatRoutesGive) {
  EXPECT_THAT(sources("", "10.0.0.2"), ElementsAre("10.0.0.1"));
}

}  // namespace
}  // namespace tickpath::rdma::detail

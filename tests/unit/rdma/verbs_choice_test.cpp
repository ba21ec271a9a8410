// Which device and port verbs takes, on hosts that are scripted (fake_verbs.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/verbs/choice.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma::detail {
namespace {

using test_support::fake_host;
using test_support::FakeVerbs;
using ::testing::HasSubstr;

// "mlx5_1 port 1 at 10.0.1.1"
std::string chosen_on(test_support::FakeHost host, const std::string& choice) {
  const FakeVerbs verbs(std::move(host));
  try {
    const ChosenDevice device = choose_device(choice);
    return device.name + " port " + std::to_string(device.port) + " at " +
           address_text(device.address);
  } catch (const SetupError& error) {
    return error.what();
  }
}

TEST(VerbsChoice, WithoutAWishTakesAPortThatHasAnAddress) {
  EXPECT_EQ(chosen_on(fake_host("roce"), ""), "mlx5_0 port 1 at 10.0.0.1");
  EXPECT_EQ(chosen_on(fake_host("two_devices"), ""), "mlx5_1 port 1 at 10.0.1.1");
  EXPECT_EQ(chosen_on(fake_host("dual_port"), ""), "mlx4_0 port 2 at 10.0.1.1");
}

TEST(VerbsChoice, OfADeviceByNameTakesThePortThatHasAnAddress) {
  EXPECT_EQ(chosen_on(fake_host("dual_port"), "mlx4_0"), "mlx4_0 port 2 at 10.0.1.1");
}

TEST(VerbsChoice, WhereNoPortHasAnAddressTheFirstServesThatWorks) {
  EXPECT_EQ(chosen_on(fake_host("two_devices"), "mlx5_0"), "mlx5_0 port 1 at ");
  test_support::FakeHost host = fake_host("dual_port");
  host.devices[0].ports[0].active = false;
  host.devices[0].ports[1].gids.pop_back();
  EXPECT_EQ(chosen_on(host, ""), "mlx4_0 port 2 at ");
}

TEST(VerbsChoice, ByAddressFindsItsDeviceAndPort) {
  EXPECT_EQ(chosen_on(fake_host("two_devices"), "10.0.1.1"), "mlx5_1 port 1 at 10.0.1.1");
  EXPECT_EQ(chosen_on(fake_host("dual_port"), "10.0.1.1"), "mlx4_0 port 2 at 10.0.1.1");
  EXPECT_THAT(chosen_on(fake_host("roce"), "10.0.0.9"),
              HasSubstr("no RDMA device has the address 10.0.0.9"));
}

// Its GIDs are no IP addresses: those are IPoIB's.
TEST(VerbsChoice, AnInfiniBandPortHasTheAddressesOfItsIpoibInterfaces) {
  EXPECT_EQ(chosen_on(fake_host("infiniband"), ""), "mlx5_0 port 1 at 10.0.0.1");
  EXPECT_EQ(chosen_on(fake_host("infiniband"), "10.0.0.1"), "mlx5_0 port 1 at 10.0.0.1");
  EXPECT_EQ(chosen_on(fake_host("infiniband"), "10.8.0.1"), "mlx5_0 port 1 at 10.8.0.1");
  EXPECT_THAT(chosen_on(fake_host("infiniband"), "192.168.0.1"), HasSubstr("has another address"));
}

TEST(VerbsChoice, AnIpoibInterfaceOfAPartitionBringsItsKey) {
  const FakeVerbs verbs(fake_host("infiniband"));
  EXPECT_EQ(choose_device("10.0.0.1").pkey_index, 0);
  EXPECT_EQ(choose_device("10.8.0.1").pkey_index, 1);
  EXPECT_EQ(choose_device("").raw_gid.raw[0], 0xfe) << "datagrams name the port's GID";
}

TEST(VerbsChoice, ALinkLocalAddressIsNoneThatOthersCouldReach) {
  test_support::FakeHost host = fake_host("infiniband");
  host.interfaces[1].addresses = {"fe80::5"};
  host.interfaces.resize(2);
  EXPECT_EQ(chosen_on(host, ""), "mlx5_0 port 1 at ");
}

TEST(VerbsChoice, EfaIsRefusedWithTheReason) {
  EXPECT_THAT(chosen_on(fake_host("efa"), ""), HasSubstr("no reliable connections"));
}

}  // namespace
}  // namespace tickpath::rdma::detail

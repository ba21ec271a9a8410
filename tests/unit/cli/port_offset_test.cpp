// Two runs of one configuration on one machine: which ports move, and the error about ports that
// are taken.
#include "tools/cli/port_offset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/udp_socket.hpp"
#include "tests/support/process.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<EffectiveConfig> printed_configs(const std::string& folder,
                                             const std::vector<std::string>& only = {}) {
  const test_support::Folder run_dir;
  return effective_configs(configured_programs(test_support::source(folder), {}, only),
                           std::filesystem::path(test_support::program("sim")).parent_path(),
                           run_dir.path());
}

TEST(PortOffset, MovesWhatListensAndWhatLeadsThere) {
  const auto shifted = shifted_ports(printed_configs("config/demo"), 100);
  EXPECT_THAT(shifted.at("sim"),
              UnorderedElementsAre("feed.group=239.255.7.1:7801", "feed.source=127.0.0.1:7800",
                                   "feed.snapshot.listen=127.0.0.1:7891",
                                   "orders.session.0.listen=127.0.0.1:9978"));
  EXPECT_THAT(shifted.at("mdh"),
              UnorderedElementsAre("feed.group=239.255.7.1:7801", "feed.source=127.0.0.1:7800",
                                   "feed.snapshot.server=127.0.0.1:7891"));
  EXPECT_THAT(shifted.at("oeg"), UnorderedElementsAre("venue.address=127.0.0.1:9978"));
  EXPECT_FALSE(shifted.contains("risk")) << "on shm paths alone, which the run directory parts";
  const auto venues = shifted_ports(printed_configs("config/venues"), 100);
  EXPECT_THAT(venues.at("mdh-2"), Contains("feed.group=239.255.7.3:7821"));
  EXPECT_THAT(venues.at("mdh-1"), Contains("feed.group=239.255.7.1:7801"));
}

// An exchange that is elsewhere keeps its address.
TEST(PortOffset, LeavesWhatNoProgramOfTheConfigurationHas) {
  EXPECT_THAT(shifted_ports(printed_configs("config/demo", {"mdh", "oeg"}), 100), IsEmpty());
  std::vector<EffectiveConfig> configs{
      {"mdh", "mdh", "mdh.toml", "[fabric]\nendpoint = \"10.0.0.1:7001\"\n"},
      {"oeg", "oeg", "oeg.toml",
       "[venue]\naddress = \"10.0.0.2:7001\"\n[mdh]\nendpoint = \"10.0.0.1:7001\"\n"
       "[x.parameters]\npeer = \"10.0.0.1:7001\"\n"}};
  const auto shifted = shifted_ports(configs, 5);
  EXPECT_THAT(shifted.at("mdh"), UnorderedElementsAre("fabric.endpoint=10.0.0.1:7006"));
  EXPECT_THAT(shifted.at("oeg"), UnorderedElementsAre("mdh.endpoint=10.0.0.1:7006"));
  EXPECT_THAT(test_support::error_of([&] { shifted_ports(configs, 60'000); }),
              AllOf(HasSubstr("mdh.toml: fabric.endpoint is 10.0.0.1:7001, and --port-offset 60000 "
                              "leads beyond port 65535"),
                    HasSubstr("oeg.toml: mdh.endpoint")));
}

TEST(PortOffset, TellsAllPortsThatAreTaken) {
  const net::UdpSocket taken({.local = {0x7f000001, 0}});
  const std::string address = taken.local().text();
  const std::vector<EffectiveConfig> configs{
      {"sim", "sim", "sim.toml",
       "[feed]\nsource = \"" + address + "\"\nretransmission.listen = \"" + address +
           "\"\nsnapshot.listen = \"" + address + "\"\n"},
      {"mdh", "mdh", "mdh.toml", "[feed]\nsource = \"" + address + "\"\n"}};
  EXPECT_THAT(
      taken_ports(configs),
      UnorderedElementsAre("sim.toml: feed.source is " + address + " (UDP)",
                           "sim.toml: feed.retransmission.listen is " + address + " (UDP)"));
}

}  // namespace
}  // namespace tickpath::cli

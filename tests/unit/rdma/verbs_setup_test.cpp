// The set-up messages of the verbs provider, endpoints and addresses; none of it needs a device.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/setup/stream.hpp"
#include "common/rdma/verbs/choice.hpp"
#include "common/rdma/verbs/setup.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma::detail {
namespace {

std::vector<std::byte> sample_accept() {
  VerbsHeader header{.type = VerbsMessageType::kAccept, .cm_port = 7471};
  header.token[15] = 9;
  const RemoteRegion region{0x1000, 64, 77, kRemoteRead};
  const std::string body = "welcome";
  return encode(header, {&region, 1}, std::as_bytes(std::span(body)));
}

std::string verbs_refusal(std::span<const std::byte> frame) {
  const auto error = test_support::thrown<SetupError>([&] { parse_frame<VerbsHeader>(frame); });
  if (!error) return "accepted";
  EXPECT_EQ(error->cause(), SetupCause::kProtocol);
  return error->what();
}

TEST(VerbsSetup, ParsesWhatItEncoded) {
  const VerbsMessage message = parse_frame<VerbsHeader>(sample_accept());
  EXPECT_EQ(message.header.type, VerbsMessageType::kAccept);
  EXPECT_EQ(message.header.cm_port, 7471);
  EXPECT_EQ(message.header.token[15], 9);
  ASSERT_EQ(message.regions.size(), 1u);
  EXPECT_EQ(message.regions[0].rkey, 77u);
  EXPECT_EQ(message.text(), "welcome");
}

TEST(VerbsSetup, RefusesEveryOtherLength) {
  std::vector<std::byte> frame = sample_accept();
  for (std::size_t length = 0; length < frame.size(); ++length) {
    EXPECT_NE(verbs_refusal(std::span(frame).first(length)), "accepted") << length;
  }
  frame.push_back(std::byte{0});
  EXPECT_NE(verbs_refusal(frame), "accepted");
}

TEST(VerbsSetup, NamesBothVersionsOfAPeerOfAnotherRelease) {
  std::vector<std::byte> frame = sample_accept();
  frame[4] = std::byte{99};
  EXPECT_THAT(verbs_refusal(frame),
              ::testing::HasSubstr("version 99, this is " + std::to_string(kVerbsVersion)));
}

TEST(VerbsSetup, RefusesWhatIsNotOurs) {
  for (const std::size_t at : {0u, 6u}) {  // magic, type
    std::vector<std::byte> frame = sample_accept();
    frame[at] = std::byte{0xee};
    EXPECT_NE(verbs_refusal(frame), "accepted") << at;
  }
}

TEST(VerbsSetup, RefusesRegionsThatWrapOrHaveUnknownRights) {
  RemoteRegion region{~std::uint64_t{0}, 64, 1, kRemoteRead};
  EXPECT_NE(verbs_refusal(encode(VerbsHeader{}, {&region, 1}, {})), "accepted");
  region = {0x1000, 64, 1, 1u << 7};
  EXPECT_NE(verbs_refusal(encode(VerbsHeader{}, {&region, 1}, {})), "accepted");
}

TEST(VerbsSetup, AllowsNoControlCharactersIntoLogs) {
  const std::string body = "gone\nERROR all is lost";
  EXPECT_EQ(
      parse_frame<VerbsHeader>(encode(VerbsHeader{}, {}, std::as_bytes(std::span(body)))).text(),
      "gone ERROR all is lost");
}

TEST(VerbsSetup, MakesTokensThatDiffer) { EXPECT_NE(random_token(), random_token()); }

TEST(VerbsEndpoint, IsHostAndPort) {
  EXPECT_EQ(parse_host_port("10.0.0.1:7471", "verbs").host, "10.0.0.1");
  EXPECT_EQ(parse_host_port("10.0.0.1:7471", "verbs").port, 7471);
  EXPECT_EQ(parse_host_port("[fe80::1]:1", "verbs").host, "fe80::1");
  for (const char* wrong :
       {"", "host", "host:", ":7471", "host:x", "host:70000", "run/mdh.fabric"}) {
    EXPECT_THROW(parse_host_port(wrong, "verbs"), SetupError) << wrong;
  }
}

TEST(VerbsAddress, SurvivesTheWayThroughSixteenBytes) {
  for (const char* text : {"10.77.0.1", "fe80::1", "2001:db8::7"}) {
    std::array<std::uint8_t, 16> bytes{};
    to_bytes(parse_ip(text), bytes.data());
    EXPECT_EQ(address_text(from_bytes(bytes.data())), text);
  }
  EXPECT_EQ(parse_ip("mlx5_0").ss_family, 0);
}

TEST(VerbsDevice, ThatIsNoInfiniBandOrRoceIsRefusedWithARemedy) {
  EXPECT_EQ(why_unusable(IBV_TRANSPORT_IB), "");
  EXPECT_EQ(why_unusable(IBV_TRANSPORT_IWARP), "");
  EXPECT_NE(why_unusable(IBV_TRANSPORT_UNSPECIFIED).find("(RC)"), std::string::npos);
}

TEST(VerbsDevice, ThatDoesNotExistIsRefusedWithARemedy) {
  const auto error =
      test_support::thrown<SetupError>([] { open_device("verbs", "no_such_device"); });
  ASSERT_TRUE(error) << "opened";
  EXPECT_EQ(error->cause(), SetupCause::kNoDevice);
  EXPECT_THAT(error->what(), ::testing::AnyOf(::testing::HasSubstr("rdma link add"),
                                              ::testing::HasSubstr("this machine has")));
}

}  // namespace
}  // namespace tickpath::rdma::detail

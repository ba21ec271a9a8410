#include "common/feeds/itch/soupbintcp.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "common/feeds/itch/glimpse.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch::soup {
namespace {

using test::Bytes;
using test::from_hex;
using test::to_bytes;
using test::to_hex;

// Login Request: length 47, 'L', "user  ", "secret    ", " SESSION01" (to the left), "1".
constexpr std::string_view kGoldenLogin =
    "002f4c"
    "757365722020"
    "73656372657420202020"
    "2053455353494f4e3031"
    "2020202020202020202020202020202020202031";

// Login Accepted: length 31, 'A', "SESSION001", "18446744073709551615".
constexpr std::string_view kGoldenAccepted =
    "001f41"
    "53455353494f4e303031"
    "3138343436373434303733373039353531363135";

Packet only_packet(std::span<const std::byte> stream) {
  Packet packet;
  std::size_t consumed = 0;
  EXPECT_EQ(read_packet(stream, packet, consumed), ReadStatus::kPacket);
  EXPECT_EQ(consumed, stream.size());
  return packet;
}

TEST(SoupBinTcp, ReadsAndWritesTheGoldenLogin) {
  const Bytes bytes = from_hex(kGoldenLogin);
  const Packet packet = only_packet(bytes);
  EXPECT_EQ(packet.type, PacketType::kLoginRequest);
  const auto login = parse_login_request(packet.payload);
  ASSERT_TRUE(login);
  EXPECT_EQ(login->username.view(), "user");
  EXPECT_EQ(login->password.view(), "secret");
  EXPECT_EQ(login->session.view(), "SESSION01");
  EXPECT_EQ(login->sequence_number, 1u);
  std::vector<std::byte> written;
  append(written, *login);
  EXPECT_EQ(to_hex(written), kGoldenLogin);
}

TEST(SoupBinTcp, ReadsAndWritesTheGoldenAnswer) {
  const Bytes bytes = from_hex(kGoldenAccepted);
  const Packet packet = only_packet(bytes);
  EXPECT_EQ(packet.type, PacketType::kLoginAccepted);
  const auto accepted = parse_login_accepted(packet.payload);
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->session.view(), "SESSION001");
  EXPECT_EQ(accepted->sequence_number, std::numeric_limits<std::uint64_t>::max());
  std::vector<std::byte> written;
  append(written, *accepted);
  EXPECT_EQ(to_hex(written), kGoldenAccepted);
  written.clear();
  append(written, RejectReason::kSessionNotAvailable);
  EXPECT_EQ(to_hex(written), "00024a53");
}

TEST(SoupBinTcp, ReadsAPacketOnlyWhenAllOfItIsHere) {
  Bytes stream = from_hex(kGoldenLogin);
  const std::size_t first = stream.size();
  append_packet(stream, PacketType::kClientHeartbeat);
  for (std::size_t length = 0; length < first; ++length) {
    Packet packet;
    std::size_t consumed = 7;
    // Exactly so many bytes, so that reading beyond them would be seen by the sanitizers.
    const Bytes cut(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(read_packet(cut, packet, consumed), ReadStatus::kIncomplete) << length;
    EXPECT_EQ(consumed, 0u);
  }
  Packet packet;
  std::size_t consumed = 0;
  EXPECT_EQ(read_packet(stream, packet, consumed), ReadStatus::kPacket);
  EXPECT_EQ(consumed, first);
  EXPECT_EQ(only_packet(std::span(stream).subspan(first)).type, PacketType::kClientHeartbeat);
}

TEST(SoupBinTcp, APacketWithoutATypeIsDamage) {
  Packet packet;
  std::size_t consumed = 0;
  EXPECT_EQ(read_packet(from_hex("000041"), packet, consumed), ReadStatus::kDamaged);
  EXPECT_EQ(consumed, 0u);
}

TEST(SoupBinTcp, NumbersMayStandAnywhereInTheirFieldButBeNothingElse) {
  const auto parsed = [](const char* text) { return parse_number(to_bytes(text)); };
  EXPECT_EQ(parsed("                   1"), 1u);
  EXPECT_EQ(parsed("1                   "), 1u);
  EXPECT_EQ(parsed("00000000000000000042"), 42u);
  EXPECT_EQ(parsed("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const char* wrong : {"18446744073709551616", "                    ", "", "-1", "1 2", "0x10",
                            "99999999999999999999", "1a"})
    EXPECT_FALSE(parsed(wrong)) << wrong;
}

TEST(SoupBinTcp, LoginsOfAnotherLengthOrWithoutANumberAreNone) {
  const Bytes login = from_hex(kGoldenLogin);
  const std::span payload = std::span(login).subspan(kHeaderBytes);
  for (std::size_t length = 0; length < payload.size(); ++length) {
    EXPECT_FALSE(parse_login_request(payload.first(length))) << length;
    EXPECT_FALSE(parse_login_accepted(payload.first(length)) && length != LoginAccepted::kLength);
  }
  Bytes wrong(payload.begin(), payload.end());
  wrong.back() = std::byte{'x'};
  EXPECT_FALSE(parse_login_request(wrong));
}

TEST(Glimpse, TheEndOfASnapshotCarriesTheNextNumber) {
  const auto message = glimpse::make_snapshot(1'234'567);
  EXPECT_EQ(to_hex(message), "472020202020202020202020202031323334353637");
  EXPECT_EQ(glimpse::parse_snapshot(message), 1'234'567u);
  EXPECT_FALSE(glimpse::parse_snapshot(std::span(message).first(20)));
  EXPECT_FALSE(glimpse::parse_snapshot(to_bytes("S2020202020202020202021")));
}

}  // namespace
}  // namespace tickpath::itch::soup

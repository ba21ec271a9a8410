// The set-up messages of the ofi provider: what is taken, and what is refused before it is looked
// at.
#include <gtest/gtest.h>

#include "common/rdma/ofi/setup.hpp"
#include "common/rdma/ofi/wire.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma::detail {
namespace {

std::vector<std::byte> sample() {
  OfiHeader header;
  header.type = OfiMessageType::kRegions;
  header.detail = 7;
  const RemoteRegion region{0x1000, 64, 0x50, kRemoteRead | kRemoteWrite};
  return encode(header, {&region, 1}, {});
}

std::string refusal(std::span<const std::byte> frame) {
  return test_support::error_of<SetupError>([&] { parse_frame<OfiHeader>(frame); });
}

TEST(OfiSetup, CarriesRegionsAndTheSession) {
  const OfiMessage message = parse_frame<OfiHeader>(sample());
  EXPECT_EQ(message.header.type, OfiMessageType::kRegions);
  EXPECT_EQ(message.header.detail, 7u);
  ASSERT_EQ(message.regions.size(), 1u);
  EXPECT_EQ(message.regions[0].length_bytes, 64u);
  EXPECT_EQ(message.regions[0].rkey, 0x50u);
}

TEST(OfiSetup, RefusesAnotherMagicVersionTypeOrLength) {
  for (const std::size_t at : {0u, 4u, 6u, 8u, 12u}) {
    std::vector<std::byte> frame = sample();
    frame[at] = std::byte{0xee};
    EXPECT_NE(refusal(frame), "no error") << at;
  }
  const std::vector<std::byte> frame = sample();
  for (std::size_t length = 0; length < frame.size(); ++length)
    EXPECT_NE(refusal(std::span(frame).first(length)), "no error") << length;
}

// What a header of a short SEND says, its word says too, also where counts wrap.
TEST(OfiWire, AWordStandsForAHeader) {
  for (const std::uint32_t answered : {0u, 0xfff0u, 0xffff'ffffu, 0xffff'ff80u}) {
    for (const std::uint32_t further : {0u, 1u, 128u}) {
      OfiWireHeader header;
      header.kind = OfiKind::kSend;
      header.flags = wire_flags::kLast | wire_flags::kTell;
      header.executed = answered + further;
      header.session = 0xdead'beef;
      const OfiWireHeader read = header_word::read(header_word::of(header), 64, answered);
      EXPECT_EQ(read.kind, header.kind);
      EXPECT_EQ(read.flags, header.flags);
      EXPECT_EQ(read.executed, header.executed) << answered << " " << further;
      EXPECT_EQ(read.session, header.session);
      EXPECT_EQ(read.length, 64u);
      EXPECT_EQ(read.total_length, 64u);
    }
  }
  EXPECT_EQ(header_word::of({.executed = 0x1234'5678}) & header_word::kWithoutSession,
            0x5678'0000u);
}

// Any message of any queue pair is found again by its context, and by no other.
TEST(OfiWire, AContextNamesOneMessage) {
  const std::uint64_t tag =
      (std::uint64_t{255} << message_context::kSlotOfTag) | message_context::kGenerationMask;
  const auto value = reinterpret_cast<std::uint64_t>(message_context::of(tag, 0xffff'ffff, true));
  EXPECT_EQ(value, ~std::uint64_t{0});
  EXPECT_EQ(value >> message_context::kTagShift, tag);
  EXPECT_EQ(value >> message_context::kSlotShift, 255u);
  EXPECT_NE(message_context::of(tag, 1, true), message_context::of(tag, 1, false));
  EXPECT_NE(message_context::of(1, 0, false), nullptr);
}

}  // namespace
}  // namespace tickpath::rdma::detail

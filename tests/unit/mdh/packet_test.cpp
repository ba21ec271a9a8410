// What mdh reads of a packet, whole or damaged.
#include "mdh/packet.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/packet_walk.hpp"

namespace tickpath::mdh {
namespace {

using Bytes = std::vector<std::byte>;
using feeds::Transport;

Bytes mold(std::uint64_t sequence, const std::vector<Bytes>& messages) {
  Bytes buffer(1'472);
  itch::mold::PacketBuilder builder(buffer);
  builder.begin(itch::mold::Session("S"), sequence);
  for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
  const auto made = builder.finish();
  return {made.begin(), made.end()};
}
Bytes segment(std::uint64_t sequence, const std::vector<Bytes>& messages) {
  Bytes buffer(1'472);
  iex::SegmentBuilder builder(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = 70});
  builder.begin(sequence);
  for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
  const auto made = builder.finish(99);
  return {made.begin(), made.end()};
}
bool alike(Transport transport, const Bytes& bytes) {
  return transport == Transport::kMoldUdp64
             ? test_support::walks_alike(itch::mold::PacketCursor(bytes), transport, bytes)
             : test_support::walks_alike(iex::SegmentCursor(bytes), transport, bytes);
}

TEST(Packet, parse_shows_either_transport_in_the_same_terms) {
  for (const Transport transport : {Transport::kMoldUdp64, Transport::kIexTp}) {
    const std::vector<Bytes> messages{Bytes(36, std::byte{1}), Bytes(300, std::byte{2}), Bytes()};
    const Bytes bytes =
        transport == Transport::kMoldUdp64 ? mold(5, messages) : segment(5, messages);
    const Packet packet = parse(transport, Line::kB, bytes, {7, {8}});
    EXPECT_EQ(packet.header.sequence_number, 5u);
    EXPECT_EQ(packet.header.messages(), 3u);
    EXPECT_EQ(packet.header.session,
              itch::mold::Session(transport == Transport::kMoldUdp64 ? "S" : "70"));
    EXPECT_EQ(packet.send_time_ns, transport == Transport::kMoldUdp64 ? 0u : 99u);
    EXPECT_EQ(packet.line, Line::kB);
    EXPECT_EQ(packet.bytes, bytes.size());
    std::vector<std::size_t> sizes;
    EXPECT_EQ(for_each_message(packet, [&](Message each) { sizes.push_back(each.size()); }),
              PacketStatus::kOk);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{36, 300, 0}));
  }
}

TEST(Packet, for_each_message_sees_what_the_cursor_of_the_transport_sees_of_any_damage) {
  std::mt19937 random(3);
  for (const Transport transport : {Transport::kMoldUdp64, Transport::kIexTp})
    for (int round = 0; round < 2'000; ++round) {
      std::vector<Bytes> messages(random() % 6);
      for (Bytes& message : messages) message.resize(random() % 50);
      Bytes bytes = transport == Transport::kMoldUdp64 ? mold(1, messages) : segment(1, messages);
      ASSERT_TRUE(alike(transport, bytes));
      // Another protocol's segment is whole to its cursor, and damage here: its bytes stay.
      const std::size_t at = 4 + random() % (bytes.size() - 4);
      bytes[at] = static_cast<std::byte>(random());
      ASSERT_TRUE(alike(transport, bytes)) << round << ", byte " << at;
      bytes.resize(random() % (bytes.size() + 3));
      ASSERT_TRUE(alike(transport, bytes)) << round << ", cut to " << bytes.size();
    }
}

TEST(Packet, plausible_refuses_numbers_that_no_sender_gives) {
  const itch::mold::Session session("S");
  EXPECT_TRUE(plausible({session, 1, 0}));
  EXPECT_TRUE(plausible({session, (std::uint64_t{1} << 56) - 2, 1}));
  EXPECT_FALSE(plausible({session, 0, 1}));
  EXPECT_FALSE(plausible({session, (std::uint64_t{1} << 56) - 1, 1}));
  EXPECT_FALSE(plausible({session, ~std::uint64_t{0}, 1}));
}

}  // namespace
}  // namespace tickpath::mdh

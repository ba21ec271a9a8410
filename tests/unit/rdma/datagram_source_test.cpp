// Where a datagram came from, as the room at the head of its receive says.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "common/rdma/datagram.hpp"

namespace tickpath::rdma {
namespace {

using Room = std::array<std::byte, kGrhBytes>;

// The 20 bytes of a UDP packet from 10.77.0.1 to 239.255.1.1, its checksum right, behind 20 that a
// device may leave as they are.
Room ipv4_room(std::byte before) {
  constexpr std::array<unsigned, 20> kHeader = {0x45, 0x00, 0x00, 0x54, 0x12, 0x34, 0x40,
                                                0x00, 0x40, 0x11, 0x2d, 0x17, 10,   77,
                                                0,    1,    239,  255,  1,    1};
  Room room;
  room.fill(before);
  std::transform(kHeader.begin(), kHeader.end(), room.begin() + 20,
                 [](unsigned each) { return static_cast<std::byte>(each); });
  return room;
}

std::array<std::byte, 16> mapped(unsigned a, unsigned b, unsigned c, unsigned d) {
  std::array<std::byte, 16> gid{};
  gid[10] = gid[11] = std::byte{0xff};
  gid[12] = static_cast<std::byte>(a);
  gid[13] = static_cast<std::byte>(b);
  gid[14] = static_cast<std::byte>(c);
  gid[15] = static_cast<std::byte>(d);
  return gid;
}

TEST(DatagramSource, IsTheSourceGidOfAGrh) {
  Room room{};
  room[0] = std::byte{0x60};
  for (unsigned i = 8; i < 40; ++i) room[i] = static_cast<std::byte>(i);
  const Completion completion{.source_qp_number = 17};
  const DatagramAddress source = source_of(completion, room, 99);
  EXPECT_EQ(source.qp_number, 17u);
  EXPECT_EQ(source.q_key, 99u);
  EXPECT_TRUE(std::equal(source.gid.begin(), source.gid.end(), room.begin() + 8));
}

TEST(DatagramSource, IsTheMappedAddressWhereTheRoomHoldsIpv4) {
  const DatagramAddress source = source_of({}, ipv4_room(std::byte{0}));
  EXPECT_EQ(source.gid, mapped(10, 77, 0, 1));
  EXPECT_EQ(source.q_key, kDefaultQKey);
}

TEST(DatagramSource, IsFoundThereWhateverTheDeviceLeftInFront) {
  // As if a GRH began there: the checksum decides.
  EXPECT_EQ(source_of({}, ipv4_room(std::byte{0x66})).gid, mapped(10, 77, 0, 1));
}

TEST(DatagramSource, IsNotTakenForIpv4WhereAGidLooksLikeIt) {
  Room room{};
  room[0] = std::byte{0x60};
  room[20] = std::byte{0x45};
  room[8] = std::byte{0xfe};
  EXPECT_EQ(source_of({}, room).gid[0], std::byte{0xfe});
}

}  // namespace
}  // namespace tickpath::rdma

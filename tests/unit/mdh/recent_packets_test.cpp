// What makes a message another one, and how far back it is known.
#include "mdh/recent_packets.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tickpath::mdh {
namespace {

using feeds::Transport;
using Bytes = std::vector<std::byte>;

Bytes message(std::size_t length, unsigned content) {
  Bytes bytes(length, static_cast<std::byte>(content));
  return bytes;
}
// As MoldUDP64 has them, or IEX-TP.
Bytes blocks(const std::vector<Bytes>& messages, Transport transport = Transport::kMoldUdp64) {
  Bytes all;
  for (const Bytes& each : messages) {
    const auto high = static_cast<std::byte>(each.size() >> 8);
    const auto low = static_cast<std::byte>(each.size() & 0xff);
    const bool big_endian = transport == Transport::kMoldUdp64;
    all.push_back(big_endian ? high : low);
    all.push_back(big_endian ? low : high);
    all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

TEST(RecentPacketsTest, EachMessageIsFoundByItsNumberOfEitherTransport) {
  for (const Transport transport : {Transport::kMoldUdp64, Transport::kIexTp}) {
    RecentPackets kept(transport);
    kept.keep(5,
              blocks({message(19, 5), message(300, 6), message(0, 0), message(36, 8)}, transport));
    kept.keep(9, blocks({message(36, 9)}, transport));
    kept.keep(20, blocks({message(40, 20)}, transport));  // behind a gap
    for (const auto& [number, length] :
         {std::pair{5, 19}, {6, 300}, {7, 0}, {8, 36}, {9, 36}, {20, 40}}) {
      const auto sequence = static_cast<std::uint64_t>(number);
      Bytes same = message(static_cast<std::size_t>(length), static_cast<unsigned>(sequence));
      EXPECT_TRUE(kept.matches(sequence, same)) << number;
      EXPECT_FALSE(kept.differs(sequence, same)) << number;
      same.push_back({});
      EXPECT_TRUE(kept.differs(sequence, same)) << number;
      EXPECT_FALSE(kept.matches(sequence, same)) << number;
    }
    for (const std::uint64_t unknown : {4u, 10u, 19u, 21u}) {
      EXPECT_FALSE(kept.differs(unknown, message(36, 1))) << unknown;
      EXPECT_FALSE(kept.matches(unknown, message(36, 1))) << unknown;
    }
  }
}

TEST(RecentPacketsTest, EveryBitOfAMessageCounts) {
  RecentPackets kept(Transport::kMoldUdp64);
  Bytes one = message(36, 77);
  kept.keep(1, blocks({message(36, 1), one}));
  for (std::size_t bit = 0; bit < one.size() * 8; ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    one[bit / 8] ^= mask;
    EXPECT_TRUE(kept.differs(2, one)) << bit;
    EXPECT_FALSE(kept.holds(1, blocks({message(36, 1), one}))) << bit;
    one[bit / 8] ^= mask;
  }
  EXPECT_TRUE(kept.holds(1, blocks({message(36, 1), one})));
  EXPECT_TRUE(kept.holds(1, blocks({message(36, 1)}))) << "the beginning of it";
  EXPECT_FALSE(kept.holds(2, blocks({one}))) << "message by message then";
}

TEST(RecentPacketsTest, WhatIsOverwrittenIsUnknownAndNothingElse) {
  RecentPackets kept(Transport::kMoldUdp64);
  const auto content = [](std::uint64_t n) {
    return message(20 + n % 1'400, static_cast<unsigned>(n % 251));
  };
  for (std::uint64_t n = 1; n <= 20'000; ++n) {
    kept.keep(n, blocks({content(n)}));
    std::uint64_t known = 0;
    for (std::uint64_t back = 0; back < 2'000 && back < n && n % 997 == 0; ++back) {
      ASSERT_FALSE(kept.differs(n - back, content(n - back))) << n << " back " << back;
      known += kept.matches(n - back, content(n - back));
    }
    if (n % 997 == 0 && n > 2'000) {
      ASSERT_GT(known, 100u);
      ASSERT_LT(known, 2'000u);
    }
  }
  for (std::uint64_t n = 20'001; n <= 30'000; ++n)
    kept.keep(n, blocks({message(1, static_cast<unsigned>(n % 251))}));
  for (std::uint64_t n = 1; n <= 30'000; ++n) {
    const bool recent = n > 30'000 - RecentPackets::kPackets;
    ASSERT_EQ(kept.matches(n, message(1, static_cast<unsigned>(n % 251))), recent) << n;
    ASSERT_FALSE(
        kept.differs(n, n > 20'000 ? message(1, static_cast<unsigned>(n % 251)) : content(n)))
        << n;
  }
}

TEST(RecentPacketsTest, AnotherNumberingKnowsNothingOfTheOneBefore) {
  RecentPackets kept(Transport::kMoldUdp64);
  for (std::uint64_t n = 1; n <= 100; ++n)
    kept.keep(n, blocks({message(36, static_cast<unsigned>(n))}));
  kept.clear();
  EXPECT_FALSE(kept.differs(1, message(36, 200)));
  EXPECT_FALSE(kept.matches(100, message(36, 100)));
  kept.keep(1, blocks({message(36, 200)}));
  EXPECT_TRUE(kept.matches(1, message(36, 200)));
  EXPECT_FALSE(kept.matches(50, message(36, 50)));
}

}  // namespace
}  // namespace tickpath::mdh

#include "common/base/spsc_ring.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace tickpath {
namespace {

TEST(SpscRing, RejectsPushWhenFullAndPopWhenEmpty) {
  SpscRing<int> ring(2);
  int value = 0;
  EXPECT_FALSE(ring.try_pop(value));
  EXPECT_TRUE(ring.try_push(1));
  EXPECT_TRUE(ring.try_push(2));
  EXPECT_FALSE(ring.try_push(3));
  EXPECT_TRUE(ring.try_pop(value));
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(ring.try_push(3));
}

TEST(SpscRing, KeepsOrderWhenTheIndexWraps) {
  SpscRing<int, std::uint8_t> ring(128);
  int next = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ring.try_push(i));
    if (i % 128 == 127) {
      int value = 0;
      while (ring.try_pop(value)) ASSERT_EQ(value, next++);
    }
  }
}

// One producer and one consumer race over a small ring so that both full and empty occur often;
// every value must arrive once and in order, each with its payload whole.
TEST(SpscRing, CarriesEveryValueInOrderBetweenTwoThreads) {
  struct Item {
    std::uint64_t number;
    std::uint64_t negated;
  };
  SpscRing<Item> ring(16);
  constexpr std::uint64_t kCount = 200'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      while (!ring.try_push({i, ~i})) std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 0; i < kCount; ++i) {
    Item item{};
    while (!ring.try_pop(item)) std::this_thread::yield();
    ASSERT_EQ(item.number, i);
    ASSERT_EQ(item.negated, ~i);
  }
  producer.join();
}

}  // namespace
}  // namespace tickpath

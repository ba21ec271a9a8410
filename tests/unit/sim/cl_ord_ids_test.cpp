// The peers' own ids and accounts.
#include "sim/orders/cl_ord_ids.hpp"

#include <string>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::sim {
namespace {

TEST(ClOrdIds, GiveEachTextOfASessionANumberThatIsNoneOfOurOegs) {
  ClOrdIds ids(1'000, true);
  EXPECT_EQ(ids.find(0, "ORDER-1"), 0u);
  const std::uint64_t one = ids.intern(0, "ORDER-1");
  ASSERT_NE(one, 0u);
  EXPECT_EQ(ids.intern(0, "ORDER-1"), one);
  EXPECT_EQ(ids.find(0, "ORDER-1"), one);
  EXPECT_EQ(ids.text(one).view(), "ORDER-1");
  for (const char* other : {"ORDER-2", "order-1", "ORDER-1 ", "7", "0007", "00007"}) {
    const std::uint64_t number = ids.intern(0, other);
    EXPECT_NE(number, one) << other;
    EXPECT_EQ(ids.text(number).view(), other);
    EXPECT_EQ(wire::OrderId::incarnation(number), 0);
  }
  EXPECT_EQ(ids.find(1, "ORDER-1"), 0u) << "another session's ids are its own";
  EXPECT_NE(ids.intern(1, "ORDER-1"), one);
}

TEST(ClOrdIds, KeepTextsOfEveryLengthUpToTheLongest) {
  ClOrdIds ids(64, false);
  std::string text;
  for (std::size_t length = 1; length <= fix::kClOrdIdMax; ++length) {
    text += static_cast<char>('A' + length % 26);
    const std::uint64_t number = ids.intern(3, text);
    EXPECT_EQ(ids.text(number).view(), text);
    EXPECT_EQ(ids.find(3, text), number);
  }
  for (std::size_t length = 1; length <= fix::kClOrdIdMax; ++length)
    EXPECT_EQ(ids.find(3, text.substr(0, length)), length);
}

TEST(ClOrdIds, AreRefusedWhenTheTableIsFullAndThoseInItAreStillFound) {
  ClOrdIds ids(500, false);
  for (int i = 0; i < 500; ++i) ASSERT_NE(ids.intern(0, "ID" + std::to_string(i)), 0u);
  EXPECT_EQ(ids.intern(0, "one more"), 0u);
  EXPECT_EQ(ids.find(0, "one more"), 0u);
  for (int i = 0; i < 500; ++i) {
    const std::string text = "ID" + std::to_string(i);
    EXPECT_EQ(ids.text(ids.find(0, text)).view(), text);
  }
  EXPECT_TRUE(ids.text(0).empty());
  EXPECT_TRUE(ids.text(501).empty());
  EXPECT_THROW(ClOrdIds(0, false), Error);
}

TEST(AccountNames, AreNumberedAndOnlyThoseThatCameAsAccountAreEchoed) {
  Accounts accounts;
  EXPECT_EQ(accounts.text(0), "");
  EXPECT_EQ(accounts.intern("ALPHA", true), 1);
  EXPECT_EQ(accounts.intern("BETA", false), 2);
  EXPECT_EQ(accounts.intern("ALPHA", true), 1);
  EXPECT_EQ(accounts.text(2), "BETA");
  EXPECT_EQ(accounts.echo(1), "ALPHA");
  EXPECT_EQ(accounts.echo(2), "");
  for (int i = 3; i <= 255; ++i) EXPECT_EQ(accounts.intern(std::to_string(i), true), i);
  EXPECT_EQ(accounts.intern("one more", true), 0);
  EXPECT_EQ(accounts.intern("255", true), 255);
}

}  // namespace
}  // namespace tickpath::sim

#include "mdh/instruments.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tickpath::mdh {
namespace {

TEST(Instruments, GiveDenseIdsInOrderOfFirstAppearance) {
  Instruments instruments(8);
  EXPECT_EQ(instruments.list(500, "AAPL"), 0u);
  EXPECT_EQ(instruments.list(7, "MSFT"), 1u);
  EXPECT_EQ(instruments.list(500, "AAPL"), 0u);
  EXPECT_EQ(instruments.id_of(7), 1u);
  EXPECT_EQ(instruments.id_of(8), wire::kNoInstrument);
  EXPECT_EQ(instruments.entry(1).name(), "MSFT");
  EXPECT_EQ(instruments.entry(1).feed_locate, 7u);
}

TEST(Instruments, KeepTheIdOfASymbolOverSessions) {
  Instruments instruments(8);
  (void)instruments.list(1, "AAPL");
  (void)instruments.list(2, "MSFT");
  instruments[0].trading = wire::TradingState::kTrading;
  instruments.end_session();
  EXPECT_EQ(instruments.id_of(1), wire::kNoInstrument);
  EXPECT_EQ(instruments[0].trading_state(), wire::TradingState::kUnknown);
  EXPECT_EQ(instruments.list(1, "MSFT"), 1u) << "the locate is another symbol's today";
  EXPECT_EQ(instruments.list(9, "AAPL"), 0u);
}

TEST(Instruments, RefuseWhatHasNoRoom) {
  Instruments instruments(2);
  (void)instruments.list(1, "A");
  (void)instruments.list(2, "B");
  EXPECT_EQ(instruments.list(3, "C"), wire::kNoInstrument);
  EXPECT_EQ(instruments.id_of(3), wire::kNoInstrument);
  EXPECT_EQ(instruments.list(2, "B"), 1u);
}

TEST(Instruments, HoldAsManySymbolsAsAFeedHasLocates) {
  Instruments instruments(book::kLocatesMax);
  for (std::uint32_t i = 0; i < book::kLocatesMax; ++i)
    ASSERT_EQ(instruments.list(static_cast<book::Locate>(i), itch::Stock("S" + std::to_string(i))),
              i);
  for (std::uint32_t i = 0; i < book::kLocatesMax; i += 97) {
    ASSERT_EQ(instruments.id_of(static_cast<book::Locate>(i)), i);
    ASSERT_EQ(instruments.entry(i).name(), "S" + std::to_string(i));
  }
}

}  // namespace
}  // namespace tickpath::mdh

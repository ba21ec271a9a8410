#include "common/trading/vocabulary.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tickpath::trading {
namespace {

// How many values have a name, and each a name of its own.
template <class Word>
std::size_t named() {
  std::set<std::string_view> names;
  std::size_t known = 0;
  for (int value = 0; value < 256; ++value) {
    const auto word = static_cast<Word>(value);
    EXPECT_EQ(is_known(word), name(word) != "?") << value;
    if (!is_known(word)) continue;
    ++known;
    names.insert(name(word));
  }
  EXPECT_EQ(names.size(), known);
  return known;
}

TEST(Vocabulary, EachWordHasANameOfItsOwn) {
  EXPECT_EQ(named<OrderType>(), 5u);
  EXPECT_EQ(named<TimeInForce>(), 6u);
  EXPECT_EQ(named<OrderState>(), 7u);
  EXPECT_EQ(named<RejectReason>(), 26u);
}

TEST(Vocabulary, NamesAreThoseOfLogsAndTables) {
  EXPECT_EQ(name(OrderType::kPegged), "pegged");
  EXPECT_EQ(name(TimeInForce::kGoodTillCancel), "gtc");
  EXPECT_EQ(name(OrderState::kPartlyFilled), "partly_filled");
  EXPECT_EQ(name(RejectReason::kVenueGap), "venue_gap");
  EXPECT_EQ(name(OrderType{}), "?");
}

TEST(Vocabulary, TypesAndTimesInForceAreFixCharactersLessZero) {
  EXPECT_EQ(static_cast<char>('0' + static_cast<int>(OrderType::kPegged)), 'P');
  EXPECT_EQ(static_cast<char>('0' + static_cast<int>(TimeInForce::kAtTheClose)), '7');
}

TEST(RejectReasons, EachFitsAnArrayByReason) {
  for (std::size_t value = kRejectReasonValues; value < 256; ++value)
    EXPECT_FALSE(is_known(static_cast<RejectReason>(value))) << value;
  EXPECT_TRUE(is_known(static_cast<RejectReason>(kRejectReasonValues - 1)));
}

}  // namespace
}  // namespace tickpath::trading

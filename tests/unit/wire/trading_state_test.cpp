#include <string_view>

#include <gtest/gtest.h>

#include "common/wire/book_update.hpp"

namespace tickpath::wire {
namespace {

TEST(TradingState, IsUnknownForEveryCodeButTheFourOfTheFeed) {
  for (int code = 0; code < 256; ++code) {
    const auto known = std::string_view("HPQT").find(static_cast<char>(code));
    const TradingState expected = known == std::string_view::npos
                                      ? TradingState::kUnknown
                                      : static_cast<TradingState>(known + 1);
    EXPECT_EQ(trading_state(static_cast<char>(code)), expected) << code;
  }
}

}  // namespace
}  // namespace tickpath::wire

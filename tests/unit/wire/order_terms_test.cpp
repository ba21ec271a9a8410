#include "common/wire/order_terms.hpp"

#include <gtest/gtest.h>

namespace tickpath::wire {
namespace {

// Plain orders are answered before the whole of it is asked: the answer must be the same.
TEST(OrderTerms, OfPlainOrdersAreJudgedAsAllOthersAre) {
  int agreeing = 0;
  OrderRequest r{};
  const auto judge = [&] {
    const bool whole = detail::all_terms_agree(r);
    agreeing += whole;
    EXPECT_EQ(terms_agree(r), whole)
        << "type " << int(r.type) << " time " << int(r.time_in_force) << " instructions "
        << int(r.instructions) << " side " << int(r.side) << " price " << r.price.value
        << " shares " << r.shares << " stop " << r.stop_price << " display " << r.display_shares
        << " minimum " << r.minimum_shares;
  };
  for (const int type : {0, 1, 2, 3, 4, 5, 32, 33})
    for (int time = 0; time < 9; ++time)
      for (int instructions = 0; instructions < 9; ++instructions)
        for (int side = 0; side < 4; ++side)
          for (const std::int64_t price : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                                           std::int64_t{0xffff'ffff}, std::int64_t{0x1'0000'0000}})
            for (const std::uint32_t shares : {0u, 100u})
              for (int given = 0; given < 8; ++given) {
                r.type = static_cast<trading::OrderType>(type);
                r.time_in_force = static_cast<trading::TimeInForce>(time);
                r.instructions = static_cast<std::uint8_t>(instructions);
                r.side = static_cast<Side>(side);
                r.price = {price};
                r.shares = shares;
                r.stop_price = (given & 1) != 0 ? 10'000 : 0;
                r.display_shares = (given & 2) != 0 ? 10 : 0;
                r.minimum_shares = (given & 4) != 0 ? 10 : 0;
                judge();
              }
  EXPECT_GT(agreeing, 50);
}

}  // namespace
}  // namespace tickpath::wire

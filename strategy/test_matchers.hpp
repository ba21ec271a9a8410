// GoogleTest matchers of what a strategy sent to its test bench (test_bench.hpp), and words for its
// messages:
//
//   EXPECT_THAT(bench.take_requests(),
//               ElementsAre(IsBuy("ZAAA", 100, to_price(10.02)), IsCancelOf(quote)));
//
// Each takes values or matchers: IsBuy("ZAAA", Le(500u), _). Header only; needs gmock.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <gmock/gmock.h>

#include "strategy/test_bench.hpp"

namespace tickpath {

inline std::ostream& operator<<(std::ostream& out, const TestRequest& request) {
  return out << to_text(request);
}
inline std::ostream& operator<<(std::ostream& out, const TestOrder& order) {
  return out << (order.side == TICKPATH_BUY ? "buy " : "sell ") << order.shares << " "
             << order.symbol << " at " << price_text(order.price) << ", " << order.filled
             << " filled, " << order.leaves << " open";
}
inline std::ostream& operator<<(std::ostream& out, const TestLogLine& line) {
  return out << (line.level == TICKPATH_INFO      ? "info: "
                 : line.level == TICKPATH_WARNING ? "warning: "
                                                  : "error: ")
             << line.text;
}

namespace test_bench_detail {

template <class Symbol, class Shares, class Price>
auto is_new(tickpath_side side, const Symbol& symbol, const Shares& shares, const Price& price) {
  using ::testing::Field;
  return ::testing::AllOf(
      Field("kind", &TestRequest::kind, TestRequest::Kind::kNew),
      Field("side", &TestRequest::side, side), Field("symbol", &TestRequest::symbol, symbol),
      Field("shares", &TestRequest::shares, shares), Field("price", &TestRequest::price, price));
}

}  // namespace test_bench_detail

// A new order. price 0: a market order.
template <class Symbol, class Shares, class Price>
auto IsBuy(const Symbol& symbol, const Shares& shares, const Price& price) {
  return test_bench_detail::is_new(TICKPATH_BUY, symbol, shares, price);
}
template <class Symbol, class Shares, class Price>
auto IsSell(const Symbol& symbol, const Shares& shares, const Price& price) {
  return test_bench_detail::is_new(TICKPATH_SELL, symbol, shares, price);
}
// A new order on any side, and of any terms: AllOf(IsBuy("ZAAA", 100, _), IsImmediate()).
inline auto IsNew() {
  return ::testing::Field("kind", &TestRequest::kind, TestRequest::Kind::kNew);
}
inline auto IsImmediate() {
  return ::testing::Field("time_in_force", &TestRequest::time_in_force,
                          ::testing::AnyOf(TICKPATH_IOC, TICKPATH_FOK));
}
inline auto IsPostOnly() {
  return ::testing::Field("instructions", &TestRequest::instructions, TICKPATH_POST_ONLY);
}
template <class Type>
auto IsOfType(const Type& type) {
  return ::testing::Field("type", &TestRequest::type, type);
}

inline auto IsCancelOf(TestOrderRef order) {
  return ::testing::AllOf(::testing::Field("kind", &TestRequest::kind, TestRequest::Kind::kCancel),
                          ::testing::Field("target_id", &TestRequest::target_id, order.id));
}
// shares: the new total.
template <class Shares, class Price>
auto IsReplaceOf(TestOrderRef order, const Shares& shares, const Price& price) {
  return ::testing::AllOf(::testing::Field("kind", &TestRequest::kind, TestRequest::Kind::kReplace),
                          ::testing::Field("target_id", &TestRequest::target_id, order.id),
                          ::testing::Field("shares", &TestRequest::shares, shares),
                          ::testing::Field("price", &TestRequest::price, price));
}

// A line of the log: LogSays(HasSubstr("too wide")).
template <class Text>
auto LogSays(const Text& text) {
  return ::testing::Field("text", &TestLogLine::text, text);
}

}  // namespace tickpath

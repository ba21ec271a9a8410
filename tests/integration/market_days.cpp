#include "tests/integration/market_days.hpp"

#include <algorithm>
#include <array>

namespace tickpath::test_support {
namespace made_market {
namespace {

using What = DayEvent::What;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kHourNs = 3'600 * kSecondNs;
constexpr std::uint64_t kDayNs = 24 * kHourNs;
constexpr std::uint64_t kStepNs = 10'000'000;
constexpr std::uint32_t kCent = 100;

// The market of one day after the other, and its truth.
class Market {
 public:
  // goes_on: orders of the day before rest, and their numbers go on.
  void play(MarketDay& day, bool goes_on, std::uint32_t base, std::uint32_t bid_above) {
    if (!goes_on) {
      orders_.clear();
      last_order_ = 0;
    }
    day_ = &day;
    std::map<std::string, Numbers> numbers;
    for (const std::string& symbol : day.symbols)
      for (std::uint64_t& number : numbers[symbol]) number = ++last_order_;
    for (int step = 0; step < kSteps; ++step) {
      now_ns_ += kStepNs;
      for (const std::string& symbol : day.symbols)
        act(step, symbol, numbers[symbol], base_of(symbol, base), bid_above);
    }
    day.quiet_ns = now_ns_;
    for (auto& [symbol, truth] : day.at_quiet) note_quotes(symbol, truth);
    now_ns_ += 60 * kSecondNs;
    for (const std::string& symbol : day.symbols)
      happen(What::kCancel, symbol, numbers[symbol][0], {}, 0, 5);
    now_ns_ = 0;
  }
  // The day's last word on a symbol that does not come back.
  void end(MarketDay& day, const std::string& symbol) {
    day_ = &day;
    now_ns_ = day.events.back().after_open_ns;
    const std::map<std::uint64_t, Order> orders = orders_;
    for (const auto& [number, order] : orders)
      if (order.symbol == symbol) happen(What::kDelete, symbol, number, {}, 0, order.shares);
    now_ns_ = 0;
  }

 private:
  static constexpr int kSteps = 8;
  using Numbers = std::array<std::uint64_t, 3>;
  struct Order {
    std::string symbol;
    Side side;
    std::uint32_t price;
    std::uint32_t shares;
  };

  static std::uint32_t base_of(const std::string& symbol, std::uint32_t base) {
    return base + 100'0000 * static_cast<std::uint32_t>(symbol.front() - 'A' + 1);
  }
  void act(int step, const std::string& symbol, const Numbers& number, std::uint32_t base,
           std::uint32_t bid_above) {
    switch (step) {
      case 0:
        return happen(What::kAdd, symbol, number[0], Side::kBuy, base - kCent + bid_above, 100);
      case 1:
        return happen(What::kAdd, symbol, number[1], Side::kSell, base + kCent, 100);
      case 2:
        return happen(What::kAdd, symbol, number[2], Side::kSell, base + 2 * kCent, 200);
      case 3:
        return happen(What::kExecute, symbol, number[1], {}, 0, 30);
      case 4:
        return happen(What::kExecute, symbol, number[0], {}, 0, 20);
      case 5:
        return happen(What::kHidden, symbol, 0, Side::kBuy, base, 10);
      case 6:
        return happen(What::kCancel, symbol, number[2], {}, 0, 40);
      default:
        return happen(What::kDelete, symbol, number[1], {}, 0, 70);
    }
  }
  void happen(What what, const std::string& symbol, std::uint64_t number, Side side,
              std::uint32_t price, std::uint32_t shares) {
    if (what == What::kAdd)
      orders_[number] = {symbol, side, price, shares};
    else if (what != What::kHidden)
      take(number, shares, side, price);
    day_->events.push_back({now_ns_, what, symbol, number, side, price, shares});
    SymbolDay& truth = day_->at_quiet[symbol];
    if (what == What::kExecute || what == What::kHidden) note_trade(truth, price, shares);
    SymbolDay now;
    note_quotes(symbol, now);
    if (truth.first_ask != 0) return;
    truth.first_ask = now.ask;
    truth.first_ask_after_open_ns = now_ns_;
  }
  void take(std::uint64_t number, std::uint32_t shares, Side& side, std::uint32_t& price) {
    Order& order = orders_.at(number);
    side = order.side;
    price = order.price;
    if ((order.shares -= shares) == 0) orders_.erase(number);
  }
  void note_trade(SymbolDay& truth, std::uint32_t price, std::uint32_t shares) const {
    if (truth.trades++ == 0) truth.open = truth.high = truth.low = price;
    truth.high = std::max(truth.high, price);
    truth.low = std::min(truth.low, price);
    truth.close = price;
    truth.volume += shares;
    truth.last_trade_after_open_ns = now_ns_;
  }
  void note_quotes(const std::string& symbol, SymbolDay& truth) const {
    for (const auto& [number, order] : orders_) {
      if (order.symbol != symbol) continue;
      const bool buy = order.side == Side::kBuy;
      std::uint32_t& best = buy ? truth.bid : truth.ask;
      std::uint32_t& shares = buy ? truth.bid_shares : truth.ask_shares;
      const bool better = best == 0 || (buy ? order.price > best : order.price < best);
      if (better) shares = 0;
      if (better) best = order.price;
      if (best == order.price) shares += order.shares;
    }
  }

  std::map<std::uint64_t, Order> orders_;
  std::uint64_t last_order_ = 0;
  std::uint64_t now_ns_ = 0;  // after the open
  MarketDay* day_ = nullptr;
};

}  // namespace
}  // namespace made_market

std::vector<MarketDay> market_of_days(const std::vector<std::vector<std::string>>& symbols) {
  using namespace made_market;
  constexpr std::uint64_t kOpenNs = 9 * kHourNs + kHourNs / 2;
  std::vector<MarketDay> days{
      {"2024-03-08", 19'790 * kDayNs, kOpenNs, kOpenNs + 5 * kHourNs, {}, {}, 0, {}},
      {"2024-03-11", 19'793 * kDayNs, kOpenNs, kOpenNs + 4 * kHourNs, {}, {}, 0, {}},
      {"2024-03-12", 19'794 * kDayNs, kOpenNs, kOpenNs + 4 * kHourNs, {}, {}, 0, {}}};
  Market market;
  for (std::size_t i = 0; i < days.size(); ++i) {
    days[i].symbols = symbols.at(i);
    market.play(days[i], false, static_cast<std::uint32_t>(i + 1) * 100 * kCent, 0);
  }
  return days;
}

std::vector<MarketDay> market_of_a_night() {
  using namespace made_market;
  constexpr std::uint64_t kOpenNs = kDayNs - 90 * kSecondNs, kAgainNs = 5 * kSecondNs;
  std::vector<MarketDay> days{
      {"2024-03-10", 19'792 * kDayNs, kOpenNs, kOpenNs, {"AAAA", "BBBB"}, {}, 0, {}},
      {"2024-03-11", 19'793 * kDayNs, kAgainNs, kAgainNs, {"AAAA", "CCCC"}, {}, 0, {}}};
  Market market;
  market.play(days[0], false, 0, 0);
  market.end(days[0], "BBBB");
  market.play(days[1], true, 0, kCent);
  return days;
}

}  // namespace tickpath::test_support

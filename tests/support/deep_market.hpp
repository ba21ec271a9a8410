// A market of IEX DEEP 1.0 made up by tests: random price levels, some events of several updates,
// with the best bid and offer after each that the books must show, kept in maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/random.hpp"
#include "common/feeds/iex/codec.hpp"

namespace tickpath::test_support {

struct DeepQuote {
  std::uint64_t bid = 0, bid_shares = 0, ask = 0, ask_shares = 0;
  bool operator==(const DeepQuote&) const = default;
};

class DeepMarket {
 public:
  static constexpr std::int64_t kStartNs = 1'784'000'000'000'000'000;

  DeepMarket(std::size_t symbols, std::uint64_t seed) : random_(seed), books_(symbols) {
    for (std::size_t i = 0; i < symbols; ++i) {
      add(iex::SecurityDirectory{.timestamp = tick(), .symbol = symbol(i), .round_lot_size = 100});
      add(iex::TradingStatus{.status = 'T', .timestamp = tick(), .symbol = symbol(i)});
    }
  }
  static std::string name(std::size_t i) { return "DEEP" + std::to_string(i); }
  static iex::Symbol symbol(std::size_t i) { return iex::Symbol(name(i)); }

  // One event of a symbol: mostly one level, sometimes three.
  void event() {
    const std::size_t of = random_.below(books_.size());
    const int updates = random_.chance(0.1) ? 3 : 1;
    const std::int64_t time = tick();
    for (int i = 1; i <= updates; ++i) update(of, time, i == updates);
    quotes[name(of)].push_back(quote(of));
    if (random_.chance(0.05))
      add(iex::TradeReport{.timestamp = time, .symbol = symbol(of), .size = 100, .price = 100'000});
  }
  void end() { add(iex::SystemEvent{.event = 'C', .timestamp = tick()}); }
  DeepQuote quote(std::size_t of) const {
    DeepQuote best;
    const auto& [bids, asks] = books_[of];
    if (!bids.empty()) std::tie(best.bid, best.bid_shares) = *bids.rbegin();
    if (!asks.empty()) std::tie(best.ask, best.ask_shares) = *asks.begin();
    return best;
  }

  std::vector<std::vector<std::byte>> messages;
  std::map<std::string, std::vector<DeepQuote>> quotes;  // after each event that is complete

 private:
  using Levels = std::map<std::uint64_t, std::uint64_t>;

  std::int64_t tick() { return now_ns_ += 1 + static_cast<std::int64_t>(random_.below(20'000)); }
  template <class Message>
  void add(const Message& message) {
    std::vector<std::byte> bytes(iex::kMaxMessageBytes);
    bytes.resize(iex::encode(message, bytes.data()));
    messages.push_back(std::move(bytes));
  }
  void update(std::size_t of, std::int64_t time, bool last) {
    const bool buy = random_.chance(0.5);
    Levels& levels = buy ? books_[of].first : books_[of].second;
    std::uint64_t price = (buy ? 99'000 : 100'000) + 100 * random_.below(10);
    std::uint32_t size = 0;
    if (!levels.empty() && random_.chance(0.4))
      price = levels.begin()->first;
    else
      size = static_cast<std::uint32_t>(1 + random_.below(1'000));
    if (size == 0)
      levels.erase(price);
    else
      levels[price] = size;
    const auto flags = static_cast<std::uint8_t>(last ? iex::BuyLevelUpdate::kEventComplete : 0);
    const auto at = static_cast<iex::Price>(price);
    if (buy)
      add(iex::BuyLevelUpdate{
          .flags = flags, .timestamp = time, .symbol = symbol(of), .size = size, .price = at});
    else
      add(iex::SellLevelUpdate{
          .flags = flags, .timestamp = time, .symbol = symbol(of), .size = size, .price = at});
  }

  Random random_;
  std::int64_t now_ns_ = kStartNs;
  std::vector<std::pair<Levels, Levels>> books_;
};

}  // namespace tickpath::test_support

// The part of Feed that speaks IEX DEEP 1.0 (common/feeds/iex). For feed.cpp and feed_deep.cpp
// alone.
#pragma once

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/deep_books.hpp"
#include "mdh/feed.hpp"

namespace tickpath::mdh {

// A handler for iex::decode(). Datapath thread.
class Feed::DeepHandler {
 public:
  explicit DeepHandler(Feed& feed) : feed_(feed), books_(feed.books_) {}

  // False: it is damaged.
  bool decode(Message message) noexcept;
  Event& event() noexcept { return event_; }  // what the last message did
  void begin_session() noexcept { books_.begin_session(); }
  // Counts levels and trades; any thread.
  std::uint64_t unusable_prices() const noexcept {
    return books_.counters().unusable_prices.get() + unusable_trades_.get();
  }

  template <char Type>
  void operator()(const iex::PriceLevelUpdate<Type>& m) noexcept;
  void operator()(const iex::TradeReport& m) noexcept;
  void operator()(const iex::SecurityDirectory& m) noexcept;
  void operator()(const iex::TradingStatus& m) noexcept;
  void operator()(const iex::OperationalHaltStatus& m) noexcept;
  void operator()(const iex::SystemEvent& m) noexcept;
  // Everything else leaves its instrument and time.
  void operator()(const auto& m) noexcept { (void)begin(m.symbol, m.timestamp); }

 private:
  // The instrument, listed if it is new; kNoInstrument: no room.
  std::uint32_t begin(const iex::Symbol& symbol, iex::Timestamp time) noexcept;
  void leave_out(std::uint32_t id) noexcept;

  Feed& feed_;
  iex::DeepBooks books_;
  Counter unusable_trades_;
  Event event_;
};

}  // namespace tickpath::mdh

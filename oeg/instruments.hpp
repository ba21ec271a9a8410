// What oeg knows of each instrument: its symbol from mdh's directory and its best prices from mdh's
// updates. 32 bytes each: one cache miss an order at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/fix/messages.hpp"
#include "common/market/symbols.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::oeg {

struct alignas(32) Instrument {
  fix::Symbol symbol;      // empty: not in the directory yet
  std::uint32_t best_bid;  // Price(4); 0: none
  std::uint32_t best_ask;
  std::uint32_t last_trade;  // 0: none heard of
  wire::FeedState feed;
  bool doubtful;  // stale on its own account, whatever the rest of the feed is
  // Not tradable: the directory gave this id another symbol than before, or its symbol had another
  // id, under which there may be orders and positions.
  bool conflicting;
  bool listed;  // the directory has named it since the start; a journal's word is older

  bool known() const noexcept { return listed && !conflicting; }
  bool good() const noexcept { return feed == wire::FeedState::kGood; }
  // What a position in it is valued at; 0: unknown. A trade is harder to forge than a quote.
  std::uint32_t mark() const noexcept {
    if (last_trade != 0) return last_trade;
    return best_bid != 0 ? best_bid : best_ask;
  }
};
static_assert(sizeof(Instrument) == 32);

// Datapath thread (the control thread before it starts).
class Instruments {
 public:
  explicit Instruments(std::uint32_t instruments_max)
      : instruments_(instruments_max), symbols_(instruments_max) {}

  std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(instruments_.size());
  }
  // nullptr: beyond capacity.
  const Instrument* find(std::uint32_t id) const noexcept {
    return id < instruments_.size() ? &instruments_[id] : nullptr;
  }
  const Instrument& operator[](std::uint32_t id) const noexcept { return instruments_[id]; }

  // What the id was in the last run: enough to cancel what is open in it, not to trade it before
  // the directory says that it still is.
  void recover_symbol(std::uint32_t id, std::string_view symbol) noexcept {
    if (id >= instruments_.size() || instruments_[id].symbol.length != 0) return;
    instruments_[id].symbol = fix::Symbol::from(symbol);
    if (id_of(symbol) == wire::kNoInstrument) symbols_.add(id, symbol);
  }
  // The first id that the symbol had; kNoInstrument: none.
  std::uint32_t id_of(std::string_view symbol) const noexcept { return symbols_.find(symbol); }
  // What the directory says. False: the id had another symbol, the symbol another id, or the id is
  // beyond capacity.
  bool set_symbol(std::uint32_t id, std::string_view symbol) noexcept {
    if (id >= instruments_.size() || symbol.empty()) return false;
    Instrument& instrument = instruments_[id];
    instrument.listed = true;
    const fix::Symbol name = fix::Symbol::from(symbol);
    if (instrument.symbol.length == 0) {
      instrument.symbol = name;
      const std::uint32_t before = id_of(symbol);
      if (before == wire::kNoInstrument) symbols_.add(id, symbol);
      instrument.conflicting = before != wire::kNoInstrument;
      return !instrument.conflicting;
    }
    const std::uint32_t first = id_of(symbol);
    instrument.conflicting = !(instrument.symbol == name) || first != id;
    return !instrument.conflicting;
  }

  void update(const wire::BookUpdate& update) noexcept {
    if (wire::is_of_feed(update.kind)) [[likely]]
      exchange_time_ns_ = update.exchange_time_ns;
    if (update.instrument_id < instruments_.size()) [[likely]] {
      if (update.kind == wire::UpdateKind::kFeedState ||
          update.kind == wire::UpdateKind::kBookCleared) [[unlikely]]
        instruments_[update.instrument_id].doubtful =
            update.kind == wire::UpdateKind::kFeedState &&
            update.feed_state() == wire::FeedState::kStale;
      set_quote(instruments_[update.instrument_id], update.best_bid, update.best_ask,
                update.feed_state());
      if (update.is_trade() && update.price != 0)
        instruments_[update.instrument_id].last_trade = update.price;
    } else if (update.instrument_id == wire::kNoInstrument &&
               update.kind == wire::UpdateKind::kFeedState) {
      set_all(update.feed_state());
    }
  }
  void update(const wire::BookImage& image) noexcept {
    if (image.instrument_id >= instruments_.size()) return;
    Instrument& instrument = instruments_[image.instrument_id];
    set_quote(instrument, image.bids[0].price, image.asks[0].price, image.feed_state());
    if (image.last_trade_price != 0) instrument.last_trade = image.last_trade_price;
  }
  // The time of day of the newest message of the feed; 0: there was none.
  std::uint64_t exchange_time_ns() const noexcept { return exchange_time_ns_; }
  // mdh is gone, or its feed changed as a whole.
  void set_all(wire::FeedState feed) noexcept {
    for (Instrument& instrument : instruments_)
      if (feed != wire::FeedState::kGood || !instrument.doubtful) instrument.feed = feed;
  }

 private:
  static void set_quote(Instrument& instrument, std::uint32_t bid, std::uint32_t ask,
                        wire::FeedState feed) noexcept {
    instrument.best_bid = bid;
    instrument.best_ask = ask;
    instrument.feed = feed;
  }
  std::vector<Instrument> instruments_;
  market::Symbols symbols_;
  std::uint64_t exchange_time_ns_ = 0;
};

}  // namespace tickpath::oeg

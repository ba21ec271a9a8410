// Between the feed and the price store: what may change prices waits here until the burst that it
// came in has been published, so that the way from tick to order does not pay for the store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/memory.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/stores/prices/price_store.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::mdh {

// The datapath thread; noexcept, nothing is allocated after construction.
class PriceFeed {
 public:
  // The store outlives it.
  explicit PriceFeed(prices::PriceStore& store) : store_(store) {
    reserve_touched(waiting_, kWaitingMax);
  }

  // After it was published.
  void on_update(const wire::BookUpdate& update) noexcept {
    if (is_of_message(update)) note_time(update.exchange_time_ns);
    // What no message stands for may have a time of before midnight.
    const std::uint64_t time_ns = std::min(update.exchange_time_ns, latest_ns_);
    if (!may_change_prices(update)) {
      clock_ns_ = std::max(clock_ns_, time_ns);
      return;
    }
    if (waiting_.size() == kWaitingMax) [[unlikely]]
      store_waiting();
    waiting_.push_back(update);
    waiting_.back().exchange_time_ns = time_ns;
  }
  // A row of the directory. Symbols of former days that the feed has not named have none here.
  void on_row(const wire::DirectoryEntry& row) noexcept {
    if (row.listed_in != 0) store_.list(wire::symbol_word(row.name()), row.instrument_id);
  }
  void begin_session() noexcept {
    flush();
    store_.begin_session();
    clock_ns_ = 0;
  }
  void begin_day() noexcept {
    flush();
    store_.begin_day();
    clock_ns_ = 0;
    times_ = {};
    latest_ns_ = kUnknown;
  }
  void set_state(wire::FeedState state) noexcept { store_.set_state(state); }
  // The burst is done.
  void flush() noexcept {
    store_waiting();
    store_.show_clock(clock_ns_);
  }

 private:
  // 56 KiB: in the second-level cache still, when its turn comes.
  static constexpr std::size_t kWaitingMax = 1'024;
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  // What no message stands for has its instrument's last time, or none.
  static bool is_of_message(const wire::BookUpdate& update) noexcept {
    switch (update.kind) {
      case wire::UpdateKind::kBookCleared:
      case wire::UpdateKind::kFeedState:
      case wire::UpdateKind::kDirectory:
      case wire::UpdateKind::kNumbering:
        return false;
      default:
        return update.exchange_time_ns != 0;
    }
  }
  // A time may show that a midnight has passed, though no message says so.
  void note_time(std::uint64_t time_ns) noexcept {
    if (times_.on_time(time_ns) != itch::DayBreak::kNone) [[unlikely]] {
      begin_day();
      (void)times_.on_time(time_ns);
    }
    latest_ns_ = time_ns;
  }

  static bool may_change_prices(const wire::BookUpdate& update) noexcept {
    switch (update.kind) {
      case wire::UpdateKind::kInformation:  // most messages that are about no order
      case wire::UpdateKind::kDirectory:
      case wire::UpdateKind::kImbalance:  // no BookUpdate at all
      case wire::UpdateKind::kNumbering:
        return false;
      default:
        return update.instrument_id != wire::kNoInstrument;
    }
  }
  void store_waiting() noexcept {
    for (const wire::BookUpdate& update : waiting_) store_.on_update(update);
    waiting_.clear();
  }

  prices::PriceStore& store_;
  std::vector<wire::BookUpdate> waiting_;
  std::uint64_t clock_ns_ = 0;          // of messages that the store was not shown
  itch::TradingDay times_;              // of the day at hand
  std::uint64_t latest_ns_ = kUnknown;  // of its last message
};

}  // namespace tickpath::mdh

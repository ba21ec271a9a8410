// The price store as its owner has it: recent trades, quotes and bars of every instrument, in
// registered memory that others READ (PriceClient). DESIGN.md has the reasons.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/prices/history_ring.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/prices.hpp"

namespace tickpath::prices {

struct StoreOptions {
  bool enabled = false;
  std::uint32_t instruments = 8'192;  // that there is room for; further ones are counted, not kept
  // Entries an instrument, on average: busy ones have more, out of what quiet ones leave.
  std::uint32_t trades = 256;
  std::uint32_t quotes = 1'024;
  std::uint32_t bars_1s = 256;
  std::uint32_t bars_1m = 128;
  std::int64_t keep_ns = 3'600'000'000'000;  // a ring grows until it reaches back so far

  std::uint64_t entries(wire::HistoryKind kind) const noexcept {
    return std::array<std::uint64_t, wire::kHistoryKinds>{trades, quotes, bars_1s,
                                                          bars_1m}[static_cast<std::size_t>(kind)];
  }
};
// The fewest entries of a kind that an instrument may have: its first ring is a quarter of
// them.
inline constexpr std::uint32_t kEntriesMin = 16;

// Bytes of registered memory that a store takes. options: as StoreOptions says, each kind at least
// kEntriesMin.
std::uint64_t store_bytes(const StoreOptions& options) noexcept;

// One writer, the datapath thread; any thread reads.
struct StoreCounters {
  TICKPATH_COUNTERS(instruments,           // that have a row
                    unlisted,              // times that an instrument found no room
                    trades, quotes, bars,  // entries
                    unpriced,              // trades without a price that fits: not kept
                    moves,                 // of rings, to larger ones
                    overwritten,           // entries that were younger than what is to be kept
                    days);
};

// All members belong to the writing thread except where noted; none of theirs allocates, throws or
// calls the kernel.
class PriceStore {
 public:
  // Control thread: takes all memory. ids_max: instrument ids are below it. Throws
  // rdma::SetupError.
  PriceStore(rdma::Device& device, const StoreOptions& options, std::uint32_t ids_max,
             const std::string& name);

  // To give to whoever may READ it. Control thread.
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }
  std::uint64_t bytes() const noexcept { return region_->size_bytes(); }  // any thread

  // An instrument that the feed has named: it has a row from now on, and an entry in the index. The
  // same again does nothing.
  void list(std::uint64_t symbol, std::uint32_t instrument_id) noexcept;
  // What the message did, after it was published. Of an instrument without a row it does nothing.
  void on_update(const wire::BookUpdate& update) noexcept;
  // The state of the whole feed.
  void set_state(wire::FeedState state) noexcept;
  // Messages are numbered anew. A session whose first message is of an earlier time than the newest
  // is of another day.
  void begin_session() noexcept { session_begun_ = true; }
  // Everything of the day before is dropped. Takes about 100 ns an instrument.
  void begin_day() noexcept;
  // After the updates of a burst: readers see how far the exchange's clock is. latest_ns: the
  // newest time of those messages that were no updates of a price.
  void show_clock(std::uint64_t latest_ns = 0) noexcept;

  const StoreCounters& counters() const noexcept { return counters_; }  // any thread

  // Any thread of this process: as a reader elsewhere would READ them.
  const std::byte* memory() const noexcept { return region_->data(); }

 private:
  using Moves = std::array<RingWriter::Move, wire::kHistoryKinds>;
  static constexpr std::uint32_t kNoRow = 0xffff'ffff;

  RingWriter make_ring(wire::HistoryKind kind, const StoreOptions& options) noexcept;
  void index(std::uint64_t symbol, std::uint32_t row) noexcept;
  void notice_day(const wire::BookUpdate& update) noexcept;
  void add_quote(const wire::BookUpdate& update, std::uint64_t now_ns, wire::LatestPrices& latest,
                 wire::PriceRow& row, std::uint32_t at) noexcept;
  void add_trade(const wire::BookUpdate& update, std::uint64_t now_ns, wire::LatestPrices& latest,
                 wire::PriceRow& row, std::uint32_t at) noexcept;
  void add_to_bar(wire::HistoryKind kind, const wire::PriceTrade& trade, wire::PriceBar& bar,
                  wire::PriceRow& row, std::uint32_t at) noexcept;
  template <class Entry>
  void append(wire::HistoryKind kind, const Entry& entry, wire::PriceRow& row,
              std::uint32_t at) noexcept;

  std::unique_ptr<rdma::MemoryRegion> region_;
  wire::StoreInfo* info_;
  wire::SymbolSlot* slots_;
  wire::PriceRow* rows_;
  std::uint64_t slots_count_;
  std::uint32_t instruments_;
  std::uint32_t used_ = 0;
  std::array<RingWriter, wire::kHistoryKinds> rings_;
  std::vector<Moves> moves_;           // by row
  std::vector<std::uint32_t> row_of_;  // by instrument id
  std::uint64_t clock_ns_ = 0;
  std::uint32_t day_ = 1;
  bool session_begun_ = false;
  StoreCounters counters_;
};

}  // namespace tickpath::prices

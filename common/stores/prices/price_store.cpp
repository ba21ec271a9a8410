#include "common/stores/prices/price_store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/check.hpp"
#include "common/link/check_word.hpp"
#include "common/stores/prices/bars.hpp"

namespace tickpath::prices {
namespace {

using wire::HistoryKind;

// The ring that each instrument has from the start takes a quarter of what there is for it at most,
// and no more than this; the rest is the pool's.
constexpr std::uint64_t kHomeLinesMax = 64;

unsigned home_log2(std::uint64_t entries) noexcept {
  return static_cast<unsigned>(std::bit_width(std::min(entries / 4, kHomeLinesMax)) - 1);
}

struct Places {
  std::uint64_t index_slots;
  std::uint64_t index;
  std::uint64_t rows;
  std::array<std::uint64_t, wire::kHistoryKinds> lines;
  std::uint64_t bytes;
};

Places places_of(const StoreOptions& options) noexcept {
  Places at{};
  // At most half full: a symbol is found in the first line most often, in the second nearly always.
  at.index_slots = std::bit_ceil(std::max<std::uint64_t>(options.instruments, 4) * 2);
  at.index = sizeof(wire::StoreInfo);
  at.rows = at.index + at.index_slots * sizeof(wire::SymbolSlot);
  std::uint64_t end = at.rows + std::uint64_t{options.instruments} * sizeof(wire::PriceRow);
  for (std::size_t kind = 0; kind < wire::kHistoryKinds; ++kind) {
    at.lines[kind] = end;
    end += options.instruments * options.entries(static_cast<HistoryKind>(kind)) *
           sizeof(wire::HistoryLine);
  }
  at.bytes = end;
  return at;
}

// The row becomes `latest`, of which the fields that put() names differ from what is there. Readers
// take none of it before all of it is there and the check word after it.
class RowChange {
 public:
  RowChange(wire::PriceRow& row, const wire::LatestPrices& latest) noexcept
      : row_(row), check_(link::check_word(latest)) {}
  // Last, so that who READs a whole row has what it is now, and not what it will be.
  ~RowChange() { link::store_word(row_.check, check_, std::memory_order_release); }
  RowChange(const RowChange&) = delete;
  RowChange& operator=(const RowChange&) = delete;

  // Release: what the rings have for it is there before it.
  template <class T>
  void put(T& field, const T& value) noexcept {
    link::Words<T> words;
    std::memcpy(words.data(), &value, sizeof(T));
    link::store_words(reinterpret_cast<std::uint64_t*>(&field), words.data(), words.size());
  }

 private:
  wire::PriceRow& row_;
  std::uint64_t check_;
};

// Sizes count, and the states do: a quote may only be trusted while its book can be.
bool is_new_quote(const wire::BookUpdate& update, const wire::PriceQuote& last) noexcept {
  const bool same = update.best_bid == last.bid && update.best_ask == last.ask &&
                    update.best_bid_shares == last.bid_shares &&
                    update.best_ask_shares == last.ask_shares;
  const bool none = update.best_bid == 0 && update.best_ask == 0;
  return !same || (update.states != last.states && !none);
}

}  // namespace

std::uint64_t store_bytes(const StoreOptions& options) noexcept { return places_of(options).bytes; }

RingWriter PriceStore::make_ring(HistoryKind kind, const StoreOptions& options) noexcept {
  auto* const lines = reinterpret_cast<wire::HistoryLine*>(
      region_->data() + places_of(options).lines[static_cast<std::size_t>(kind)]);
  const std::uint64_t entries = options.entries(kind);
  return {lines, options.instruments * entries, options.instruments, home_log2(entries),
          static_cast<std::uint64_t>(options.keep_ns)};
}

PriceStore::PriceStore(rdma::Device& device, const StoreOptions& options, std::uint32_t ids_max,
                       const std::string& name)
    : region_(device.allocate(store_bytes(options), rdma::kLocalWrite | rdma::kRemoteRead, name)),
      info_(reinterpret_cast<wire::StoreInfo*>(region_->data())),
      slots_(reinterpret_cast<wire::SymbolSlot*>(region_->data() + places_of(options).index)),
      rows_(reinterpret_cast<wire::PriceRow*>(region_->data() + places_of(options).rows)),
      slots_count_(places_of(options).index_slots),
      instruments_(options.instruments),
      rings_{make_ring(HistoryKind::kTrades, options), make_ring(HistoryKind::kQuotes, options),
             make_ring(HistoryKind::kBars1s, options), make_ring(HistoryKind::kBars1m, options)},
      moves_(options.instruments),
      row_of_(ids_max, kNoRow) {
  for (std::size_t kind = 0; kind < wire::kHistoryKinds; ++kind)
    TICKPATH_CHECK(options.entries(static_cast<HistoryKind>(kind)) >= kEntriesMin,
                   "a ring has four lines at least");
  const Places at = places_of(options);
  info_->magic = wire::StoreInfo::kMagic;
  info_->bytes = at.bytes;
  info_->instruments = options.instruments;
  info_->index_slots = at.index_slots;
  info_->index_offset = at.index;
  info_->rows_offset = at.rows;
  info_->lines_offset = at.lines;
  for (std::size_t kind = 0; kind < wire::kHistoryKinds; ++kind)
    info_->lines[kind] = options.instruments * options.entries(static_cast<HistoryKind>(kind));
  info_->day = day_;
}

void PriceStore::list(std::uint64_t symbol, std::uint32_t instrument_id) noexcept {
  if (symbol == 0 || instrument_id >= row_of_.size() || row_of_[instrument_id] != kNoRow) return;
  if (used_ == instruments_) {
    counters_.unlisted.add();
    return;
  }
  const std::uint32_t row = used_++;
  row_of_[instrument_id] = row;
  wire::LatestPrices& latest = rows_[row].latest;  // nobody knows of it yet
  latest.symbol = symbol;
  latest.instrument_id = instrument_id;
  latest.day = day_;
  index(symbol, row);
  link::store_word(info_->rows, used_, std::memory_order_release);
  counters_.instruments.set(used_);
}

void PriceStore::index(std::uint64_t symbol, std::uint32_t row) noexcept {
  const std::uint64_t lines = slots_count_ / wire::kSlotsPerIndexLine;
  std::uint64_t line = wire::index_line_of(symbol, lines);
  for (;; line = (line + 1) & (lines - 1))
    for (std::size_t i = 0; i < wire::kSlotsPerIndexLine; ++i) {
      wire::SymbolSlot& slot = slots_[line * wire::kSlotsPerIndexLine + i];
      if (slot.symbol != 0) continue;
      // The row first. A READ may fetch the two in any order all the same: a symbol without a row
      // is one that is being entered.
      link::store_word(slot.row_and_1, std::uint64_t{row} + 1, std::memory_order_release);
      link::store_word(slot.symbol, symbol, std::memory_order_release);
      return;
    }
}

template <class Entry>
void PriceStore::append(HistoryKind kind, const Entry& entry, wire::PriceRow& row,
                        std::uint32_t at) noexcept {
  const auto which = static_cast<std::size_t>(kind);
  wire::HistoryLine line{};
  static_assert(sizeof(entry) <= sizeof(line.payload));
  std::memcpy(line.payload.data(), &entry, sizeof(entry));
  const std::uint64_t location = row.rings[which].location;
  if (rings_[which].append(row.rings[which], moves_[at][which], at, line)) [[unlikely]]
    counters_.overwritten.add();
  if (row.rings[which].location != location && location != 0) [[unlikely]]
    counters_.moves.add();
}

void PriceStore::on_update(const wire::BookUpdate& update) noexcept {
  if (session_begun_) [[unlikely]]
    notice_day(update);
  clock_ns_ = std::max(clock_ns_, update.exchange_time_ns);
  if (update.instrument_id >= row_of_.size()) return;
  const std::uint32_t at = row_of_[update.instrument_id];
  if (at == kNoRow) [[unlikely]]
    return;
  wire::PriceRow& row = rows_[at];
  const bool traded = update.is_trade() && update.shares != 0;
  const bool priced = traded && update.price != 0;
  if (traded && !priced) [[unlikely]]
    counters_.unpriced.add();
  const bool quoted = is_new_quote(update, row.latest.quote);
  if (!priced && !quoted) return;
  // Entries are searched by their times, which therefore never go back within a ring: what no
  // message stands for (books dropped or restored) has the time of the last one that does.
  const std::uint64_t now_ns =
      std::max({update.exchange_time_ns, row.latest.trade.time_ns, row.latest.quote.time_ns});
  wire::LatestPrices latest = row.latest;
  // The rings first: who has seen a bar begin in the row finds the one before it in its ring.
  if (priced) add_trade(update, now_ns, latest, row, at);
  if (quoted) add_quote(update, now_ns, latest, row, at);
  RowChange change(row, latest);
  if (priced) {
    change.put(row.latest.trade, latest.trade);
    change.put(row.latest.day_bar, latest.day_bar);
    change.put(row.latest.bar_1s, latest.bar_1s);
    change.put(row.latest.bar_1m, latest.bar_1m);
  }
  if (quoted) change.put(row.latest.quote, latest.quote);
}

// What announces the session has a time of before.
void PriceStore::notice_day(const wire::BookUpdate& update) noexcept {
  if (update.kind == wire::UpdateKind::kBookCleared ||
      update.kind == wire::UpdateKind::kFeedState || update.kind == wire::UpdateKind::kNumbering ||
      update.exchange_time_ns == 0)
    return;
  session_begun_ = false;
  if (update.exchange_time_ns < clock_ns_) begin_day();
}

void PriceStore::add_quote(const wire::BookUpdate& update, std::uint64_t now_ns,
                           wire::LatestPrices& latest, wire::PriceRow& row,
                           std::uint32_t at) noexcept {
  latest.quote = {now_ns,
                  update.trace_id,
                  update.best_bid,
                  update.best_ask,
                  update.best_bid_shares,
                  update.best_ask_shares,
                  update.states,
                  {}};
  append(HistoryKind::kQuotes, latest.quote, row, at);
  counters_.quotes.add();
}

void PriceStore::add_trade(const wire::BookUpdate& update, std::uint64_t now_ns,
                           wire::LatestPrices& latest, wire::PriceRow& row,
                           std::uint32_t at) noexcept {
  latest.trade = {now_ns,      update.trace_id, update.price,  update.shares,
                  update.kind, update.side,     update.states, {}};
  append(HistoryKind::kTrades, latest.trade, row, at);
  counters_.trades.add();
  add_to_bar(HistoryKind::kBars1s, latest.trade, latest.bar_1s, row, at);
  add_to_bar(HistoryKind::kBars1m, latest.trade, latest.bar_1m, row, at);
  prices::add_trade(latest.day_bar, now_ns, update.price, update.shares);
}

void PriceStore::add_to_bar(HistoryKind kind, const wire::PriceTrade& trade, wire::PriceBar& bar,
                            wire::PriceRow& row, std::uint32_t at) noexcept {
  const std::uint64_t start_ns = bar_start(kind, trade.time_ns);
  if (bar.trades != 0 && bar.start_ns != start_ns) {
    append(kind, bar, row, at);
    counters_.bars.add();
    bar = {};
  }
  prices::add_trade(bar, start_ns, trade.price, trade.shares);
}

void PriceStore::set_state(wire::FeedState state) noexcept {
  link::store_word(info_->state, static_cast<std::uint64_t>(state), std::memory_order_release);
}

void PriceStore::begin_day() noexcept {
  session_begun_ = false;
  ++day_;
  clock_ns_ = 0;
  for (std::uint32_t at = 0; at < used_; ++at) {
    wire::PriceRow& row = rows_[at];
    for (std::size_t kind = 0; kind < wire::kHistoryKinds; ++kind)
      rings_[kind].forget(row.rings[kind]);
    wire::LatestPrices latest{};
    latest.symbol = row.latest.symbol;
    latest.instrument_id = row.latest.instrument_id;
    latest.day = day_;
    RowChange(row, latest).put(row.latest, latest);
  }
  link::store_word(info_->clock_ns, 0, std::memory_order_release);
  link::store_word(info_->day, day_, std::memory_order_release);
  counters_.days.add();
}

void PriceStore::show_clock(std::uint64_t latest_ns) noexcept {
  if (!session_begun_) clock_ns_ = std::max(clock_ns_, latest_ns);
  if (clock_ns_ == info_->clock_ns) return;  // own word: most turns bring nothing
  // Release: who sees a bar's end passed sees every trade that counts in it. Nothing else of the
  // burst is behind it.
  link::store_word(info_->clock_ns, clock_ns_, std::memory_order_release);
}

}  // namespace tickpath::prices

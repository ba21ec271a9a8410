// Books from IEX DEEP. The venue tells the size that rests at each price, not the orders: every
// price level is one order of a book::LevelBookSet, so that whatever reads such books reads these
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/memory.hpp"
#include "common/book/book.hpp"
#include "common/feeds/iex/messages.hpp"

namespace tickpath::iex {

// A book::Locate for every symbol of the feed, in the order in which it names them, from 1.
// Preallocated; never forgets one.
class SymbolTable {
 public:
  static constexpr book::Locate kNone = 0;
  static constexpr std::size_t kSymbolsMax = 65'535;

  SymbolTable() : cells_(kCells) {
    reserve_touched(names_, kSymbolsMax + 1);
    names_.emplace_back();
  }

  // The symbol's locate, a new one if need be. kNone: the table is full.
  book::Locate locate(const Symbol& symbol) noexcept;
  // kNone: never seen.
  book::Locate find(const Symbol& symbol) const noexcept {
    return cells_[cell_of(key_of(symbol))].locate;
  }
  std::string_view name(book::Locate locate) const noexcept {
    return locate < names_.size() ? names_[locate].view() : std::string_view{};
  }
  std::size_t size() const noexcept { return names_.size() - 1; }

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 17;  // at most half full
  struct Cell {
    std::uint64_t key = 0;
    book::Locate locate = kNone;
  };
  static std::uint64_t key_of(const Symbol& symbol) noexcept;
  // The cell of the key, or the free one where it belongs.
  std::size_t cell_of(std::uint64_t key) const noexcept;

  std::vector<Cell> cells_;
  std::vector<Symbol> names_;  // by locate
};

// One writer, the books' thread; any thread reads.
struct DeepBooksCounters {
  Counter level_updates;
  Counter unknown_levels;  // said to be gone, but there was none: a message was missed
  // Not above 0, or above $429,496.7295, which Price(4) cannot hold: the level is left out.
  Counter unusable_prices;
  Counter symbols_full;  // updates of symbols beyond SymbolTable::kSymbolsMax
  Counter refused;       // by the books, which are full
};

// What the last price level update did.
struct LevelChange {
  book::Locate locate = SymbolTable::kNone;
  Side side{0};
  std::uint32_t price = 0;   // 0: not usable, see DeepBooksCounters::unusable_prices
  std::uint32_t before = 0;  // shares that rested there
  std::uint32_t after = 0;   // and that are said to now
  book::Status status = book::Status::kOk;
};

// A handler for iex::decode(). Nothing allocates, throws or makes a system call after the
// constructor. The thread of the books only; their Options::orders_max and levels_max bound the
// levels of all symbols together.
class DeepBooks {
 public:
  explicit DeepBooks(book::LevelBookSet& books)
      : books_(books), in_transition_(book::kLocatesMax) {}

  void operator()(const BuyLevelUpdate& m) noexcept { update(m, Side::kBuy); }
  void operator()(const SellLevelUpdate& m) noexcept { update(m, Side::kSell); }
  // The directory names the venue's own listings only; of the others the first message is mostly a
  // trading status.
  void operator()(const auto& m) noexcept {
    if constexpr (requires { m.symbol; }) (void)symbols_.locate(m.symbol);
  }

  // More updates of the same event follow: until then the book may be crossed, and is nothing to
  // trade on.
  bool in_transition(book::Locate locate) const noexcept { return in_transition_[locate] != 0; }
  // The change of the last level update that was handled.
  const LevelChange& last_change() const noexcept { return last_; }
  // The locate of a symbol, a new one if need be; SymbolTable::kNone: there are too many.
  book::Locate locate(const Symbol& symbol) noexcept { return symbols_.locate(symbol); }
  // Another session: no event is under way. Books and symbols stay as they are.
  void begin_session() noexcept { in_transition_.assign(in_transition_.size(), 0); }
  const SymbolTable& symbols() const noexcept { return symbols_; }
  const DeepBooksCounters& counters() const noexcept { return counters_; }

 private:
  template <class Update>
  void update(const Update& m, Side side) noexcept {
    counters_.level_updates.add();
    const book::Locate locate = symbols_.locate(m.symbol);
    last_ = {locate, side, 0, 0, m.size, book::Status::kOk};
    if (locate == SymbolTable::kNone) [[unlikely]]
      return counters_.symbols_full.add();
    in_transition_[locate] = (m.flags & Update::kEventComplete) == 0;
    set_level(locate, side, m.price, m.size);
  }
  void set_level(book::Locate locate, Side side, Price price, std::uint32_t size) noexcept;

  book::LevelBookSet& books_;
  SymbolTable symbols_;
  std::vector<std::uint8_t> in_transition_;  // by locate
  LevelChange last_;
  DeepBooksCounters counters_;
};

}  // namespace tickpath::iex

// The instruments of a feed: their ids, and what is known of each.
//
// A new symbol has the next id; once there is none, that of a symbol which no feed has named for
// long (see DESIGN.md). Rows of the directory come in the order in which instruments are listed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/book/types.hpp"
#include "common/feeds/itch/alpha.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::mdh {

// 64 bytes, one line: touched by every message of the instrument.
struct alignas(64) Instrument {
  std::uint64_t trace_id = 0;  // of the last update that concerned it
  std::uint64_t exchange_time_ns = 0;
  std::uint64_t ring_sequence = 0;
  std::uint32_t last_trade_price = 0;
  std::uint32_t last_trade_shares = 0;
  std::uint32_t behind = 0;  // while the feed catches up: messages held that concern it
  book::Locate locate = 0;
  wire::TradingState trading = wire::TradingState::kUnknown;
  bool operational_halt = false;  // halted on this market alone (ITCH 1.2.8)
  bool in_directory = false;      // the day's has it: ITCH 1.2.1
  bool listed = false;            // has a locate in the current session
  bool incomplete = false;        // an order found no room: its book cannot be trusted
  bool in_transition = false;     // DEEP: more updates of the same event follow, see DESIGN.md
  bool crossed = false;           // its bid is at or above its ask, which no venue lets stand
  bool dirty = false;             // its image is behind its book
  bool had_orders = false;        // while the books of a session or day are dropped

  wire::TradingState trading_state() const noexcept {
    return operational_halt ? wire::TradingState::kHalted : trading;
  }
  // Orders may gather unmatched: a crossed book is the venue's own then.
  bool gathers() const noexcept { return wire::gathers(trading_state()); }
};
static_assert(sizeof(Instrument) == 64);

// The owning thread only, except where noted. Allocates in the constructor alone.
class Instruments {
 public:
  // capacity: 1 to 65,536 instruments (a feed has no more locates).
  explicit Instruments(std::uint32_t capacity);

  // Ids in use or kept: they are below it.
  std::uint32_t size() const noexcept { return size_; }
  // Rows of the directory, and that of an id; kNoRow: it is kept for a symbol of former days.
  static constexpr std::uint32_t kNoRow = 0xffff'ffff;
  std::uint32_t rows() const noexcept { return rows_; }
  std::uint32_t row_of(std::uint32_t id) const noexcept { return row_of_[id]; }
  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(states_.size()); }

  // kNoInstrument for a locate that nothing has named yet.
  std::uint32_t id_of(book::Locate locate) const noexcept { return by_locate_[locate]; }

  bool is(std::uint32_t id, const itch::Stock& symbol) const noexcept {
    return keys_[id] == key_of(symbol);
  }
  // kNoInstrument: the symbol has no id.
  std::uint32_t find(const itch::Stock& symbol) const noexcept;

  // A symbol of former days, before the first session: it has the next id. With a row, whether the
  // feed names it again or not; or its id waits without one (`listed` false) for it to be named, or
  // for a new symbol that finds no other id. False: no room, or it is known.
  bool remember(const itch::Stock& symbol, bool listed) noexcept;
  // The instrument of `symbol`, which now has `locate`; a new id when the symbol is new. An id with
  // a row stays with its symbol for the life of the program, whatever locates later sessions give.
  // kNoInstrument when there is no room.
  std::uint32_t list(book::Locate locate, const itch::Stock& symbol) noexcept;

  Instrument& operator[](std::uint32_t id) noexcept { return states_[id]; }
  const Instrument& operator[](std::uint32_t id) const noexcept { return states_[id]; }
  wire::DirectoryEntry& entry(std::uint32_t id) noexcept { return entries_[id]; }
  const wire::DirectoryEntry& entry(std::uint32_t id) const noexcept { return entries_[id]; }

  // Times of day start anew.
  void forget_times() noexcept;
  // Every locate and state of the session is void; ids, symbols and rows stay.
  void end_session() noexcept;

 private:
  std::uint32_t free_id() noexcept;
  void name(std::uint32_t id, const itch::Stock& symbol) noexcept;
  static std::uint64_t key_of(const itch::Stock& symbol) noexcept;

  std::vector<Instrument> states_;
  std::vector<wire::DirectoryEntry> entries_;
  std::vector<std::uint64_t> keys_;  // the eight characters as one word, by id
  std::unique_ptr<std::array<std::uint32_t, book::kLocatesMax>> by_locate_owner_;
  std::array<std::uint32_t, book::kLocatesMax>& by_locate_;
  IdMap by_symbol_;                    // by key_of()
  std::vector<std::uint32_t> row_of_;  // by id
  std::vector<std::uint32_t> kept_;    // ids that were remembered without a row
  std::size_t kept_next_ = 0;          // those before it have been looked at
  std::uint32_t size_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t period_ = 1;  // of sessions: their locates are one another's
};

}  // namespace tickpath::mdh

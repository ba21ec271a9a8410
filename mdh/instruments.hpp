// The instruments of a feed: dense ids in order of first appearance, and what is known of each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/book/types.hpp"
#include "common/itch/alpha.hpp"
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
  bool listed = false;            // has a locate in the current session
  bool incomplete = false;        // an order found no room: its book cannot be trusted
  bool in_transition = false;     // DEEP: more updates of the same event follow, see DESIGN.md
  bool crossed = false;           // its bid is at or above its ask, which no venue lets stand
  bool dirty = false;             // its image is behind its book

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

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(states_.size()); }

  // kNoInstrument for a locate that nothing has named yet.
  std::uint32_t id_of(book::Locate locate) const noexcept { return by_locate_[locate]; }

  // A symbol of former days, before the first session: it has the next id. False: no room, or it
  // is known.
  bool remember(const itch::Stock& symbol) noexcept;
  // The instrument of `symbol`, which now has `locate`; a new id when the symbol is new. An id
  // stays with its symbol for the life of the program, whatever locates later sessions give.
  // kNoInstrument when there is no room.
  std::uint32_t list(book::Locate locate, const itch::Stock& symbol) noexcept;

  Instrument& operator[](std::uint32_t id) noexcept { return states_[id]; }
  const Instrument& operator[](std::uint32_t id) const noexcept { return states_[id]; }
  wire::DirectoryEntry& entry(std::uint32_t id) noexcept { return entries_[id]; }
  const wire::DirectoryEntry& entry(std::uint32_t id) const noexcept { return entries_[id]; }

  // Every locate and state of the session is void; ids, symbols and rows stay.
  void end_session() noexcept;

 private:
  void name(std::uint32_t& slot, const itch::Stock& symbol) noexcept;
  static std::uint64_t key_of(const itch::Stock& symbol) noexcept;
  std::uint32_t& slot_of(std::uint64_t key) noexcept;

  std::vector<Instrument> states_;
  std::vector<wire::DirectoryEntry> entries_;
  std::vector<std::uint64_t> keys_;  // the eight characters as one word, by id
  std::unique_ptr<std::array<std::uint32_t, book::kLocatesMax>> by_locate_owner_;
  std::array<std::uint32_t, book::kLocatesMax>& by_locate_;
  // Symbol -> id, open addressing, at most half full; kNoInstrument is an empty slot.
  std::vector<std::uint32_t> by_symbol_;
  std::uint32_t size_ = 0;
};

}  // namespace tickpath::mdh

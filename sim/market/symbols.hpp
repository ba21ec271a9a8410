// Symbols of the recording, and the number that each keeps for the whole run: its instrument.
//
// A feed's locates are a day's. On the next day a symbol may have another locate, and its former
// one may be another symbol's. So whatever outlives a day (orders good till cancelled, accounts,
// the ledger) is kept by instrument. As long as no locate is given anew, instruments are the
// locates.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/book/types.hpp"
#include "common/feeds/itch/alpha.hpp"
#include "common/wire/constants.hpp"

namespace tickpath::sim {

// One thread writes and reads; nothing allocates after the constructor.
class Symbols {
 public:
  Symbols();

  // A locate is the symbol's that it was given last. True: the day had not named the symbol yet.
  // Blank symbols are ignored.
  bool learn(book::Locate locate, const itch::Stock& symbol) noexcept {
    if (key_of(symbol) == keys_[locate]) [[likely]]
      return false;
    return store(locate, symbol);
  }
  // Another day: no locate is known, and every symbol keeps its number.
  void begin_day() noexcept;

  // The instrument that has the locate.
  book::Locate instrument_of(book::Locate locate) const noexcept {
    return renumbered_ ? instruments_[locate] : locate;
  }
  // wire::kNoInstrument: the day has not named the symbol.
  std::uint32_t locate_of(std::uint32_t instrument) const noexcept {
    return renumbered_ ? locates_[instrument] : instrument;
  }

  // The symbol's instrument; wire::kNoInstrument when unknown, or longer than 8 characters.
  std::uint32_t find(std::string_view symbol) const noexcept;
  // Empty when unknown.
  std::string_view name(std::uint32_t instrument) const noexcept {
    return instrument < book::kLocatesMax ? names_[instrument].view() : std::string_view{};
  }
  // The same as it stands in messages; instrument: below book::kLocatesMax.
  const itch::Stock& stock(std::uint32_t instrument) const noexcept { return names_[instrument]; }
  std::uint32_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t kSlots = book::kLocatesMax * 2;  // at most half full
  // A symbol for which no number is left has ITCH's "no instrument". There are as many numbers as
  // locates.
  static constexpr book::Locate kNoNumber = 0;
  struct Slot {
    std::uint64_t key = 0;  // 0: free; blanks are 0x20, so no symbol is 0
    book::Locate instrument = 0;
  };

  static std::uint64_t key_of(const itch::Stock& symbol) noexcept;
  Slot& slot_of(std::uint64_t key) const noexcept;
  bool store(book::Locate locate, const itch::Stock& symbol) noexcept;
  bool number(Slot& slot, book::Locate wanted, const itch::Stock& symbol) noexcept;

  std::unique_ptr<std::uint64_t[]> keys_;        // by locate; 0: unknown
  std::unique_ptr<book::Locate[]> instruments_;  // by locate
  std::unique_ptr<std::uint32_t[]> locates_;     // by instrument
  std::unique_ptr<itch::Stock[]> names_;         // by instrument
  std::unique_ptr<Slot[]> slots_;
  bool renumbered_ = false;            // instruments_ is not what its index is
  std::uint32_t next_instrument_ = 1;  // those before it are in use
  std::uint32_t size_ = 0;
};

}  // namespace tickpath::sim

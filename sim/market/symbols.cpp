#include "sim/market/symbols.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace tickpath::sim {

Symbols::Symbols()
    : keys_(std::make_unique<std::uint64_t[]>(book::kLocatesMax)),
      instruments_(std::make_unique<book::Locate[]>(book::kLocatesMax)),
      locates_(std::make_unique<std::uint32_t[]>(book::kLocatesMax)),
      names_(std::make_unique<itch::Stock[]>(book::kLocatesMax)),
      slots_(std::make_unique<Slot[]>(kSlots)) {
  std::iota(instruments_.get(), instruments_.get() + book::kLocatesMax, book::Locate{0});
  std::fill_n(locates_.get(), book::kLocatesMax, wire::kNoInstrument);
}

std::uint64_t Symbols::key_of(const itch::Stock& symbol) noexcept {
  return std::bit_cast<std::uint64_t>(symbol.characters);
}

Symbols::Slot& Symbols::slot_of(std::uint64_t key) const noexcept {
  // Fibonacci hashing: the high bits of the product mix every character.
  constexpr unsigned kShift = 64 - std::countr_zero(kSlots);
  std::size_t at = static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15ull) >> kShift);
  while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) % kSlots;
  return slots_[at];
}

bool Symbols::store(book::Locate locate, const itch::Stock& symbol) noexcept {
  if (symbol == itch::Stock{}) return false;
  keys_[locate] = key_of(symbol);
  Slot& slot = slot_of(key_of(symbol));
  const bool has_number = slot.key != 0 || number(slot, locate, symbol);
  instruments_[locate] = has_number ? slot.instrument : kNoNumber;
  renumbered_ |= instruments_[locate] != locate;
  if (!has_number) return false;
  const bool named = locates_[slot.instrument] != wire::kNoInstrument;
  locates_[slot.instrument] = locate;
  return !named;
}

// The locate itself, unless it is another symbol's instrument. False: there is none left.
bool Symbols::number(Slot& slot, book::Locate wanted, const itch::Stock& symbol) noexcept {
  const auto is_free = [this](std::uint32_t instrument) {
    return names_[instrument] == itch::Stock{};
  };
  std::uint32_t instrument = wanted;
  if (!is_free(instrument)) {
    while (next_instrument_ < book::kLocatesMax && !is_free(next_instrument_)) ++next_instrument_;
    instrument = next_instrument_;
  }
  if (instrument == book::kLocatesMax) return false;
  slot = {key_of(symbol), static_cast<book::Locate>(instrument)};
  names_[instrument] = symbol;
  ++size_;
  return true;
}

void Symbols::begin_day() noexcept {
  std::fill_n(keys_.get(), book::kLocatesMax, std::uint64_t{0});
  std::fill_n(instruments_.get(), book::kLocatesMax, kNoNumber);
  std::fill_n(locates_.get(), book::kLocatesMax, wire::kNoInstrument);
  renumbered_ = true;
}

std::uint32_t Symbols::find(std::string_view symbol) const noexcept {
  if (symbol.empty() || symbol.size() > sizeof(itch::Stock)) return wire::kNoInstrument;
  const std::uint64_t key = key_of(itch::Stock(symbol));
  const Slot& slot = slot_of(key);
  return slot.key == key ? slot.instrument : wire::kNoInstrument;
}

}  // namespace tickpath::sim

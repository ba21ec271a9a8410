#include "sim/market/symbols.hpp"

#include <bit>
#include <cstring>

namespace tickpath::sim {

Symbols::Symbols()
    : keys_(std::make_unique<std::uint64_t[]>(book::kLocatesMax)),
      names_(std::make_unique<itch::Stock[]>(book::kLocatesMax)),
      slots_(std::make_unique<Slot[]>(kSlots)) {}

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

void Symbols::store(book::Locate locate, const itch::Stock& symbol) noexcept {
  if (symbol == itch::Stock{}) return;
  Slot& slot = slot_of(key_of(symbol));
  if (slot.key == 0) {
    // A hostile recording could rename without end; beyond half full new names stay unknown.
    if (used_slots_ == kSlots / 2) return;
    ++used_slots_;
  }
  if (keys_[locate] == 0) ++size_;
  slot = {key_of(symbol), locate, 0};
  keys_[locate] = key_of(symbol);
  names_[locate] = symbol;
}

std::uint32_t Symbols::find(std::string_view symbol) const noexcept {
  if (symbol.empty() || symbol.size() > sizeof(itch::Stock)) return wire::kNoInstrument;
  const std::uint64_t key = key_of(itch::Stock(symbol));
  const Slot& slot = slot_of(key);
  // A locate that has another name by now is not this symbol any more.
  return slot.key == key && keys_[slot.locate] == key ? slot.locate : wire::kNoInstrument;
}

}  // namespace tickpath::sim

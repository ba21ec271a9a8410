#include "mdh/instruments.hpp"

#include <cstring>

#include "common/base/check.hpp"

namespace tickpath::mdh {

Instruments::Instruments(std::uint32_t capacity)
    : states_(capacity),
      entries_(capacity),
      keys_(capacity),
      by_locate_owner_(std::make_unique<std::array<std::uint32_t, book::kLocatesMax>>()),
      by_locate_(*by_locate_owner_),
      by_symbol_(capacity),
      row_of_(capacity, kNoRow) {
  TICKPATH_CHECK(capacity >= 1 && capacity <= book::kLocatesMax, "a feed has 65,536 locates");
  by_locate_.fill(wire::kNoInstrument);
  kept_.reserve(capacity);
}

std::uint64_t Instruments::key_of(const itch::Stock& symbol) noexcept {
  std::uint64_t key = 0;
  static_assert(sizeof(symbol.characters) == sizeof(key));
  std::memcpy(&key, symbol.characters.data(), sizeof(key));
  return key;
}

std::uint32_t Instruments::list(book::Locate locate, const itch::Stock& symbol) noexcept {
  std::uint32_t id = by_symbol_.find(key_of(symbol));
  if (id == IdMap::kNone) {
    id = free_id();
    if (id == wire::kNoInstrument) return id;
    name(id, symbol);
  }
  if (row_of_[id] == kNoRow) row_of_[id] = rows_++;
  by_locate_[locate] = id;
  states_[id].locate = locate;
  states_[id].listed = true;
  entries_[id].feed_locate = locate;
  entries_[id].listed_in = period_;
  return id;
}

std::uint32_t Instruments::find(const itch::Stock& symbol) const noexcept {
  const std::uint32_t id = by_symbol_.find(key_of(symbol));
  return id == IdMap::kNone ? wire::kNoInstrument : id;
}

bool Instruments::remember(const itch::Stock& symbol, bool listed) noexcept {
  if (by_symbol_.find(key_of(symbol)) != IdMap::kNone || size_ == capacity()) return false;
  const std::uint32_t id = size_++;
  name(id, symbol);
  if (listed)
    row_of_[id] = rows_++;
  else
    kept_.push_back(id);
  return true;
}

// One that no symbol had comes first: nobody can take it for another's.
std::uint32_t Instruments::free_id() noexcept {
  if (size_ != capacity()) return size_++;
  while (kept_next_ != kept_.size()) {
    const std::uint32_t id = kept_[kept_next_++];
    if (row_of_[id] != kNoRow) continue;  // its symbol has come back
    by_symbol_.erase(keys_[id]);
    return id;
  }
  return wire::kNoInstrument;
}

void Instruments::name(std::uint32_t id, const itch::Stock& symbol) noexcept {
  keys_[id] = key_of(symbol);
  (void)by_symbol_.insert(keys_[id], id);
  wire::DirectoryEntry& row = entries_[id];
  std::memset(row.symbol, ' ', sizeof(row.symbol));
  std::memcpy(row.symbol, symbol.characters.data(), symbol.characters.size());
  row.instrument_id = id;
}

void Instruments::forget_times() noexcept {
  for (std::uint32_t id = 0; id < size_; ++id) states_[id].exchange_time_ns = 0;
}

void Instruments::end_session() noexcept {
  ++period_;
  by_locate_.fill(wire::kNoInstrument);
  for (std::uint32_t id = 0; id < size_; ++id) {
    const bool dirty = states_[id].dirty;
    const std::uint64_t ring_sequence = states_[id].ring_sequence;
    states_[id] = {};
    states_[id].dirty = dirty;
    states_[id].ring_sequence = ring_sequence;
    entries_[id].feed_locate = 0;
  }
}

}  // namespace tickpath::mdh

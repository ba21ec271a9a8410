// mdh -> anyone (READ): one row an instrument, in the order in which mdh listed them. A row is an
// instrument's as long as mdh runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tickpath::wire {

struct DirectoryEntry {
  char symbol[16];  // space-padded on the right, as ITCH pads (8 characters used)
  std::uint32_t instrument_id;
  std::uint32_t round_lot_shares;
  std::uint16_t feed_locate;  // ITCH stock locate of the current session
  char market_category;       // ITCH 1.2.1 "Stock Directory"
  char financial_status;
  // Another number after each session or day that named it; 0: none since mdh's start.
  std::uint32_t listed_in;

  std::string_view name() const noexcept {
    std::size_t length = sizeof(symbol);
    while (length > 0 && (symbol[length - 1] == ' ' || symbol[length - 1] == '\0')) --length;
    return {symbol, length};
  }
};
static_assert(std::is_trivially_copyable_v<DirectoryEntry>);
static_assert(sizeof(DirectoryEntry) == 32 && offsetof(DirectoryEntry, feed_locate) == 24 &&
              offsetof(DirectoryEntry, listed_in) == 28);

// A symbol as one word, NUL-padded: what travels beside an id, so that who gets it sees whether the
// id is still that symbol's. Feeds have symbols of up to 8 characters. 0: not known.
inline std::uint64_t symbol_word(std::string_view symbol) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, symbol.data(), symbol.size() < sizeof(word) ? symbol.size() : sizeof(word));
  return word;
}
// The text of a word; the word must outlive it.
inline std::string_view symbol_text(const std::uint64_t& word) noexcept {
  const char* const text = reinterpret_cast<const char*>(&word);
  return {text, strnlen(text, sizeof(word))};
}

}  // namespace tickpath::wire

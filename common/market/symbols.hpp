// The directory as a reader knows it: symbol to instrument id and back, preallocated.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/wire/constants.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::market {

using SymbolName = std::array<char, 16>;  // NUL-padded

inline SymbolName padded(std::string_view symbol) noexcept {
  SymbolName name{};
  std::memcpy(name.data(), symbol.data(), std::min(symbol.size(), name.size()));
  return name;
}

// Filled by one thread; no entry is ever removed. Symbols of up to 16 characters, so no IdMap.
class Symbols {
 public:
  using Name = SymbolName;

  explicit Symbols(std::uint32_t instruments_max)
      : names_(instruments_max),
        cells_(std::bit_ceil(std::size_t{instruments_max} * 2 + 2), wire::kNoInstrument) {}

  // False: the id is out of range, the symbol is empty, or the id has another name already.
  bool add(const wire::DirectoryEntry& entry) noexcept {
    return add(entry.instrument_id, entry.name());
  }
  bool add(std::uint32_t id, std::string_view symbol) noexcept {
    const Name name = padded(symbol);
    if (id >= names_.size() || name[0] == '\0') return false;
    Name& known = names_[id];
    if (known[0] != '\0') return known == name;
    known = name;
    cells_[cell_of(name)] = id;
    ++size_;
    return true;
  }

  // kNoInstrument: not (yet) in the directory.
  std::uint32_t find(std::string_view symbol) const noexcept {
    return symbol.empty() || symbol.size() > 16 ? wire::kNoInstrument
                                                : cells_[cell_of(padded(symbol))];
  }
  // Empty: no such instrument.
  std::string_view name(std::uint32_t instrument) const noexcept {
    if (instrument >= names_.size()) return {};
    const Name& name = names_[instrument];
    return {name.data(), strnlen(name.data(), name.size())};
  }
  std::uint32_t size() const noexcept { return size_; }

 private:
  // The cell that holds the name, or the free one where it belongs.
  std::size_t cell_of(const Name& name) const noexcept {
    std::uint64_t words[2];
    std::memcpy(words, name.data(), sizeof(words));
    const std::uint64_t mixed = (words[0] ^ std::rotl(words[1], 31)) * 0x9e37'79b9'7f4a'7c15u;
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = static_cast<std::size_t>(mixed >> 20) & mask;
    while (cells_[at] != wire::kNoInstrument && names_[cells_[at]] != name) at = (at + 1) & mask;
    return at;
  }

  std::vector<Name> names_;
  std::vector<std::uint32_t> cells_;
  std::uint32_t size_ = 0;
};

}  // namespace tickpath::market

// Symbols of the recording and their stock locates.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/book/types.hpp"
#include "common/itch/alpha.hpp"
#include "common/wire/constants.hpp"

namespace tickpath::sim {

// One thread writes and reads; nothing allocates after the constructor.
class Symbols {
 public:
  Symbols();

  // A locate keeps the symbol that it was given last. Blank symbols are ignored.
  void learn(book::Locate locate, const itch::Stock& symbol) noexcept {
    if (key_of(symbol) != keys_[locate]) [[unlikely]]
      store(locate, symbol);
  }
  // wire::kNoInstrument when unknown, or longer than 8 characters.
  std::uint32_t find(std::string_view symbol) const noexcept;
  // Empty when unknown.
  std::string_view name(std::uint32_t locate) const noexcept {
    return locate < book::kLocatesMax ? names_[locate].view() : std::string_view{};
  }
  // The same as it stands in messages; locate: below book::kLocatesMax.
  const itch::Stock& stock(std::uint32_t locate) const noexcept { return names_[locate]; }
  std::uint32_t size() const noexcept { return size_; }

 private:
  // Twice the locates: at most half full even if every locate is renamed once; a rename beyond
  // that is refused, see store().
  static constexpr std::size_t kSlots = book::kLocatesMax * 4;
  struct Slot {
    std::uint64_t key = 0;  // 0: free; blanks are 0x20, so no symbol is 0
    std::uint32_t locate = 0;
    std::uint32_t reserved = 0;
  };

  static std::uint64_t key_of(const itch::Stock& symbol) noexcept;
  Slot& slot_of(std::uint64_t key) const noexcept;
  void store(book::Locate locate, const itch::Stock& symbol) noexcept;

  std::unique_ptr<std::uint64_t[]> keys_;  // by locate; 0: unknown
  std::unique_ptr<itch::Stock[]> names_;
  std::unique_ptr<Slot[]> slots_;
  std::uint32_t used_slots_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace tickpath::sim

// Symbols that take no new order because an exception of theirs is open (orders.stop_on_exception).
// Datapath thread; the control thread before it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/fix/messages.hpp"

namespace tickpath::oeg {

class HeldSymbols {
 public:
  // stops: an exception holds its symbol.
  explicit HeldSymbols(bool stops);

  bool is_held(const fix::Symbol& symbol) const noexcept;
  // An exception of that symbol is open, since a former run or no more.
  void hold(const fix::Symbol& symbol) noexcept;
  void release(const fix::Symbol& symbol) noexcept;

  // Raised with each change of what is held; from 1.
  std::uint64_t version() const noexcept { return version_; }
  bool empty() const noexcept { return symbols_.empty(); }
  std::size_t size() const noexcept { return symbols_.size(); }
  const fix::Symbol& operator[](std::size_t at) const noexcept { return symbols_[at].symbol; }
  // More symbols have open exceptions than are kept here: all are held.
  bool holds_all() const noexcept { return beyond_ != 0; }

 private:
  struct Held {
    fix::Symbol symbol;
    std::uint64_t exceptions;  // open ones
    bool operator==(const fix::Symbol& other) const noexcept { return symbol == other; }
  };

  const bool stops_;
  std::vector<Held> symbols_;
  std::uint64_t beyond_ = 0;  // open exceptions of symbols that found no room
  std::uint64_t version_ = 1;
};

}  // namespace tickpath::oeg

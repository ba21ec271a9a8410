// Whether an instrument id still stands for the symbol that it stood for. mdh gives the ids, and a
// restarted mdh may give them to others: until the directory of a new connection has confirmed an
// id, its prices may be another symbol's.
#pragma once

#include <cstdint>
#include <vector>

#include "common/market/symbols.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::market {

// Polling thread; allocates in the constructor alone.
class Identities {
 public:
  enum class Verdict : std::uint8_t {
    kNew,    // the id had no symbol
    kSame,   // as before
    kOther,  // another symbol than before: nothing about this id is to be believed
  };

  explicit Identities(std::uint32_t instruments_max) : ids_(instruments_max) {}

  // A connection begins: every id that is known waits for its row of the directory.
  void rejoin() noexcept {
    conflicts_ = doubted_ = 0;
    for (Id& id : ids_) {
      id.trusted = id.name[0] == '\0';
      doubted_ += id.trusted ? 0 : 1;
    }
  }
  Verdict confirm(const wire::DirectoryEntry& row) noexcept {
    if (row.instrument_id >= ids_.size() || row.name().empty()) return Verdict::kNew;
    Id& id = ids_[row.instrument_id];
    const SymbolName name = padded(row.name());
    if (id.name[0] == '\0') {
      id.name = name;
      return Verdict::kNew;
    }
    if (id.name != name) {
      ++conflicts_;
      doubted_ += id.trusted ? 1 : 0;
      id.trusted = false;
      return Verdict::kOther;
    }
    doubted_ -= id.trusted ? 0 : 1;
    id.trusted = true;
    return Verdict::kSame;
  }
  // Ids beyond the table, kNoInstrument too, are nobody's and trusted.
  bool trusted(std::uint32_t id) const noexcept {
    return doubted_ == 0 || id >= ids_.size() || ids_[id].trusted;
  }
  // Its row was confirmed on this connection, and is final.
  bool settled(std::uint32_t id) const noexcept {
    return id < ids_.size() && ids_[id].name[0] != '\0' && ids_[id].trusted;
  }
  // Ids that stand for another symbol than before, on this connection.
  std::uint64_t conflicts() const noexcept { return conflicts_; }

 private:
  struct Id {
    SymbolName name{};
    bool trusted = true;
  };

  std::vector<Id> ids_;
  std::uint32_t doubted_ = 0;
  std::uint64_t conflicts_ = 0;
};

}  // namespace tickpath::market

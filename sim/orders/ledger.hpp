// The exchange's side of the books: who holds what, counted from the reports that were sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/base/units.hpp"
#include "sim/matching/matcher.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// Of one party in one instrument.
struct LedgerRow {
  Party party;
  std::uint32_t locate = wire::kNoInstrument;
  std::int64_t position_shares = 0;  // bought less sold
  Cash cash{};                       // sold less bought
  std::uint64_t fills = 0;
  std::uint64_t bought_shares = 0;
  std::uint64_t sold_shares = 0;
  std::uint64_t accepted = 0;  // new orders
  std::uint64_t rejected = 0;
};

// Written by the datapath thread; read by it, or by others once it has ended.
class Ledger {
 public:
  // rows_max: parties times instruments that ever have an order.
  explicit Ledger(std::uint32_t rows_max);

  // Makes the row; false when rows_max are in use, and none is this party's in this instrument.
  [[nodiscard]] bool reserve(Party party, std::uint32_t locate) noexcept;
  void apply(const Report& report) noexcept;

  std::span<const LedgerRow> rows() const noexcept { return rows_; }

 private:
  std::vector<LedgerRow> rows_;
  IdMap index_;
};

// What does not add up, one line each; empty when everything does. Shares and cash of all parties
// against the recorded market's account, and the core's own sums. Owning thread, or after its end.
std::vector<std::string> check_conservation(const Matcher& matcher, const Ledger& ledger);

}  // namespace tickpath::sim

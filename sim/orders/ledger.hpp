// The exchange's side of the books: who holds what, counted from the reports that were sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/base/units.hpp"
#include "sim/matching/matcher.hpp"
#include "sim/matching/types.hpp"
#include "sim/orders/fees.hpp"

namespace tickpath::sim {

// What one party did and holds in one instrument.
struct LedgerRow {
  Party party;
  std::uint32_t locate = wire::kNoInstrument;
  std::int64_t position_shares = 0;  // bought less sold
  std::int64_t cash = 0;             // 1/10,000: sold less bought, without fees
  std::int64_t fees = 0;             // paid to the venue, in 1 / kFeeScale; below 0: received
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
  explicit Ledger(std::uint32_t rows_max, const FeeSchedule& fees = {});

  // Makes the row; false when rows_max are in use, and none is this party's in this instrument.
  [[nodiscard]] bool reserve(Party party, std::uint32_t locate) noexcept;
  void apply(const Report& report) noexcept;

  std::span<const LedgerRow> rows() const noexcept { return rows_; }
  // New orders: of a symbol in which the party has had none before, or for want of a row.
  std::uint64_t rejected_without_row() const noexcept { return rejected_without_row_; }
  const FeeSchedule& fees() const noexcept { return fees_; }

 private:
  FeeSchedule fees_;
  std::vector<LedgerRow> rows_;
  std::uint64_t rejected_without_row_ = 0;
  IdMap index_;
};

// The venue's own account, in 1 / kFeeScale: its fees on what the core says has traded, whoever
// traded it. Any thread.
std::int64_t venue_fees(const Matcher& matcher, const FeeSchedule& fees) noexcept;

// What does not add up, one line each; empty when everything does. Shares and cash of all parties
// against the recorded market's account, their fees against the venue's, and the core's own sums.
// Owning thread, or after its end.
std::vector<std::string> check_conservation(const Matcher& matcher, const Ledger& ledger);

}  // namespace tickpath::sim

#include "sim/orders/ledger.hpp"

#include <bit>
#include <map>
#include <string>

#include <fmt/core.h>

#include "common/base/error.hpp"

namespace tickpath::sim {

Ledger::Ledger(std::uint32_t rows_max)
    : rows_max_(rows_max),
      mask_(std::bit_ceil(std::size_t{rows_max} * 2) - 1),
      rows_(std::make_unique<LedgerRow[]>(rows_max)),
      slots_(std::make_unique<std::uint32_t[]>(mask_ + 1)) {
  if (rows_max == 0) throw Error("ledger: at least one row must be allowed for");
}

std::size_t Ledger::slot_of(Party party, std::uint32_t locate) const noexcept {
  const std::uint64_t key =
      std::uint64_t{party.session} << 40 | std::uint64_t{party.strategy} << 32 | locate;
  std::size_t at = static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15ull) >> 32) & mask_;
  for (; slots_[at] != 0; at = (at + 1) & mask_) {
    const LedgerRow& row = rows_[slots_[at] - 1];
    if (row.party == party && row.locate == locate) break;
  }
  return at;
}

LedgerRow* Ledger::find(Party party, std::uint32_t locate) noexcept {
  const std::uint32_t row = slots_[slot_of(party, locate)];
  return row == 0 ? nullptr : &rows_[row - 1];
}

bool Ledger::reserve(Party party, std::uint32_t locate) noexcept {
  const std::size_t at = slot_of(party, locate);
  if (slots_[at] != 0) return true;
  if (used_ == rows_max_) return false;
  rows_[used_].party = party;
  rows_[used_].locate = locate;
  slots_[at] = ++used_;
  return true;
}

void Ledger::apply(const Report& report) noexcept {
  LedgerRow* row = find(report.party, report.locate);
  if (row == nullptr) return;  // refused for want of a row, or a change of an unknown order
  if (report.kind == ReportKind::kAccepted) ++row->accepted;
  if (report.kind == ReportKind::kRejected) ++row->rejected;
  if (report.kind != ReportKind::kFill) return;
  const std::int64_t sign = report.side == Side::kBuy ? 1 : -1;
  row->position_shares += sign * report.last_shares;
  row->cash = row->cash - Price{report.last_price} * (sign * std::int64_t{report.last_shares});
  (sign > 0 ? row->bought_shares : row->sold_shares) += report.last_shares;
  ++row->fills;
}

namespace {

class Findings {
 public:
  template <class A, class B>
  void equal(const A& a, const B& b, const std::string& what) {
    if (static_cast<std::int64_t>(a) != static_cast<std::int64_t>(b))
      lines_.push_back(fmt::format("{}: {} and {}", what, a, b));
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> check_conservation(const Matcher& matcher, const Ledger& ledger) {
  const MatcherCounters& c = matcher.counters();
  Findings findings;
  std::map<std::uint32_t, LedgerRow> by_instrument;
  LedgerRow all;
  for (const LedgerRow& row : ledger.rows()) {
    LedgerRow& sum = by_instrument[row.locate];
    sum.position_shares += row.position_shares;
    sum.cash = sum.cash + row.cash;
    all.fills += row.fills;
    all.bought_shares += row.bought_shares;
    all.sold_shares += row.sold_shares;
  }
  findings.equal(all.bought_shares, c.bought_from_recorded.get() + c.traded_live.get(),
                 "shares bought, and sold to buyers by the recording and by other orders");
  findings.equal(all.sold_shares, c.sold_to_recorded.get() + c.traded_live.get(),
                 "shares sold, and bought from sellers by the recording and by other orders");
  for (const auto& [locate, sum] : by_instrument) {
    if (locate >= book::kLocatesMax) continue;
    const RecordedAccount& other = matcher.recorded_account(static_cast<Locate>(locate));
    const std::string where = fmt::format(" of locate {}", locate);
    findings.equal(sum.position_shares, -other.position_shares,
                   "shares held, and what the recorded market is short" + where);
    findings.equal(sum.cash.value, -other.cash.value,
                   "cash held, and what the recorded market paid" + where);
  }
  findings.equal(c.taken.get(), c.taken_released.get() + matcher.taken_in_book(),
                 "recorded shares taken, and those released or still in the book");
  findings.equal(c.fills.get(), all.fills, "fills reported, and fills in the ledger");
  findings.equal(c.new_orders.get(), c.accepted.get() + c.rejected.get(),
                 "new orders, and those accepted or rejected");
  return findings.take();
}

}  // namespace tickpath::sim

#include "sim/orders/ledger.hpp"

#include <map>
#include <string>

#include <fmt/core.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/trading/position.hpp"

namespace tickpath::sim {

namespace {

// Never 0: that is no id of a map.
std::uint64_t key_of(Party party, std::uint32_t locate) noexcept {
  return std::uint64_t{1} << 63 | std::uint64_t{party.session} << 40 |
         std::uint64_t{party.strategy} << 32 | locate;
}

}  // namespace

Ledger::Ledger(std::uint32_t rows_max, const FeeSchedule& fees) : fees_(fees), index_(rows_max) {
  if (rows_max == 0) throw Error("ledger: at least one row must be allowed for");
  reserve_touched(rows_, rows_max);
}

bool Ledger::reserve(Party party, std::uint32_t locate) noexcept {
  const std::uint64_t key = key_of(party, locate);
  if (index_.find(key) != IdMap::kNone) return true;
  if (!index_.insert(key, static_cast<std::uint32_t>(rows_.size()))) return false;
  rows_.push_back({.party = party, .locate = locate});
  return true;
}

void Ledger::apply(const Report& report) noexcept {
  const std::uint32_t at = index_.find(key_of(report.party, report.locate));
  if (at == IdMap::kNone) {  // refused for want of a row, or a change of an unknown order
    if (report.kind == ReportKind::kRejected) ++rejected_without_row_;
    return;
  }
  LedgerRow* const row = &rows_[at];
  if (report.kind == ReportKind::kAccepted) ++row->accepted;
  if (report.kind == ReportKind::kRejected) ++row->rejected;
  if (report.kind != ReportKind::kFill) return;
  trading::apply_fill({report.side, report.last_shares, {report.last_price}}, row->position_shares,
                      row->cash, row->fills);
  row->fees = saturating_add(row->fees, fees_.of(report.liquidity, report.last_shares));
  (report.side == Side::kBuy ? row->bought_shares : row->sold_shares) += report.last_shares;
}

std::int64_t venue_fees(const Matcher& matcher, const FeeSchedule& fees) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kLiquidityCount; ++i)
    sum += fees.of(static_cast<Liquidity>(i), matcher.counters().traded_shares[i].get());
  return sum;
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
    sum.cash = saturating_add(sum.cash, row.cash);
    all.fees += row.fees;
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
    findings.equal(sum.cash, -other.cash, "cash held, and what the recorded market paid" + where);
  }
  findings.equal(
      all.fees, venue_fees(matcher, ledger.fees()),
      "fees paid by all parties, and what the venue has had from all trades, millionths");
  findings.equal(c.taken.get(), c.taken_released.get() + matcher.taken_in_book(),
                 "recorded shares taken, and those released or still in the book");
  findings.equal(c.fills.get(), all.fills, "fills reported, and fills in the ledger");
  findings.equal(c.received.get(), c.accepted.get() + c.rejected.get(),
                 "new orders, and those accepted or rejected");
  return findings.take();
}

}  // namespace tickpath::sim

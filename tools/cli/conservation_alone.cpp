// What a program's summary says, against the rest of it, and shards of a feed against each other.
#include <algorithm>
#include <set>

#include "tools/cli/conservation_parts.hpp"

namespace tickpath::cli {
namespace {

using control::PositionSummary;
using control::ProfitSummary;
using control::RequestFlow;
using control::RingFlow;
using control::StrategyFlow;
using control::Summary;
using Line = Conservation::Line;
__extension__ using Wide = __int128;  // shares times a price may not fit into 64 bits

Line equal(const std::string& rule, const Terms& left, const Terms& right) {
  const bool holds = sum(left) == sum(right);
  return {holds, rule, text_of(left) + (holds ? " = " : " is not ") + text_of(right)};
}

// Figures that the program does not keep (control/summary.hpp). One that is not 0 is an error of
// whoever wrote it; a summary may lack them.
Terms foreign_figures(const Summary& summary) {
  const bool sim = summary.program == "sim", mdh = summary.program == "mdh";
  const bool oeg = summary.program == "oeg", strategy = summary.program == "strategy";
  Terms terms;
  for (const auto& flow : {summary.orders, summary.changes}) {
    if (!flow) continue;
    if (sim) terms.insert(terms.end(), {flow->refused, flow->sent, flow->own, flow->lost});
    if (oeg) terms.push_back(flow->lost);
    if (strategy) terms.insert(terms.end(), {flow->received, flow->refused, flow->own});
  }
  if (summary.reports && sim)
    terms.insert(terms.end(), {summary.reports->received, summary.reports->dropped});
  if (summary.reports && strategy)
    terms.insert(terms.end(), {summary.reports->sent, summary.reports->dropped});
  if (strategy)
    for (const StrategyFlow& flow : summary.strategies) terms.push_back(flow.orders);
  if (mdh) terms.insert(terms.end(), {summary.open_orders, std::uint64_t{summary.has_positions}});
  if (!oeg) terms.push_back(std::uint64_t{summary.resumed});
  if (!mdh) terms.push_back(summary.feed_messages_missed);
  if (!mdh && !sim) terms.push_back(summary.feed_messages);
  // A writer's rings: it knows nothing of what readers found.
  for (const RingFlow& ring : mdh ? summary.ticks : oeg ? summary.events : std::vector<RingFlow>{})
    terms.insert(terms.end(), {ring.seen, ring.overrun});
  if (strategy)
    for (const PositionSummary& row : summary.positions)
      terms.push_back(static_cast<std::uint64_t>(row.fees));
  return terms;
}

void check_foreign_figures(const Summary& summary, std::vector<Line>& lines) {
  const Terms terms = foreign_figures(summary);
  const auto strange =
      std::ranges::count_if(terms, [](std::uint64_t figure) { return figure != 0; });
  if (!terms.empty())
    lines.push_back({strange == 0, summary.name + ": figures that it does not keep",
                     std::to_string(strange) + " of " + std::to_string(terms.size()) +
                         " are told all the same"});
}

// As risk/ledger.hpp has it. At cost nothing is unrealised, and what is flat has no mark.
bool follows(const ProfitSummary& profit, const PositionSummary& position) {
  if (position.shares == 0 && profit.mark_doubled != 0) return false;
  if (profit.mark_doubled == 0) return profit.unrealised == 0;
  const auto value = static_cast<Wide>(position.shares) * profit.mark_doubled / 2;
  return static_cast<Wide>(profit.realised) + profit.unrealised ==
         static_cast<Wide>(position.cash) + value - profit.fees;
}

// Paid in 1/1,000,000, counted in 1/10,000: a part of one counts as a whole one that was paid.
bool fees_follow(const ProfitSummary& profit, const PositionSummary& position) {
  return profit.fees == (position.fees > 0 ? (position.fees + 99) / 100 : position.fees / 100);
}

void check_profits(const Summary& summary, std::vector<Line>& lines) {
  std::size_t rows = 0, wrong = 0;
  std::string which;
  for (const ProfitSummary& profit : summary.profits) {
    if (profit.mark_doubled < 0) continue;
    ++rows;
    const auto position = std::ranges::find_if(summary.positions, [&](const auto& row) {
      return row.strategy_id == profit.strategy_id && row.symbol == profit.symbol;
    });
    if (position != summary.positions.end() && follows(profit, *position) &&
        fees_follow(profit, *position))
      continue;
    if (++wrong == 1)
      which = "; strategy " + std::to_string(profit.strategy_id) + " " + profit.symbol;
  }
  if (rows != 0)
    lines.push_back({wrong == 0,
                     "P&L of " + summary.name +
                         ": realised + unrealised = cash + shares x mark - "
                         "fees",
                     std::to_string(rows) + " rows, " + std::to_string(wrong) + " differ" + which});
}

// The orders of one life: what an oeg took up again is in its journal's sums, and in no strategy's.
void check_orders_of_strategies(const Summary& oeg, std::vector<Line>& lines) {
  if (!oeg.orders || oeg.resumed || oeg.details.contains("pair_epoch")) return;
  Terms orders;
  for (const StrategyFlow& flow : oeg.strategies) orders.push_back(flow.orders);
  if (!orders.empty())
    lines.push_back(equal("orders: received by " + oeg.name + " = from each strategy",
                          {oeg.orders->received}, orders));
}

void check_fills_of_rows(const Summary& sim, std::vector<Line>& lines) {
  if (!sim.reports || !sim.has_positions) return;
  Terms fills;
  for (const PositionSummary& row : sim.positions)
    if (row.fills != 0) fills.push_back(static_cast<std::uint64_t>(row.fills));
  if (fills.empty()) fills.push_back(0);
  lines.push_back({sim.reports->fills == sum(fills),
                   "fills: reported by " + sim.name + " = in its positions",
                   std::to_string(sim.reports->fills) + " and " + std::to_string(sum(fills))});
}

// Where it has one channel alone.
void check_id(const Summary& strategy, std::vector<Line>& lines) {
  if (!strategy.strategy_id || strategy.strategies.size() != 1) return;
  lines.push_back(equal(strategy.name + ": its id = that of its channel", {*strategy.strategy_id},
                        {strategy.strategies[0].strategy_id}));
}

}  // namespace

void check_alone(const Summary& summary, std::vector<Line>& lines) {
  check_foreign_figures(summary, lines);
  check_profits(summary, lines);
  if (summary.program == "oeg") check_orders_of_strategies(summary, lines);
  if (summary.program == "sim") check_fills_of_rows(summary, lines);
  if (summary.program == "strategy") check_id(summary, lines);
}

namespace {

// An oeg trades a shard whose books somebody keeps.
void check_shards_of_oegs(const std::vector<const Summary*>& mdhs,
                          const std::vector<const Summary*>& oegs, std::vector<Line>& lines) {
  for (const Summary* oeg : oegs) {
    const std::uint64_t shard = detail_of(*oeg, "shard");
    if (shard != 0 && std::ranges::none_of(mdhs, [&](const Summary* mdh) {
          return detail_of(*mdh, "shard") == shard;
        }))
      lines.push_back({false, oeg->name + ": shard " + std::to_string(shard) + " of the feed",
                       "no mdh has kept its books"});
  }
}

// One mdh of each shard that has heard the whole feed; empty: one shard has none, or hears other
// feeds.
std::vector<const Summary*> one_of_each_shard(const std::vector<const Summary*>& mdhs,
                                              std::uint64_t count, Conservation& result) {
  std::vector<const Summary*> each;
  for (std::uint64_t shard = 1; shard <= count; ++shard) {
    const auto found = std::ranges::find_if(
        mdhs, [&](const Summary* mdh) { return detail_of(*mdh, "shard") == shard; });
    if (found != mdhs.end()) {
      each.push_back(*found);
      continue;
    }
    result.lines.push_back(
        {false, "feed: shard " + std::to_string(shard) + "/" + std::to_string(count) + " of it",
         "no mdh has kept its books"});
    return {};
  }
  return each;
}

}  // namespace

void check_shards(const std::vector<const Summary*>& mdhs, const std::vector<const Summary*>& oegs,
                  Conservation& result) {
  std::set<std::uint64_t> counts;
  for (const Summary* mdh : mdhs)
    if (const std::uint64_t count = detail_of(*mdh, "shards"); count != 0) counts.insert(count);
  for (const Summary* mdh : mdhs)
    if (detail_of(*mdh, "shards") == 1)
      result.lines.push_back(equal("feed: messages that " + mdh->name + " left to other shards",
                                   {detail_of(*mdh, "other_shards")}, {0}));
  if (!counts.empty()) check_shards_of_oegs(mdhs, oegs, result.lines);
  if (counts.empty() || (counts.size() == 1 && counts.contains(1))) return;
  const std::uint64_t count = *counts.rbegin();
  const std::vector<const Summary*> each = one_of_each_shard(mdhs, count, result);
  if (each.empty() || std::ranges::any_of(each, [&](const Summary* mdh) {
        return mdh->feed_messages_missed != 0 || mdh->feed_messages != each[0]->feed_messages;
      }))
    return;
  const std::uint64_t of_all = detail_of(*each[0], "of_no_symbol");
  std::uint64_t taken = of_all;
  for (const Summary* mdh : each)
    taken += mdh->feed_messages - detail_of(*mdh, "other_shards") - detail_of(*mdh, "of_no_symbol");
  const std::uint64_t all = each[0]->feed_messages;
  result.lines.push_back({taken >= all, "feed: messages taken by all shards together = sent",
                          std::to_string(taken) + " of " + std::to_string(all)});
  // Before a message has named its symbol nobody knows whose it is.
  if (taken > all)
    result.notes.push_back("feed: " + std::to_string(taken - all) +
                           " messages were taken by more than one shard");
}

}  // namespace tickpath::cli

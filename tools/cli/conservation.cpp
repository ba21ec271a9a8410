#include "tools/cli/conservation.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using control::PositionSummary;
using control::ReportFlow;
using control::RequestFlow;
using control::RingFlow;
using control::StrategyFlow;
using control::Summary;

using Terms = std::vector<std::uint64_t>;

std::uint64_t sum(const Terms& terms) {
  return std::accumulate(terms.begin(), terms.end(), std::uint64_t{0});
}

template <class Numbers>
std::string text_of(const Numbers& terms) {
  std::string text;
  for (const auto term : terms) text += (text.empty() ? "" : " + ") + std::to_string(term);
  return text;
}

// Of one strategy in one instrument.
using Holder = std::pair<int, std::string>;
using Holding = std::pair<std::int64_t, std::int64_t>;  // shares, cash
using Book = std::map<Holder, Holding>;

Book book_of(const std::vector<const Summary*>& summaries) {
  Book book;
  for (const Summary* summary : summaries)
    for (const PositionSummary& row : summary->positions) {
      Holding& holding = book[{row.strategy_id, row.symbol}];
      holding.first += row.shares;
      holding.second += row.cash;
    }
  std::erase_if(book, [](const auto& entry) { return entry.second == Holding{0, 0}; });
  return book;
}

void add(RequestFlow& sum, const RequestFlow& flow) {
  sum.received += flow.received;
  sum.refused += flow.refused;
  sum.sent += flow.sent;
  sum.accepted += flow.accepted;
  sum.rejected += flow.rejected;
  sum.unanswered += flow.unanswered;
  sum.own += flow.own;
}
void add(ReportFlow& sum, const ReportFlow& flow) {
  sum.received += flow.received;
  sum.sent += flow.sent;
  sum.fills += flow.fills;
  sum.dropped += flow.dropped;
}
template <class Flow>
void add(std::optional<Flow>& sum, const std::optional<Flow>& flow) {
  if (flow && sum) add(*sum, *flow);
}
template <class Item>
void append(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Over all oegs where a venue's shards have one each.
std::map<int, StrategyFlow> by_strategy(const std::vector<StrategyFlow>& flows) {
  std::map<int, StrategyFlow> sums;
  for (const StrategyFlow& flow : flows) {
    sums[flow.strategy_id].requests += flow.requests;
    sums[flow.strategy_id].reports += flow.reports;
  }
  return sums;
}

// Several instances of one program, as if they were one.
Summary sum_of(const std::vector<const Summary*>& summaries) {
  Summary sum = *summaries.front();
  sum.name = sum.program;
  for (const Summary* each : std::span(summaries).subspan(1)) {
    add(sum.orders, each->orders);
    add(sum.changes, each->changes);
    add(sum.reports, each->reports);
    append(sum.strategies, each->strategies);
    append(sum.ticks, each->ticks);
    append(sum.events, each->events);
    sum.resumed = sum.resumed || each->resumed;
  }
  return sum;
}

class Checker {
 public:
  Checker(const std::vector<Summary>& summaries, const std::vector<std::string>& expected) {
    std::set<std::string> present;
    for (const Summary& summary : summaries) {
      // What a standby knows is the leader's.
      if (!summary.stood_by) by_program_[summary.program].push_back(&summary);
      present.insert(summary.name);
    }
    for (const std::string& name : expected)
      if (!present.contains(name)) {
        result_.missing.push_back(name);
        incomplete_.insert(program_of(name));
      }
  }

  Conservation run() {
    look_at_lives();
    requests("orders", &Summary::orders);
    requests("cancels, replacements", &Summary::changes);
    reports();
    channels();
    positions();
    rings("ticks", "mdh", &Summary::ticks, {"strategy", "risk", "oeg"});
    rings("drop copy", "oeg", &Summary::events, {"risk"});
    feed();
    crossed_books();
    return std::move(result_);
  }

 private:
  const std::vector<const Summary*>& all(const std::string& program) {
    return by_program_[program];
  }
  // All instances of it together; nullptr where there is none, or one left no summary.
  const Summary* one(const std::string& program) {
    if (!complete(program)) return nullptr;
    const auto& list = all(program);
    if (list.size() < 2) return list.empty() ? nullptr : list.front();
    return &sums_.try_emplace(program, sum_of(list)).first->second;
  }
  bool complete(const std::string& program) const { return !incomplete_.contains(program); }

  // Whether strategies' and oeg's counts are of the same time: neither was started again, nor was
  // a connection between them lost, and every strategy that oeg knew has left its summary.
  void look_at_lives() {
    const Summary* oeg = one("oeg");
    if (oeg == nullptr) return;
    std::set<int> told;
    for (const Summary* strategy : all("strategy"))
      for (const StrategyFlow& flow : strategy->strategies) {
        told.insert(flow.strategy_id);
        if (flow.connections > 1) connected_again(flow.strategy_id);
      }
    for (const StrategyFlow& flow : oeg->strategies) {
      if (flow.connections > 1) connected_again(flow.strategy_id);
      if (told.contains(flow.strategy_id) || !complete("strategy") || all("strategy").empty())
        continue;
      // Of a life that ended before oeg's began there is nothing but what the journal has.
      if (flow.connections == 0) continue;
      result_.missing.push_back("strategy id " + std::to_string(flow.strategy_id));
      incomplete_.insert("strategy");
    }
    if (oeg->resumed) result_.notes.push_back("oeg was started again and went on from its journal");
    one_life_ = result_.notes.empty();
    if (!one_life_)
      result_.notes.push_back(
          "what was sent, accepted and filled is therefore oeg's journal against sim; strategies "
          "against oeg by their newest connection, and by positions");
  }

  void connected_again(int strategy) {
    const std::string note =
        "strategy " + std::to_string(strategy) + " and oeg connected more than once";
    if (std::find(result_.notes.begin(), result_.notes.end(), note) == result_.notes.end())
      result_.notes.push_back(note);
  }

  void equal(const std::string& rule, const Terms& left, const Terms& right) {
    const bool holds = sum(left) == sum(right);
    result_.lines.push_back(
        {holds, rule, text_of(left) + (holds ? " = " : " is not ") + text_of(right)});
  }

  using Flow = std::optional<RequestFlow> Summary::*;

  void requests(const std::string& what, Flow flow) {
    Terms sent, accepted, rejected;
    for (const Summary* strategy : all("strategy")) {
      if (!(strategy->*flow)) continue;
      const RequestFlow& own = *(strategy->*flow);
      Terms answers{own.accepted, own.rejected};
      if (own.lost != 0) answers.push_back(own.lost);
      equal(what + ": sent by " + strategy->name + " = accepted + rejected" +
                (own.lost != 0 ? " + lost with oeg" : ""),
            {own.sent}, answers);
      sent.push_back(own.sent);
      accepted.push_back(own.accepted);
      rejected.push_back(own.rejected);
    }
    const Summary* oeg = one("oeg");
    const Summary* sim = one("sim");
    if (oeg != nullptr && oeg->*flow) {
      const RequestFlow& gate = *(oeg->*flow);
      if (one_life_ && complete("strategy") && !sent.empty()) {
        equal(what + ": sent by strategies = received by oeg", {sum(sent)}, {gate.received});
        equal(what + ": accepted, as strategies and oeg saw it", {sum(accepted)}, {gate.accepted});
        equal(what + ": rejected, as strategies saw it = by oeg's checks + by the venue",
              {sum(rejected)}, {gate.refused, gate.rejected});
      }
      equal(what + ": received by oeg = refused + sent on", {gate.received},
            {gate.refused, gate.sent});
      if (sim != nullptr && sim->*flow)
        equal(what + ": sent by oeg, with its own = received by sim", {gate.sent, gate.own},
              {(sim->*flow)->received});
    }
    if (sim != nullptr && sim->*flow) {
      const RequestFlow& venue = *(sim->*flow);
      equal(what + ": received by sim = accepted + rejected", {venue.received},
            {venue.accepted, venue.rejected});
    }
    unanswered(what, flow);
  }

  void unanswered(const std::string& what, Flow flow) {
    Terms open;
    for (const auto& [program, list] : by_program_)
      for (const Summary* summary : list)
        if (summary->*flow) open.push_back((summary->*flow)->unanswered);
    if (!open.empty()) equal(what + ": unanswered", {sum(open)}, {0});
  }

  void reports() {
    const Summary* oeg = one("oeg");
    const Summary* sim = one("sim");
    if (oeg == nullptr || !oeg->reports) return;
    if (sim != nullptr && sim->reports) {
      equal("reports: sent by sim = received by oeg", {sim->reports->sent},
            {oeg->reports->received});
      equal("fills: reported by sim = received by oeg", {sim->reports->fills},
            {oeg->reports->fills});
    }
    if (!one_life_ || !complete("strategy") || all("strategy").empty()) return;
    Terms received, fills;
    for (const Summary* strategy : all("strategy")) {
      if (!strategy->reports) continue;
      received.push_back(strategy->reports->received);
      fills.push_back(strategy->reports->fills);
    }
    equal("reports: sent by oeg = received by strategies", {oeg->reports->sent}, received);
    equal("reports: that found their strategy gone", {oeg->reports->dropped}, {0});
    equal("fills: received by oeg = received by strategies", {oeg->reports->fills}, fills);
  }

  // Every report reached the strategy that it was for, every request oeg.
  void channels() {
    const Summary* oeg = one("oeg");
    if (oeg == nullptr) return;
    std::map<int, StrategyFlow> gates = by_strategy(oeg->strategies);
    for (const Summary* strategy : all("strategy"))
      for (const auto& [id, own] : by_strategy(strategy->strategies)) {
        const StrategyFlow& gate = gates[id];
        const std::string which = "strategy " + std::to_string(id);
        equal("channel: requests sent by " + which + " = received by oeg", {own.requests},
              {gate.requests});
        equal("channel: reports sent to " + which + " = received by " + strategy->name,
              {gate.reports}, {own.reports});
      }
  }

  void positions() {
    std::vector<std::pair<std::string, Book>> books;
    for (const char* program : {"sim", "oeg", "risk", "strategy"}) {
      if (all(program).empty()) continue;
      const bool known = std::all_of(all(program).begin(), all(program).end(),
                                     [](const Summary* summary) { return summary->has_positions; });
      // Of strategies that left no summary nothing is known; the others must still agree.
      if (known && (std::string(program) != "strategy" || complete("strategy")))
        books.emplace_back(program, book_of(all(program)));
    }
    for (std::size_t i = 1; i < books.size(); ++i) compare(books[0], books[i]);
  }

  void compare(const std::pair<std::string, Book>& a, const std::pair<std::string, Book>& b) {
    result_.lines.push_back(
        compared("positions and cash: " + a.first + " = " + b.first, a.second, b.second));
  }

 public:
  static Conservation::Line compared(const std::string& rule, const Book& a, const Book& b) {
    std::set<Holder> holders;
    for (const auto& [holder, holding] : a) holders.insert(holder);
    for (const auto& [holder, holding] : b) holders.insert(holder);
    std::string differences;
    std::size_t count = 0;
    const auto get = [](const Book& book, const Holder& holder) {
      const auto found = book.find(holder);
      return found == book.end() ? Holding{} : found->second;
    };
    for (const Holder& holder : holders) {
      const Holding left = get(a, holder);
      const Holding right = get(b, holder);
      if (left == right) continue;
      // A person looks at the first few.
      if (++count <= 3)
        differences += "; strategy " + std::to_string(holder.first) + " " + holder.second + ": " +
                       holding_text(left) + " against " + holding_text(right);
    }
    return {count == 0, rule,
            std::to_string(holders.size()) + " positions, " + std::to_string(count) + " differ" +
                differences};
  }

 private:
  static std::string holding_text(const Holding& holding) {
    return std::to_string(holding.first) + " shares, cash " + std::to_string(holding.second);
  }

  using Flows = std::vector<RingFlow> Summary::*;

  // The writer's count for each reader against what that reader found.
  void rings(const std::string& what, const std::string& writer_program, Flows flows,
             const std::vector<std::string>& reader_programs) {
    const Summary* writer = one(writer_program);
    if (writer == nullptr) return;
    for (const std::string& program : reader_programs)
      for (const Summary* reader : all(program)) {
        if ((reader->*flows).empty()) continue;
        Terms published;
        for (const RingFlow& flow : writer->*flows)
          if (same_peer(flow.peer, reader->name)) published.push_back(flow.published);
        RingFlow seen;  // of a venue's shards it has a ring each
        for (const RingFlow& flow : reader->*flows) {
          seen.seen += flow.seen;
          seen.lapped += flow.lapped;
        }
        equal(what + ": published by " + writer->name + " to " + reader->name + " = seen + lapped",
              {sum(published)}, {seen.seen, seen.lapped});
      }
  }

  // A name travels in 16 bytes (wire::Hello).
  static bool same_peer(const std::string& told, const std::string& name) {
    constexpr std::size_t kNameBytes = 15;
    return told.substr(0, kNameBytes) == name.substr(0, kNameBytes);
  }

  void feed() {
    // Of several, which hears which is not in the summaries.
    if (all("sim").size() > 1)
      result_.notes.push_back("several sims: their feeds are not held against what mdh took");
    if (all("sim").size() != 1) return;
    for (const Summary* mdh : all("mdh"))
      equal("feed: messages sent by sim = taken by " + mdh->name + " + counted as missed",
            {all("sim").front()->feed_messages}, {mdh->feed_messages, mdh->feed_messages_missed});
  }

  void crossed_books() {
    for (const Summary* mdh : all("mdh")) {
      const auto times = mdh->details.find("book_crossed");
      if (times == mdh->details.end() || times->second == 0) continue;
      const auto ns = mdh->details.find("book_crossed_ns");
      result_.notes.push_back(
          formatted("%s: books were crossed %llu times, %.3f s of the feed's time in all: what was "
                    "replayed lacks something (tickpath inspect tells)",
                    mdh->name.c_str(), static_cast<unsigned long long>(times->second),
                    ns == mdh->details.end() ? 0.0 : static_cast<double>(ns->second) / 1e9));
    }
  }

  std::map<std::string, std::vector<const Summary*>> by_program_;
  std::map<std::string, Summary> sums_;
  std::set<std::string> incomplete_;
  bool one_life_ = true;
  Conservation result_;
};

// Several venues: each has books of its own, and a strategy's are of all.
class VenuesChecker {
 public:
  VenuesChecker(const std::vector<Summary>& summaries, const std::vector<std::string>& expected)
      : summaries_(summaries) {
    std::set<std::string> present;
    for (const Summary& summary : summaries) {
      present.insert(summary.name);
      sort_in(summary);
    }
    for (const std::string& name : expected)
      if (!present.contains(name)) result_.missing.push_back(name);
  }

  static bool concerns(const std::vector<Summary>& summaries) {
    return std::ranges::any_of(summaries, [&](const Summary& summary) {
      return summary.venues.size() > 1 || summary.venue != summaries.front().venue;
    });
  }

  Conservation run() {
    for (const auto& [venue, group] : groups_) one_venue(venue, group);
    for (const Summary& summary : summaries_)
      if (summary.program == "strategy" && summary.venues.size() > 1) sums(summary);
    all_positions();
    fees();
    return std::move(result_);
  }

 private:
  void sort_in(const Summary& summary) {
    for (const Summary& venue : summary.venues) {
      groups_[venue.venue].push_back(venue);
      // By one program at least; where they differ, as strategies name it.
      if (summary.program == "strategy" || !names_.contains(venue.venue))
        names_[venue.venue] = venue.venue_name;
    }
    if (!summary.venues.empty()) return;
    groups_[summary.venue].push_back(summary);
    if (summary.venue == 0)
      result_.lines.push_back({false, "venue of " + summary.name,
                               "its configuration says none, and other programs' do "
                               "(venue_number)"});
  }

  void one_venue(std::uint8_t number, const std::vector<Summary>& group) {
    std::vector<std::string> expected = result_.missing;
    for (const Summary& summary : group) expected.push_back(summary.name);
    const Conservation own = Checker(group, expected).run();
    const std::string given = names_.contains(number) ? names_.at(number) : std::string();
    const std::string where = (given.empty() ? "venue " + std::to_string(number) : given) + ": ";
    for (const Conservation::Line& line : own.lines)
      result_.lines.push_back({line.holds, where + line.rule, line.figures});
    for (const std::string& note : own.notes) result_.notes.push_back(where + note);
    for (const std::string& name : own.missing)
      if (std::ranges::find(result_.missing, name) == result_.missing.end())
        result_.missing.push_back(name);
  }

  // What it counted of all venues together, against what it counted of each.
  void sums(const Summary& strategy) {
    Terms orders, changes, reports, fills;
    for (const Summary& venue : strategy.venues) {
      orders.push_back(venue.orders ? venue.orders->sent : 0);
      changes.push_back(venue.changes ? venue.changes->sent : 0);
      reports.push_back(venue.reports ? venue.reports->received : 0);
      fills.push_back(venue.reports ? venue.reports->fills : 0);
    }
    const std::string by = " of " + strategy.name + " = of its venues";
    equal("orders" + by, strategy.orders ? strategy.orders->sent : 0, orders);
    equal("cancels, replacements" + by, strategy.changes ? strategy.changes->sent : 0, changes);
    equal("reports" + by, strategy.reports ? strategy.reports->received : 0, reports);
    equal("fills" + by, strategy.reports ? strategy.reports->fills : 0, fills);
  }
  void equal(const std::string& rule, std::uint64_t left, const Terms& right) {
    const bool holds = left == sum(right);
    result_.lines.push_back(
        {holds, rule, std::to_string(left) + (holds ? " = " : " is not ") + text_of(right)});
  }

  // A symbol is one, wherever it was traded.
  void all_positions() {
    if (!knows("strategy")) return;
    for (const char* program : {"oeg", "risk", "sim"})
      if (knows(program))
        result_.lines.push_back(
            Checker::compared(std::string("positions and cash by symbol: strategies = ") + program +
                                  "s of all venues",
                              book_of(all("strategy")), book_of(all(program))));
  }
  std::vector<const Summary*> all(const std::string& program) const {
    std::vector<const Summary*> found;
    for (const Summary& summary : summaries_)
      if (summary.program == program && !summary.stood_by) found.push_back(&summary);
    return found;
  }
  // What all of its instances together hold.
  bool knows(const std::string& program) const {
    const std::vector<const Summary*> found = all(program);
    return !found.empty() &&
           std::ranges::all_of(found, [](const Summary* each) { return each->has_positions; }) &&
           std::ranges::none_of(result_.missing, [&](const std::string& name) {
             return program_of(name) == program;
           });
  }

  // Cash is without them at every program: who paid what is in the sims' books alone.
  void fees() {
    std::vector<std::int64_t> paid, had;
    for (const Summary* sim : all("sim")) {
      paid.push_back(detail_sum(*sim, "fees_millionths.") -
                     detail_sum(*sim, "rebates_millionths."));
      had.push_back(detail_sum(*sim, "venue_fees_millionths") -
                    detail_sum(*sim, "venue_rebates_millionths"));
    }
    const auto none = [](const auto& all) {
      return std::ranges::all_of(all, [](std::int64_t each) { return each == 0; });
    };
    if (none(paid) && none(had)) return;
    std::string figures = text_of(paid) + (paid == had ? " = " : " is not ") + text_of(had);
    result_.lines.push_back({paid == had,
                             "fees, in millionths: paid by all parties = had by the venues",
                             std::move(figures)});
  }
  // Of all whose name begins so.
  static std::int64_t detail_sum(const Summary& summary, const std::string& begin) {
    std::uint64_t sum = 0;
    for (auto at = summary.details.lower_bound(begin);
         at != summary.details.end() && at->first.starts_with(begin); ++at)
      sum += at->second;
    return static_cast<std::int64_t>(sum);
  }

  const std::vector<Summary>& summaries_;
  std::map<std::uint8_t, std::vector<Summary>> groups_;  // by the venue's number
  std::map<std::uint8_t, std::string> names_;
  Conservation result_;
};

// `sentence` behind `head`, in lines of at most 80 columns, each below where the first one began.
std::string paragraph(const std::string& head, const std::string& sentence) {
  std::istringstream stream(sentence);
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  return wrapped(words, 80, head.size(), 1).replace(0, head.size(), head);
}

}  // namespace

bool Conservation::holds() const noexcept {
  return missing.empty() && !lines.empty() &&
         std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.holds; });
}

std::string Conservation::problem() const {
  if (holds()) return {};
  if (!std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.holds; }))
    return "conservation is broken";
  if (missing.empty()) return "conservation is not shown: nothing to check";
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  return "conservation is not shown: no summary of " + names;
}

Conservation check_conservation(const std::vector<Summary>& summaries,
                                const std::vector<std::string>& expected) {
  if (VenuesChecker::concerns(summaries)) return VenuesChecker(summaries, expected).run();
  return Checker(summaries, expected).run();
}

std::string to_text(const Conservation& conservation) {
  std::string text = "conservation\n";
  for (const auto& line : conservation.lines)
    text += paragraph(line.holds ? "  ok      " : "  BROKEN  ", line.rule + ": " + line.figures);
  for (const std::string& note : conservation.notes) text += paragraph("  note    ", note);
  for (const std::string& name : conservation.missing)
    text += paragraph("  MISSING ", name + " left no summary; what needs it was not checked");
  return text + (conservation.holds() ? "  everything is accounted for\n"
                                      : "  NOT everything is accounted for\n");
}

}  // namespace tickpath::cli

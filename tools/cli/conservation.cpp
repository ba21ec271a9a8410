#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "tools/cli/conservation_parts.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using control::ReportFlow;
using control::RequestFlow;
using control::RingFlow;
using control::StrategyFlow;
using control::Summary;

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

// What a program counts in Summary::details when something found no place in its books.
struct Loss {
  const char* program;
  const char* detail;
  bool ends_verdict;  // else doubt is cast on the run, and its accounts may fit all the same
  const char* what;
};
constexpr Loss kLosses[] = {
    {"oeg", "exceptions_open", true,
     "reports of the venue that nobody has looked at (tickpath exceptions)"},
    {"oeg", "exceptions_unlisted", true, "reports of the venue that were to be listed and are not"},
    {"oeg", "journal_lost", true, "changes that found the journal full"},
    {"sim", "recording_damage", true, "damaged places of the recording, behind which none is read"},
    {"sim", "conservation_broken", true, "sums of its ledger that do not hold"},
    {"oeg", "texts_lost", false, "reasons that the venue gave found no room in their list"},
    {"sim", "bad_messages", false,
     "messages of the recording were refused by its books (tickpath inspect tells)"},
    {"mdh", "book_refused", false,
     "messages were refused by its books: they name orders that it does not have, or there was no "
     "room (book.orders_max)"},
    {"mdh", "malformed_messages", false, "messages of the feed were malformed"},
    {"mdh", "bad_symbols", false, "messages of the feed named a symbol that is none"},
};

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
    open_orders();
    positions();
    fees();
    rings("ticks", "mdh", &Summary::ticks, {"strategy", "risk", "oeg"});
    rings("drop copy", "oeg", &Summary::events, {"risk"});
    feed();
    losses();
    crossed_books();
    for (const auto& [program, list] : by_program_)
      for (const Summary* summary : list) check_alone(*summary, result_.lines);
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
      // A life that ended before oeg's began has left nothing but what the journal has.
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
      Terms answered{own.accepted, own.rejected};
      if (own.lost != 0) answered.push_back(own.lost);
      equal(what + ": sent by " + strategy->name + " = accepted + rejected" +
                (own.lost != 0 ? " + lost with oeg" : ""),
            {own.sent}, answered);
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
      if (sim != nullptr && sim->*flow) {
        equal(what + ": sent by oeg, with its own = received by sim", {gate.sent, gate.own},
              {(sim->*flow)->received});
        answers(what, gate, *(sim->*flow));
      }
    }
    if (sim != nullptr && sim->*flow) {
      const RequestFlow& venue = *(sim->*flow);
      equal(what + ": received by sim = accepted + rejected", {venue.received},
            {venue.accepted, venue.rejected});
    }
    unanswered(what, flow);
  }

  // Each kind by itself: an order that lives at the venue may not be one that oeg believes
  // rejected. How the venue answered oeg's own cancels stands in neither of its figures.
  void answers(const std::string& what, const RequestFlow& gate, const RequestFlow& venue) {
    const auto compare = [&](const char* kind, std::uint64_t seen, std::uint64_t given) {
      const std::string rule = what + ": " + kind + " by sim = as oeg saw it";
      if (gate.own == 0) return equal(rule, {given}, {seen});
      const bool holds = seen <= given && given - seen <= gate.own;
      result_.lines.push_back({holds, rule + ", but for its own",
                               std::to_string(given) + (holds ? " is " : " is not ") +
                                   std::to_string(seen) + " and at most " +
                                   std::to_string(gate.own)});
    };
    compare("accepted", gate.accepted, venue.accepted);
    compare("rejected", gate.rejected, venue.rejected);
  }

  void unanswered(const std::string& what, Flow flow) {
    Terms open;
    std::string names;
    for (const auto& [program, list] : by_program_)
      for (const Summary* summary : list) {
        if (!(summary->*flow)) continue;
        open.push_back((summary->*flow)->unanswered);
        if (open.back() != 0) names += (names.empty() ? " at " : ", ") + summary->name;
      }
    if (!open.empty()) equal(what + ": unanswered" + names, {sum(open)}, {0});
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
    equal("reports: that found their strategy gone, at oeg", {oeg->reports->dropped}, {0});
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
        equal("channel: reports sent by oeg to " + which + " = received by " + strategy->name,
              {gate.reports}, {own.reports});
      }
  }

  // What rests at the venue is what everybody believes to rest there.
  void open_orders() {
    std::vector<std::pair<std::string, Terms>> counts;
    for (const char* program : {"sim", "oeg", "risk", "strategy"}) {
      if (all(program).empty() || !complete(program) || !knows_orders(program)) continue;
      Terms& open = counts.emplace_back(program, Terms{}).second;
      for (const Summary* summary : all(program)) open.push_back(summary->open_orders);
    }
    for (std::size_t i = 1; i < counts.size(); ++i)
      equal("open orders: " + counts[0].first + " = " + counts[i].first, counts[0].second,
            counts[i].second);
  }

  // A risk that was overrun by events has forgotten the orders that were open by then.
  bool knows_orders(const std::string& program) {
    return program != "risk" || std::ranges::all_of(all(program), [](const Summary* risk) {
             return std::ranges::all_of(risk->events,
                                        [](const RingFlow& ring) { return ring.overrun == 0; });
           });
  }

  void positions() {
    std::vector<std::pair<std::string, Book>> books;
    for (const char* program : {"sim", "oeg", "risk", "strategy"}) {
      if (all(program).empty()) continue;
      const bool known = std::all_of(all(program).begin(), all(program).end(),
                                     [](const Summary* summary) { return summary->has_positions; });
      // Nothing is known of strategies that left no summary; the others must still agree.
      if (known && (std::string(program) != "strategy" || complete("strategy")))
        books.emplace_back(program, book_of(all(program)));
    }
    for (std::size_t i = 1; i < books.size(); ++i) compare(books[0], books[i]);
    holders_without_books();
  }

  // Where anybody has positions all have some: a book that is not there can be held against none.
  void holders_without_books() {
    std::vector<const Summary*> with, without;
    for (const char* program : {"sim", "oeg", "risk", "strategy"})
      for (const Summary* summary : all(program))
        (summary->has_positions ? with : without).push_back(summary);
    if (with.empty()) return;
    for (const Summary* summary : without)
      result_.lines.push_back({false, "positions and cash of " + summary->name, "it tells none"});
  }

  void compare(const std::pair<std::string, Book>& a, const std::pair<std::string, Book>& b) {
    result_.lines.push_back(
        compared("positions and cash: " + a.first + " = " + b.first, a.second, b.second));
  }

  // Where there are any. Cash is without them everywhere.
  void fees() {
    std::vector<std::pair<std::string, std::int64_t>> sums;
    for (const char* program : {"sim", "oeg", "risk"}) {
      if (all(program).empty() || !complete(program)) continue;
      std::int64_t& sum = sums.emplace_back(program, 0).second;
      for (const Summary* summary : all(program))
        for (const control::PositionSummary& row : summary->positions) sum += row.fees;
    }
    if (std::ranges::all_of(sums, [](const auto& each) { return each.second == 0; })) return;
    for (std::size_t i = 1; i < sums.size(); ++i)
      result_.lines.push_back(
          {sums[0].second == sums[i].second,
           "fees, in millionths: " + sums[0].first + " = " + sums[i].first,
           std::to_string(sums[0].second) + " and " + std::to_string(sums[i].second)});
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
          seen.overrun += flow.overrun;
        }
        equal(what + ": published by " + writer->name + " to " + reader->name + " = seen + overrun",
              {sum(published)}, {seen.seen, seen.overrun});
      }
  }

  // A name travels in 16 bytes (wire::Hello).
  static bool same_peer(const std::string& told, const std::string& name) {
    constexpr std::size_t kNameBytes = 15;
    return told.substr(0, kNameBytes) == name.substr(0, kNameBytes);
  }

  void feed() {
    // Which mdh hears which of several sims is not in the summaries.
    if (all("sim").size() > 1)
      result_.notes.push_back("several sims: their feeds are not held against what mdh took");
    if (all("sim").size() != 1) return;
    for (const Summary* mdh : all("mdh"))
      equal("feed: messages sent by sim = taken by " + mdh->name + " + counted as missed",
            {all("sim").front()->feed_messages}, {mdh->feed_messages, mdh->feed_messages_missed});
    if (complete("mdh")) check_shards(all("mdh"), all("oeg"), result_);
  }

  // What was counted as lost: it ends the verdict, or is said beside it.
  void losses() {
    for (const Loss& loss : kLosses)
      for (const Summary* summary : all(loss.program)) {
        const std::uint64_t count = detail_of(*summary, loss.detail);
        if (loss.ends_verdict && summary->details.contains(loss.detail))
          equal(summary->name + ": " + loss.what, {count}, {0});
        if (!loss.ends_verdict && count != 0)
          result_.notes.push_back(summary->name + ": " + std::to_string(count) + " " + loss.what);
      }
  }

  void crossed_books() {
    for (const Summary* mdh : all("mdh")) {
      const std::uint64_t times = detail_of(*mdh, "book_crossed");
      if (times == 0 && detail_of(*mdh, "book_crossed_ns") == 0) continue;
      result_.notes.push_back(
          formatted("%s: books were crossed %llu times, %.3f s of the feed's time in all: what was "
                    "replayed lacks something (tickpath inspect tells)",
                    mdh->name.c_str(), static_cast<unsigned long long>(times),
                    static_cast<double>(detail_of(*mdh, "book_crossed_ns")) / 1e9));
    }
  }

  std::map<std::string, std::vector<const Summary*>> by_program_;
  std::map<std::string, Summary> sums_;
  std::set<std::string> incomplete_;
  bool one_life_ = true;
  Conservation result_;
};

// `sentence` behind `head`, in lines of at most 80 columns, each below where the first one began.
std::string paragraph(const std::string& head, const std::string& sentence) {
  std::istringstream stream(sentence);
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  return wrapped(words, 80, head.size(), 1).replace(0, head.size(), head);
}

}  // namespace

Conservation check_venue(const std::vector<Summary>& summaries,
                         const std::vector<std::string>& expected) {
  return Checker(summaries, expected).run();
}

bool Conservation::holds() const noexcept {
  return missing.empty() && !lines.empty() &&
         std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.holds; });
}

std::string Conservation::problem() const {
  if (holds()) return {};
  for (const Line& line : lines)
    if (!line.holds) return "conservation is broken: " + line.rule + ": " + line.figures;
  if (missing.empty()) return "conservation is not shown: nothing to check";
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  return "conservation is not shown: no summary of " + names;
}

Conservation check_conservation(const std::vector<Summary>& summaries,
                                const std::vector<std::string>& expected) {
  return are_of_several_venues(summaries) ? check_venues(summaries, expected)
                                          : check_venue(summaries, expected);
}

std::string to_text(const Conservation& conservation) {
  std::string text = "conservation\n";
  for (const auto& line : conservation.lines)
    text += paragraph(line.holds ? "  ok      " : "  BROKEN  ", line.rule + ": " + line.figures);
  for (const std::string& note : conservation.notes) text += paragraph("  note    ", note);
  for (const std::string& name : conservation.missing) {
    const auto running = conservation.running.find(name);
    const std::string why = running == conservation.running.end()
                                ? " left no summary"
                                : " still runs (process " + std::to_string(running->second) + ")";
    text += paragraph("  MISSING ", name + why + "; what needs it was not checked");
  }
  return text + (conservation.holds() ? "  everything is accounted for\n"
                                      : "  NOT everything is accounted for\n");
}

}  // namespace tickpath::cli

// Conservation over several venues.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tools/cli/conservation_parts.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

using control::Summary;

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

  Conservation run() {
    for (const auto& [venue, group] : groups_) one_venue(venue, group);
    for (const Summary& summary : summaries_) {
      if (summary.venues.size() < 2) continue;
      if (summary.program == "strategy") sums(summary);
      if (summary.program == "risk" && !summary.stood_by) profits(summary);
    }
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
    const Conservation own = check_venue(group, expected);
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
    const auto compare = [&](const std::string& what, const auto& count) {
      Terms terms;
      for (const Summary& venue : strategy.venues) terms.push_back(count(venue));
      equal(what + " of " + strategy.name + " = of its venues", count(strategy), terms);
    };
    flows("orders", &Summary::orders, compare);
    flows("cancels, replacements", &Summary::changes, compare);
    compare("reports", [](const Summary& s) { return s.reports ? s.reports->received : 0; });
    compare("fills", [](const Summary& s) { return s.reports ? s.reports->fills : 0; });
    compare("open orders", [](const Summary& s) { return s.open_orders; });
  }
  template <class Compare>
  void flows(const std::string& what, std::optional<control::RequestFlow> Summary::*flow,
             const Compare& compare) {
    const auto kind = [&](const std::string& name, std::uint64_t control::RequestFlow::*count) {
      compare(name, [&](const Summary& s) { return s.*flow ? (*(s.*flow)).*count : 0; });
    };
    kind(what, &control::RequestFlow::sent);
    kind(what + " accepted", &control::RequestFlow::accepted);
    kind(what + " rejected", &control::RequestFlow::rejected);
    kind(what + " lost with oeg", &control::RequestFlow::lost);
    kind(what + " unanswered", &control::RequestFlow::unanswered);
  }

  void profits(const Summary& risk) {
    std::int64_t realised = 0, unrealised = 0;
    for (const Summary& venue : risk.venues)
      for (const control::ProfitSummary& row : venue.profits)
        realised += row.realised, unrealised += row.unrealised;
    const std::string figures = "realised " + std::to_string(realised) + ", unrealised " +
                                std::to_string(unrealised) + " at its venues";
    for (const control::ProfitSummary& row : risk.profits)
      realised -= row.realised, unrealised -= row.unrealised;
    result_.lines.push_back(
        {realised == 0 && unrealised == 0, "P&L of " + risk.name + " = of its venues", figures});
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
            compared(std::string("positions and cash by symbol: strategies = ") + program +
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
  // The sum of all details whose name begins so.
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

}  // namespace

bool are_of_several_venues(const std::vector<Summary>& summaries) {
  return std::ranges::any_of(summaries, [&](const Summary& summary) {
    return summary.venues.size() > 1 || summary.venue != summaries.front().venue;
  });
}

Conservation check_venues(const std::vector<Summary>& summaries,
                          const std::vector<std::string>& expected) {
  return VenuesChecker(summaries, expected).run();
}

}  // namespace tickpath::cli

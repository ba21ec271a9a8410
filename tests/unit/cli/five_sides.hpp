// A run whose summaries fit, for the tests of conservation to damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/conservation.hpp"

namespace tickpath::cli {

inline const std::vector<std::string> kAll{"sim", "mdh", "oeg", "risk", "strategy"};

inline control::RequestFlow flow(std::uint64_t received, std::uint64_t refused, std::uint64_t sent,
                                 std::uint64_t accepted, std::uint64_t rejected) {
  return {received, refused, sent, accepted, rejected, 0};
}

// With the lines that go on below put behind those that they belong to.
inline std::string in_one_line(std::string text) {
  const std::string below = "\n          ";
  for (std::size_t at = 0; (at = text.find(below, at)) != std::string::npos;)
    text.replace(at, below.size(), " ");
  return text;
}

// A run in which everything fits: 10 orders, of which oeg refused 2 and the venue 1; 4 cancels.
struct FiveSides {
  control::Summary sim, mdh, oeg, risk, strategy;

  FiveSides() {
    const auto named = [](control::Summary& summary, const char* name) {
      summary.program = summary.name = name;
    };
    named(sim, "sim"), named(mdh, "mdh"), named(oeg, "oeg"), named(risk, "risk");
    named(strategy, "strategy");
    strategy.strategy_id = 1;
    strategy.orders = flow(0, 0, 10, 7, 3);
    oeg.orders = flow(10, 2, 8, 7, 1);
    sim.orders = flow(8, 0, 0, 7, 1);
    strategy.changes = flow(0, 0, 4, 3, 1);
    oeg.changes = flow(4, 0, 4, 3, 1);
    sim.changes = flow(4, 0, 0, 3, 1);
    sim.reports = control::ReportFlow{0, 20, 5, 0};
    oeg.reports = control::ReportFlow{20, 22, 5, 0};
    strategy.reports = control::ReportFlow{22, 0, 5, 0};
    oeg.strategies = {{1, 1, 14, 22, 10}};
    strategy.strategies = {{1, 1, 14, 22}};
    for (control::Summary* summary : {&sim, &oeg, &risk, &strategy}) {
      summary->has_positions = true;
      summary->positions = {{1, "AAPL", 100, -5000, 3}, {1, "MSFT", 0, 70, 2}};
    }
    sim.positions.push_back({1, "IBM", 0, 0, 0});  // nothing ever happened
    mdh.ticks = {{"strategy", 1000, 0, 0}, {"risk", 900, 0, 0}, {"oeg", 950, 0, 0}};
    strategy.ticks = {{"", 1000, 990, 10}};
    risk.ticks = {{"", 0, 900, 0}};
    oeg.ticks = {{"", 950, 150, 800}};
    oeg.events = {{"risk", 50, 0, 0}};
    risk.events = {{"", 0, 50, 0}};
    sim.feed_messages = 1000;
    mdh.feed_messages = 998;
    mdh.feed_messages_missed = 2;
  }
  Conservation check(const std::vector<std::string>& expected = kAll) const {
    return check_conservation({sim, mdh, oeg, risk, strategy}, expected);
  }
};

}  // namespace tickpath::cli

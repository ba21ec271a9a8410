// The conservation check: what every program of a run says it did must fit what the others say
// (control/summary.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/control/summary.hpp"

namespace tickpath::cli {

struct Conservation {
  struct Line {
    bool holds = false;
    std::string rule;     // "orders: sent by strategies = accepted + rejected"
    std::string figures;  // "1203 = 1180 + 23"
  };
  std::vector<Line> lines;
  // Programs that left no summary: what needs them is not checked, and conservation not shown.
  std::vector<std::string> missing;
  std::map<std::string, int> running;  // the processes of those that run still
  // What was checked otherwise than in a run without restarts, and why; and what is no matter of
  // accounts, yet casts doubt on the run. One line each.
  std::vector<std::string> notes;

  bool holds() const noexcept;
  // What to call a run that does not hold: broken, or not (wholly) checked. Empty if it holds.
  std::string problem() const;
};

// expected: instance names of all programs of the run. Where several mdh's and oegs share a venue's
// symbols (shards), what is said of mdh and oeg is said of the sums over them. Where they are of
// several venues (Summary::venue) each has its lines, and what strategies hold is compared over all
// of them, too, with what oegs, risks and sims do.
Conservation check_conservation(const std::vector<control::Summary>& summaries,
                                const std::vector<std::string>& expected);

// One line a rule, then the verdict.
std::string to_text(const Conservation& conservation);

// <run_dir>/<name>.summary.json of each name that has one. Throws Error for one that is broken.
std::vector<control::Summary> read_summaries(const std::string& run_dir,
                                             const std::vector<std::string>& names);
// All that were left in the directories of one pipeline's hosts. Throws as well SystemError.
std::vector<control::Summary> read_summaries(const std::vector<std::string>& run_dirs);

// Summary::problems of all: for each a new line, indented, with its program's name.
std::string problem_lines(const std::vector<control::Summary>& summaries);
// The instances that left a summary there. Throws SystemError.
std::vector<std::string> instances_in(const std::string& run_dir);

// Each program's side of one venue's books, where it is of several; all of it where it is of that
// one.
std::vector<control::Summary> of_venue(const std::vector<control::Summary>& summaries,
                                       std::uint8_t venue);

// At each venue, and shard of one: of a pair of oegs the one counts that led last, though the other
// one led at its own end; of the risks of one oeg, or one pair, the one that was active last. The
// others stood by then (Summary::stood_by), and what they hold is left out. Each read_summaries()
// does it.
void settle_pairs(std::vector<control::Summary>& summaries);

}  // namespace tickpath::cli

#include "tools/cli/audit.hpp"

#include <algorithm>
#include <filesystem>

#include "common/base/error.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/audit_sources.hpp"
#include "tools/cli/conservation_parts.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_hosts.hpp"

namespace tickpath::cli {
namespace {

using control::RunDirectory;
using control::Summary;

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// A program removes its summary when it starts, and leaves its pid file when it ends.
void add_those_that_ran(const std::string& run_dir, std::vector<std::string>& names) {
  for (const std::string& name : RunDirectory::names(run_dir))
    if (is_known_program(program_of(name)) && !is_listed(names, name)) names.push_back(name);
}

// 0: it has ended.
int process_of(const std::vector<std::string>& run_dirs, const std::string& name) {
  for (const std::string& run_dir : run_dirs)
    if (const int process = RunDirectory::holder(run_dir, name); process != 0) return process;
  return 0;
}

// Where one of two that stand by for each other has left its summary, it speaks for both.
class Successors {
 public:
  explicit Successors(const Remains& remains) : remains_(remains) {}

  // Why nothing of `name` is missed; empty: it is.
  std::string excuse(const std::string& name) const {
    if (program_of(name) == "oeg" && is_paired(name) && paired() <= 2 * leaders())
      return name + " left no summary: the other one of its pair led last, and has its books";
    if (program_of(name) == "risk" && every_gateway_has_a_risk())
      return name + " left no summary: another risk was active last, and has its books";
    return {};
  }

 private:
  // oeg's memory of who leads (oeg/pair_memory.hpp).
  bool is_paired(const std::string& name) const {
    return std::ranges::any_of(remains_.run_dirs, [&](const std::string& run_dir) {
      return std::filesystem::exists(run_dir + "/" + name + ".pair");
    });
  }
  std::ptrdiff_t paired() const {
    return std::ranges::count_if(remains_.expected,
                                 [&](const std::string& name) { return is_paired(name); });
  }
  std::ptrdiff_t leaders() const {
    return std::ranges::count_if(remains_.summaries, [](const Summary& each) {
      return each.program == "oeg" && !each.stood_by && each.details.contains("pair_epoch");
    });
  }
  bool has_summary(const std::string& name) const {
    return std::ranges::any_of(remains_.summaries, [&](const Summary& each) {
      return each.name == name && !each.stood_by;
    });
  }
  bool every_gateway_has_a_risk() const {
    bool any = false;
    for (const Summary& oeg : remains_.summaries) {
      if (oeg.program != "oeg" || oeg.stood_by) continue;
      any = true;
      if (std::ranges::none_of(
              oeg.events, [&](const control::RingFlow& ring) { return has_summary(ring.peer); }))
        return false;
    }
    return any;
  }

  const Remains& remains_;
};

// What a program counted into, against what it says of it.
class Sources {
 public:
  Sources(const Remains& remains, Conservation& result) : remains_(remains), result_(result) {}

  void check() {
    for (const Summary& summary : remains_.summaries) {
      if (summary.stood_by) continue;
      // A program of an older version does not say what to expect.
      if (summary.program == "oeg" && summary.details.contains("journal_records")) journal(summary);
      if (summary.program == "sim" && summary.details.contains("ledger_rows")) ledger(summary);
    }
  }

 private:
  // A journal without room lacks records, and that is a line already (journal_lost).
  void journal(const Summary& oeg) {
    if (detail_of(oeg, "journal_lost") != 0) return;
    if (is_elsewhere(oeg.name))
      return result_.notes.push_back("the journal of " + oeg.name +
                                     " is on its host: its summary is not held against that");
    const std::string path = file_of(oeg.name, ".journal", oeg.journal);
    if (path.empty()) return missing(oeg.name, "order journal");
    add(journal_lines(path, file_of(oeg.name, ".exceptions", oeg.exceptions), oeg));
  }
  void ledger(const Summary& sim) {
    const std::string path = file_of(sim.name, ".ledger.json");
    if (path.empty()) return missing(sim.name, "ledger");
    add(ledger_lines(path, sim));
    if (remains_.with_recordings) result_.lines.push_back(recording_line(path, sim));
  }

  // In one of the directories, else where the configuration had it; empty: in neither.
  std::string file_of(const std::string& name, const char* ending,
                      const std::string& configured = {}) const {
    for (const std::string& run_dir : remains_.run_dirs)
      if (const std::string path = run_dir + "/" + name + ending; std::filesystem::exists(path))
        return path;
    return std::filesystem::exists(configured) ? configured : std::string();
  }
  // The program runs, or ran, on another host, which has its files. One of its name here is of a
  // former run.
  bool is_elsewhere(const std::string& name) const {
    return std::ranges::any_of(remains_.run_dirs, [&](const std::string& run_dir) {
      return is_remote(run_dir, name) || std::filesystem::exists(run_dir + "/" + name + kRanOn);
    });
  }
  void missing(const std::string& name, const std::string& what) {
    result_.lines.push_back({false, name + ": its " + what, "is not there"});
  }
  void add(const std::vector<Conservation::Line>& lines) {
    result_.lines.insert(result_.lines.end(), lines.begin(), lines.end());
  }

  const Remains& remains_;
  Conservation& result_;
};

}  // namespace

Remains remains_of(const std::vector<std::string>& run_dirs) {
  Remains remains;
  remains.run_dirs = run_dirs;
  for (const std::string& run_dir : run_dirs) {
    const std::vector<std::string> told = instances_in(run_dir);
    if (told.empty()) throw Error("no program left a summary in '" + run_dir + "'");
    for (const std::string& name : told) {
      if (is_listed(remains.expected, name))
        throw Error("'" + name + "' left a summary in more than one of the run directories");
      remains.expected.push_back(name);
    }
  }
  for (const std::string& run_dir : run_dirs) add_those_that_ran(run_dir, remains.expected);
  remains.summaries = read_summaries(run_dirs);
  return remains;
}

Remains remains_of(const std::string& run_dir, const std::vector<std::string>& names, bool whole) {
  Remains remains{{run_dir}, read_summaries(run_dir, names), names};
  if (whole) add_those_that_ran(run_dir, remains.expected);
  return remains;
}

Conservation audit(const Remains& remains) {
  std::vector<std::string> expected = remains.expected;
  std::vector<std::string> excuses;
  const Successors successors(remains);
  std::erase_if(expected, [&](const std::string& name) {
    const bool told = std::ranges::any_of(remains.summaries,
                                          [&](const Summary& each) { return each.name == name; });
    const std::string excuse = told ? "" : successors.excuse(name);
    if (!excuse.empty()) excuses.push_back(excuse);
    return !excuse.empty();
  });
  Conservation conservation = check_conservation(remains.summaries, expected);
  Sources(remains, conservation).check();
  for (const std::string& excuse : excuses) conservation.notes.push_back(excuse);
  for (const std::string& name : conservation.missing)
    if (const int process = process_of(remains.run_dirs, name); process != 0)
      conservation.running[name] = process;
  return conservation;
}

}  // namespace tickpath::cli

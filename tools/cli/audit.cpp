#include "tools/cli/audit.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

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

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename(); }

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
    read_sessions();
    for (const Summary& summary : remains_.summaries) {
      if (summary.stood_by) continue;
      // A program of an older version does not say what to expect.
      if (summary.program == "oeg" && summary.details.contains("journal_records")) journal(summary);
      if (summary.program == "sim" && summary.details.contains("ledger_rows")) ledger(summary);
      files(summary);
    }
  }

 private:
  // A journal without room lacks records, and that is a line already (journal_lost).
  void journal(const Summary& oeg) {
    if (detail_of(oeg, "journal_lost") != 0) return;
    if (is_elsewhere(remains_, oeg.name))
      return result_.notes.push_back("the journal of " + oeg.name +
                                     " is on its host: its summary is not held against that");
    const std::string path = file_of(oeg.name, ".journal", oeg.journal);
    if (path.empty()) return missing(oeg.name, "order journal");
    const SessionMessages* const own = session_of(oeg);
    const SessionMessages* const venue = own == nullptr ? nullptr : other_side(sessions_, *own);
    add(journal_lines(path, file_of(oeg.name, ".exceptions", oeg.exceptions), oeg, own, venue));
    if (own == nullptr) return;
    add(session_lines(oeg.name, *own, venue));
    if (venue == nullptr && has_exchange(oeg))
      missing(oeg.name, "exchange's side of the FIX session");
  }

  // What both sides of each session have sent.
  void read_sessions() {
    std::set<std::string> paths;
    for (const std::string& run_dir : remains_.run_dirs)
      for (const auto& entry : std::filesystem::directory_iterator(run_dir))
        if (entry.path().extension() == kStore) paths.insert(entry.path());
    for (const Summary& summary : remains_.summaries)
      for (const std::string& file : summary.files)
        if (file.ends_with(kStore) && !is_elsewhere(remains_, summary.name))
          if (const std::string path = found_in(remains_, file); !path.empty()) paths.insert(path);
    for (const std::string& path : paths) try {
        sessions_.push_back(std::make_unique<SessionMessages>(path));
      } catch (const Error& error) {
        result_.lines.push_back(
            {false, name_in(path) + ": its FIX store can be read", error.what()});
      }
  }
  // The one that its summary names.
  const SessionMessages* session_of(const Summary& oeg) const {
    for (const auto& session : sessions_)
      if (is_left_by(oeg, *session)) return session.get();
    return nullptr;
  }
  static bool is_left_by(const Summary& summary, const SessionMessages& session) {
    return std::ranges::any_of(summary.files, [&](const std::string& file) {
      return file_name(session.path()) == file_name(file);
    });
  }
  // An exchange of ours was at the other end, and has its stores here.
  bool has_exchange(const Summary& oeg) const {
    return std::ranges::any_of(remains_.summaries, [&](const Summary& sim) {
      return sim.program == "sim" && sim.venue == oeg.venue && !is_elsewhere(remains_, sim.name) &&
             std::ranges::any_of(sim.files,
                                 [](const std::string& file) { return file.ends_with(kStore); });
    });
  }
  void files(const Summary& summary) {
    if (summary.files.empty() || is_elsewhere(remains_, summary.name)) return;
    std::string gone;
    for (const std::string& file : summary.files) {
      if (!found_in(remains_, file).empty()) continue;
      if (file.ends_with(kTrace))
        result_.notes.push_back(summary.name + ": its trace " + file + " is not there");
      else
        gone += "; " + file + " is not there";
    }
    result_.lines.push_back({gone.empty(), summary.name + ": files that it says it has left",
                             std::to_string(summary.files.size()) + gone});
  }
  // "sim" of .../sim.TICKPATH.fixstore.
  static std::string name_in(const std::string& path) {
    const std::string file = file_name(path);
    return file.substr(0, file.find('.'));
  }
  void ledger(const Summary& sim) {
    const std::string path = file_of(sim.name, ".ledger.json");
    if (path.empty()) return missing(sim.name, "ledger");
    std::set<std::string> sessions;
    for (const auto& session : sessions_)
      if (is_left_by(sim, *session)) sessions.insert(session->target());
    add(ledger_lines(path, sim, sessions));
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
  void missing(const std::string& name, const std::string& what) {
    result_.lines.push_back({false, name + ": its " + what, "is not there"});
  }
  void add(const std::vector<Conservation::Line>& lines) {
    result_.lines.insert(result_.lines.end(), lines.begin(), lines.end());
  }

  static constexpr const char* kStore = ".fixstore";
  static constexpr const char* kTrace = ".trace";

  const Remains& remains_;
  Conservation& result_;
  std::vector<std::unique_ptr<SessionMessages>> sessions_;
};

// What stood by is left out: somebody must have led, or been active.
void check_leaders(const Remains& remains, Conservation& result) {
  std::set<std::string> stood_by, active;
  for (const Summary& summary : remains.summaries)
    (summary.stood_by ? stood_by : active).insert(summary.program);
  for (const std::string& program : stood_by) {
    const bool missing = std::ranges::any_of(
        result.missing, [&](const std::string& name) { return program_of(name) == program; });
    if (program != "oeg" && program != "risk")
      result.lines.push_back({false, program + ": it stood by", "nothing does in its place"});
    else if (remains.whole && !active.contains(program) && !missing)
      result.lines.push_back({false, program + ": every one stood by at its end", "none led"});
  }
}

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
  Remains remains{.run_dirs = {run_dir},
                  .summaries = read_summaries(run_dir, names),
                  .expected = names,
                  .whole = whole};
  if (whole) add_those_that_ran(run_dir, remains.expected);
  return remains;
}

std::string found_in(const Remains& remains, const std::string& file) {
  if (file.empty()) return {};
  for (const std::string& run_dir : remains.run_dirs)
    if (const std::string path = run_dir + "/" + file_name(file); std::filesystem::exists(path))
      return path;
  return std::filesystem::exists(file) ? file : std::string();
}

bool is_elsewhere(const Remains& remains, const std::string& name) {
  return std::ranges::any_of(remains.run_dirs, [&](const std::string& run_dir) {
    return is_remote(run_dir, name) || std::filesystem::exists(run_dir + "/" + name + kRanOn);
  });
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
  check_leaders(remains, conservation);
  Sources(remains, conservation).check();
  for (const std::string& excuse : excuses) conservation.notes.push_back(excuse);
  for (const std::string& name : conservation.missing)
    if (const int process = process_of(remains.run_dirs, name); process != 0)
      conservation.running[name] = process;
  return conservation;
}

}  // namespace tickpath::cli

#include "tools/history/run_files.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/base/utc.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tools/history/trace_source.hpp"

namespace tickpath::history {
namespace {

namespace fs = std::filesystem;
using control::Json;

// A program of the run, as what it left, or its answer, says.
struct Member {
  std::string name;
  std::string program;  // "sim", "mdh", ...; empty: only its journal was found
  std::uint8_t venue = 0;
  std::string recording;  // of a sim
  std::uint64_t messages = 0;
  std::string stock;
  std::optional<KnownDigest> digest;
  std::string journal;                           // of an oeg
  std::optional<std::uint64_t> journal_records;  // as its summary says
  bool running = false;
};

Json read_json(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw SystemError("cannot read " + path.string(), errno);
  try {
    return Json::parse(in);
  } catch (const Json::exception& error) {
    throw Error(path.string() + " is damaged: " + error.what());
  }
}

bool is_of_a_venue(const Member& member) {
  return member.program == "sim" || member.program == "mdh" || member.program == "oeg";
}

// "1 (mdh-1, oeg-1, sim-1), 2 (mdh-2, ...)"
std::string list(const std::map<unsigned, std::set<std::string>>& venues) {
  std::string text;
  for (const auto& [number, names] : venues) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " (";
    for (const std::string& name : names) text += (name == *names.begin() ? "" : ", ") + name;
    text += ")";
  }
  return text;
}

class Finder {
 public:
  Finder(const std::vector<std::string>& run_dirs, const RunPart& part)
      : run_dirs_(run_dirs), part_(part) {}

  RunFiles run() {
    control::LongNames::Pairs names;
    for (const std::string& run_dir : run_dirs_) {
      if (!fs::is_directory(run_dir)) throw Error("there is no run directory " + run_dir);
      ask_programs(run_dir);
      look_into(run_dir);
      for (const auto& pair : control::LongNames::read(run_dir).pairs()) names.push_back(pair);
    }
    files_.names = control::LongNames(names);
    choose_venue();
    if (part_.recording) choose_recording();
    choose_journal();
    return std::move(files_);
  }

 private:
  Member& member(const std::string& run_dir, const std::string& name) {
    Member& found = members_[{run_dir, name}];
    found.name = name;
    return found;
  }

  // A program that runs is asked what it is, and whether it replays.
  void ask_programs(const std::string& run_dir) {
    for (const std::string& name : control::RunDirectory::names(run_dir)) {
      if (control::RunDirectory::holder(run_dir, name) == 0) continue;
      files_.going_on = true;
      member(run_dir, name).running = true;
      Json status;
      try {
        status =
            control::admin_command(control::admin_path(run_dir, name), {{"command", "status"}});
      } catch (const Error&) {
        files_.silent.push_back(name);  // it begins, or is about to end
        continue;
      }
      Member& asked = member(run_dir, name);
      asked.program = status.value("program", "");
      asked.venue = status.value("venue_number", std::uint8_t{0});
      if (!status.contains("replay")) continue;
      asked.recording = status.at("replay").value("file", "");
      asked.messages = status.at("replay").value("messages_sent", std::uint64_t{0});
    }
  }

  void look_into(const std::string& run_dir) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(run_dir)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    for (const fs::path& path : paths) {
      const std::string file = path.filename();
      if (file.ends_with(".trace"))
        take_trace(run_dir, path);
      else if (file.ends_with(".summary.json"))
        take_summary(run_dir, path);
      else if (file.ends_with(".journal"))
        member(run_dir, path.stem()).journal = path;
    }
  }

  // A program that ended has left its summary, a sim its ledger as well.
  void take_summary(const std::string& run_dir, const fs::path& path) {
    const Json summary = read_json(path);
    const std::string name = path.stem().stem();
    Member& ended = member(run_dir, name);
    if (!ended.program.empty() && !ended.recording.empty()) return;  // it runs again
    ended.program = summary.value("program", "");
    ended.venue = summary.value("venue", std::uint8_t{0});
    take_journal_records(summary, ended);
    const fs::path ledger = run_dir + "/" + name + ".ledger.json";
    if (!fs::exists(ledger)) return;
    const Json said = read_json(ledger);
    ended.recording = said.value("recording", "");
    ended.stock = said.value("recording_stock", "");
    ended.digest = known_digest(said.value("recording_messages", std::uint64_t{0}),
                                said.value("recording_digest", ""), name + " replayed");
    ended.messages = summary.value("feed_messages", std::uint64_t{0});
  }

  // Where the journal had no room for all records (journal_lost), the two differ with reason.
  static void take_journal_records(const Json& summary, Member& oeg) {
    const Json details = summary.value("details", Json::object());
    if (oeg.running || details.value("journal_lost", std::uint64_t{0}) != 0) return;
    if (details.contains("journal_records"))
      oeg.journal_records = details.at("journal_records").get<std::uint64_t>();
  }

  void take_trace(const std::string& run_dir, const fs::path& path) {
    files_.traces.emplace_back(path);
    files_.trace_names.push_back(path.stem());
    const auto& header = files_.traces.back().header();
    const std::string program(header.program, ::strnlen(header.program, sizeof(header.program)));
    Member& traced = member(run_dir, path.stem());
    if (!traced.program.empty()) return;
    traced.program = program.substr(0, program.find_first_of("-."));
    traced.venue = static_cast<std::uint8_t>(header.venue);
  }

  void choose_venue() {
    std::map<unsigned, std::set<std::string>> venues;
    for (const auto& [at, each] : members_)
      if (each.venue != 0 && is_of_a_venue(each)) venues[each.venue].insert(each.name);
    files_.of_several = venues.size() > 1;
    if (part_.venue && !venues.contains(*part_.venue))
      throw Error(formatted("--venue %u: no program of that venue is in ", unsigned{*part_.venue}) +
                  run_dirs_.front() + (venues.empty() ? "" : "; there are " + list(venues)));
    if (!part_.venue && files_.of_several)
      throw Error("the run in " + run_dirs_.front() + " is of several venues, " + list(venues) +
                  ": load each as a run of its own (--venue NUMBER)");
    if (!venues.empty())
      files_.venue = part_.venue.value_or(static_cast<std::uint8_t>(venues.begin()->first));
    for (const trace::TraceFile& file : files_.traces)
      if (std::string_view(file.header().program).starts_with("sim") && files_.of_part(file))
        files_.started_ns = started_ns(file);
  }

  bool of_part(const Member& each) const {
    return each.venue == files_.venue || (each.venue == 0 && !files_.of_several);
  }

  void choose_recording() {
    const Member* sim = nullptr;
    for (const auto& [at, each] : members_) {
      if (each.recording.empty() || !of_part(each)) continue;
      if (sim != nullptr)
        throw Error("both " + sim->name + " and " + each.name + " in " + run_dirs_.front() +
                    " have replayed a recording: name the run's with --recording");
      sim = &each;
    }
    if (sim == nullptr) return;
    files_.recording = sim->recording;
    files_.messages = sim->messages;
    files_.stock = sim->stock;
    files_.digest = sim->digest;
  }

  // That of part_.oeg; else of the only one, else of the one that is called oeg.
  void choose_journal() {
    std::vector<const Member*> there;
    for (const auto& [at, each] : members_)
      if (!each.journal.empty() && (of_part(each) || each.name == part_.oeg))
        there.push_back(&each);
    const std::string wanted = part_.oeg.empty() && there.size() > 1 ? "oeg" : part_.oeg;
    const Member* chosen = wanted.empty() && !there.empty() ? there.front() : nullptr;
    for (const Member* each : there) {
      if (each->name != wanted) continue;
      if (chosen != nullptr)
        throw Error("both " + chosen->journal + " and " + each->journal +
                    " are there: one oeg a run");
      chosen = each;
    }
    if (chosen == nullptr && !there.empty()) refuse_choice(there);
    if (chosen == nullptr) return;
    if (!of_part(*chosen))
      throw Error(formatted("%s is of venue %u, and venue %u is loaded", chosen->name.c_str(),
                            unsigned{chosen->venue}, unsigned{files_.venue}));
    files_.journal = chosen->journal;
    files_.journal_records = chosen->journal_records;
    for (const Member* each : there)
      if (each != chosen) files_.journals.push_back(each->journal);
  }

  [[noreturn]] void refuse_choice(const std::vector<const Member*>& there) const {
    std::string names;
    for (const Member* each : there) names += (names.empty() ? "" : ", ") + each->name;
    throw Error((part_.oeg.empty() ? "several oegs have left a journal in "
                                   : "no journal of " + part_.oeg + " is in ") +
                run_dirs_.front() + ": name one of " + names + " (--oeg)");
  }

  const std::vector<std::string>& run_dirs_;
  const RunPart& part_;
  RunFiles files_;
  std::map<std::pair<std::string, std::string>, Member> members_;  // by directory and name
};

}  // namespace

RunFiles find_run_files(const std::vector<std::string>& run_dirs, const RunPart& part) {
  return Finder(run_dirs, part).run();
}

std::string default_name(const std::string& run_dir, std::int64_t started_ns, std::uint8_t venue) {
  fs::path path = fs::weakly_canonical(run_dir);
  if (!path.has_filename()) path = path.parent_path();  // of "demo/"
  const std::string name = path.filename().string() + "@" + utc_text_ns(started_ns, 3);
  return venue == 0 ? name : name + "#" + std::to_string(venue);
}

}  // namespace tickpath::history

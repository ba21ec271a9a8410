#include "tools/history/run_files.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tools/history/trace_source.hpp"

namespace tickpath::history {
namespace {

namespace fs = std::filesystem;
using control::Json;

Json read_json(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw SystemError("cannot read " + path.string(), errno);
  try {
    return Json::parse(in);
  } catch (const Json::exception& error) {
    throw Error(path.string() + " is damaged: " + error.what());
  }
}

// A program that runs is asked whether it replays.
void ask_programs(const std::string& run_dir, RunFiles& files) {
  for (const std::string& name : control::RunDirectory::names(run_dir)) {
    if (control::RunDirectory::holder(run_dir, name) == 0) continue;
    files.going_on = true;
    Json status;
    try {
      status = control::admin_command(control::admin_path(run_dir, name), {{"command", "status"}});
    } catch (const Error&) {
      files.silent.push_back(name);  // it begins, or is about to end
      continue;
    }
    if (!status.contains("replay")) continue;
    files.recording = status.at("replay").value("file", "");
    files.messages = status.at("replay").value("messages_sent", std::uint64_t{0});
  }
}

// A sim that ended has left its ledger and its summary.
void look_for_ledger(const std::string& run_dir, RunFiles& files) {
  const std::string ending = ".ledger.json";
  for (const auto& entry : fs::directory_iterator(run_dir)) {
    const std::string path = entry.path();
    if (!path.ends_with(ending) || !files.recording.empty()) continue;
    const std::string summary = path.substr(0, path.size() - ending.size()) + ".summary.json";
    files.recording = read_json(path).value("recording", "");
    files.messages = read_json(summary).value("feed_messages", std::uint64_t{0});
  }
}

void open_traces(const std::string& run_dir, RunFiles& files) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(run_dir))
    if (entry.path().extension() == ".trace") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    files.traces.emplace_back(path);
    files.trace_names.push_back(path.stem());
    const trace::TraceFile& file = files.traces.back();
    const char* const program = file.header().program;
    if (std::string(program, ::strnlen(program, sizeof(file.header().program))).starts_with("sim"))
      files.started_ns = started_ns(file);
  }
}

}  // namespace

RunFiles find_run_files(const std::vector<std::string>& run_dirs, const std::string& oeg) {
  RunFiles files;
  control::LongNames::Pairs names;
  for (const std::string& run_dir : run_dirs) {
    if (!fs::is_directory(run_dir)) throw Error("there is no run directory " + run_dir);
    ask_programs(run_dir, files);
    look_for_ledger(run_dir, files);
    open_traces(run_dir, files);
    for (const auto& pair : control::LongNames::read(run_dir).pairs()) names.push_back(pair);
    const std::string journal = run_dir + "/" + oeg + ".journal";
    if (!fs::exists(journal)) continue;
    if (!files.journal.empty())
      throw Error("both " + files.journal + " and " + journal + " are there: one oeg a run");
    files.journal = journal;
  }
  files.names = control::LongNames(names);
  return files;
}

std::string default_name(const std::string& run_dir, std::int64_t started_ns) {
  const std::time_t seconds = started_ns / 1'000'000'000;
  std::tm day{};
  ::gmtime_r(&seconds, &day);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &day);
  fs::path path = fs::weakly_canonical(run_dir);
  if (!path.has_filename()) path = path.parent_path();  // of "demo/"
  return formatted("%s@%s.%03dZ", path.filename().c_str(), text,
                   static_cast<int>(started_ns / 1'000'000 % 1'000));
}

}  // namespace tickpath::history

#include "tools/watch/watch.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/utc.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/run_dir_check.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

std::string run_dir_checked(std::string run_dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(run_dir, error))
    throw Error("there is no run directory '" + run_dir +
                "': name it with --run-dir, or start a pipeline (tickpath up)");
  return run_dir;
}

void sort_by_start(Json& statuses) {
  std::stable_sort(statuses.begin(), statuses.end(), [](const Json& a, const Json& b) {
    return cli::start_rank(a.value("program", "")) < cli::start_rank(b.value("program", ""));
  });
}

}  // namespace

Watch::Watch(std::string run_dir)
    : run_dir_(run_dir_checked(std::move(run_dir))), hops_(run_dir_) {}

// A directory that was removed meanwhile, or closed to us, is no reason to end.
void Watch::find_statuses() {
  found_.before = std::exchange(found_.statuses, Json::array());
  problem_.clear();
  try {
    found_.statuses = cli::status_of_all(run_dir_);
    sort_by_start(found_.statuses);
  } catch (const Error& error) {
    problem_ = error.what();
  }
}

bool Watch::look() {
  find_statuses();
  for (const Json& status : found_.statuses) seen_.insert(status.value("name", "?"));
  find_gone();
  find_positions();
  find_hops();
  view_ = view_of(found_);
  view_["run_dir"] = run_dir_;
  view_["window_s"] = static_cast<double>(hops_.options().window_ns) * 1e-9;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  view_["time_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  view_["utc"] = utc_text(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  if (found_.statuses.empty())
    view_["nothing_runs"] = problem_.empty() ? cli::nothing_runs(run_dir_) : problem_;
  return !found_.statuses.empty();
}

// Where some run on, one that has ended is missed.
void Watch::find_gone() {
  found_.gone = Json::array();
  if (found_.statuses.empty()) return;
  for (const std::string& name : seen_)
    if (status_named(found_.statuses, name).is_null()) found_.gone.push_back(name);
}

void Watch::find_positions() {
  found_.positions = Json::array();
  found_.position_rows = 0;
  for (const Json& status : found_.statuses) {
    if (status.value("program", "") != "oeg" || cli::stands_by(status)) continue;
    const std::string name = status.value("name", "");
    try {
      const Json answer = control::admin_command(control::admin_path(run_dir_, name),
                                                 {{"command", "positions"}}, cli::kStatusMs);
      found_.position_rows += answer.value("rows", std::uint64_t{0});
      for (Json row : list_at(answer, "positions")) {
        row["oeg"] = name;
        found_.positions.push_back(std::move(row));
      }
    } catch (const Error&) {  // its status says so, too
    }
  }
}

void Watch::find_hops() {
  hops_.look();
  found_.hops = Json::array();
  for (const auto& [pair, latencies] : hops_.latencies()) {
    const LatencyHistogram& window = latencies.window;
    if (window.count() == 0) continue;
    Json row = {{"from", std::string(trace::info(pair.first).name)},
                {"to", std::string(trace::info(pair.second).name)},
                {"order", pair == kTickToOrder ? 0 : trace::place(pair.second)},
                {"headline", pair == kTickToOrder},
                {"count", window.count()},
                {"p50_ns", window.percentile_ns(50)},
                {"p99_ns", window.percentile_ns(99)},
                {"max_ns", window.max_ns()}};
    found_.hops.push_back(std::move(row));
  }
  std::stable_sort(found_.hops.begin(), found_.hops.end(), [](const Json& a, const Json& b) {
    return a.value("order", 0) < b.value("order", 0);
  });
  found_.no_hops = !found_.hops.empty() ? ""
                   : hops_.files() == 0 ? "no trace files of this host here (trace.enabled)"
                                        : "no message passed in the last seconds";
}

}  // namespace tickpath::watch

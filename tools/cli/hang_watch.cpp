#include "tools/cli/hang_watch.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

int holder_of(const std::string& run_dir, const std::string& name) {
  try {
    return control::RunDirectory::holder(run_dir, name);
  } catch (const Error&) {
    return 0;
  }
}

std::string seconds(std::int64_t ns) { return std::to_string(ns / 1'000'000'000) + " s"; }

}  // namespace

std::vector<std::string> HangWatch::look() {
  constexpr std::int64_t kBetweenNs = 500'000'000;
  std::vector<std::string> news;
  const std::int64_t now_ns = clock::monotonic_ns();
  if (now_ns < next_ns_) return news;
  next_ns_ = now_ns + kBetweenNs;
  for (const std::string& name : names_) {
    const control::Json status = try_status(run_dir_, name, kGlanceMs);
    see(name, status, holder_of(run_dir_, name), clock::monotonic_ns(), news);
  }
  return news;
}

void HangWatch::see(const std::string& name, const control::Json& status, int process,
                    std::int64_t now_ns, std::vector<std::string>& news) {
  const bool answered = status.is_object();
  if (answered) look_for_hang(name, status, news);
  if (process == 0) return;  // it ends, or has not begun
  Life& life = lives_[name];
  if (process != life.process) {
    const bool again = life.process != 0;
    life = {};
    life.process = process;
    life.again = again;
    life.since_ns = now_ns;
  }
  look_for_silence(name, life, answered, now_ns, news);
  if (life.again) look_for_ready(name, life, status, now_ns, news);
}

void HangWatch::look_for_hang(const std::string& name, const control::Json& status,
                              std::vector<std::string>& news) {
  const bool hangs = status.value("state", "") == "hanging";
  if (hangs == hanging_.contains(name)) return;
  if (hangs) {
    const std::string line = name + ": " + status.value("not_ready_reason", "it hangs");
    hanging_[name] = line;
    problems_.push_back(line);
    news.push_back(line);
  } else {
    hanging_.erase(name);
    news.push_back(name + " goes on");
  }
}

// A program that has just begun, or is about to end, gives no answer either.
void HangWatch::look_for_silence(const std::string& name, Life& life, bool answered,
                                 std::int64_t now_ns, std::vector<std::string>& news) {
  if (answered) {
    life.answered_ns = now_ns;
    if (std::exchange(life.silent, false)) news.push_back(name + " answers again");
    return;
  }
  if (life.answered_ns == 0 || life.silent || now_ns - life.answered_ns < kSilentNs) return;
  life.silent = true;
  news.push_back(name + ": its control thread has given no answer for " +
                 seconds(now_ns - life.answered_ns) + " (process " + std::to_string(life.process) +
                 " lives)");
}

void HangWatch::look_for_ready(const std::string& name, Life& life, const control::Json& status,
                               std::int64_t now_ns, std::vector<std::string>& news) {
  const std::string state = status.is_object() ? status.value("state", "") : "";
  if (state == "ready") {
    life.again = false;
    news.push_back(name + " is ready again (process " + std::to_string(life.process) + ")");
    return;
  }
  if (life.late || now_ns - life.since_ns < kLateNs) return;
  life.late = true;
  const std::string reason = status.is_object() ? status.value("not_ready_reason", "") : "";
  news.push_back(name + " was started again, and is not ready after " +
                 seconds(now_ns - life.since_ns) + (reason.empty() ? "" : ": " + reason));
}

}  // namespace tickpath::cli

#include "tools/cli/hang_watch.hpp"

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {

std::vector<std::string> HangWatch::look() {
  constexpr std::int64_t kBetweenNs = 500'000'000;
  std::vector<std::string> news;
  const std::int64_t now_ns = clock::monotonic_ns();
  if (now_ns < next_ns_) return news;
  next_ns_ = now_ns + kBetweenNs;
  for (const std::string& name : names_) {
    const control::Json status = try_status(run_dir_, name, kGlanceMs);
    if (!status.is_object()) continue;  // it ends, or has not begun
    const bool hangs = status.value("state", "") == "hanging";
    if (hangs == hanging_.contains(name)) continue;
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
  return news;
}

}  // namespace tickpath::cli

// A thread that looks at a pipeline, so that whoever shows it never waits for a program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tools/watch/watch.hpp"

namespace tickpath::watch {

// What one look found; never changed afterwards.
struct Snapshot {
  std::uint64_t number = 0;  // 1, 2, ...
  bool running = false;      // any program
  control::Json view;
  control::Json statuses;
  std::map<HopPair, RecentHops::Latencies> latencies;
  std::uint64_t cut_short = 0;  // RecentHops::cut_short()
  double took_s = 0;
  double cpu_s = 0;  // processor time of all looks so far
};

class Lookout {
 public:
  // on_new: called on the thread that looks, after each look. Throws as Watch.
  Lookout(const std::string& run_dir, std::chrono::milliseconds interval,
          std::function<void()> on_new);
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  // Any thread. nullptr before the first look.
  std::shared_ptr<const Snapshot> newest() const;

 private:
  void run();
  void look();

  Watch watch_;
  std::chrono::milliseconds interval_;
  std::function<void()> on_new_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::shared_ptr<const Snapshot> newest_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace tickpath::watch

// Programs that live and do nothing, and those that were started again: `up` asks each now and
// then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/control/json.hpp"

namespace tickpath::cli {

class HangWatch {
 public:
  // A control thread that is busy for less is no news.
  static constexpr std::int64_t kSilentNs = 3'000'000'000;
  // A program that was started again, and is not ready by then, is news.
  static constexpr std::int64_t kLateNs = 10'000'000'000;

  HangWatch(std::string run_dir, std::vector<std::string> names)
      : run_dir_(std::move(run_dir)), names_(std::move(names)) {}

  // Asks every program, at most twice a second. What is new, a line each: "strategy: the datapath
  // thread hangs in plugin momentum (strategy 1) in book_change". One that goes on is told, too.
  std::vector<std::string> look();
  // One look at one program. status: its answer, null where there was none. process: who holds its
  // name, 0 where nobody is seen to.
  void see(const std::string& name, const control::Json& status, int process, std::int64_t now_ns,
           std::vector<std::string>& news);
  // Every hang so far. That a control thread gave no answer for a while is news alone: its
  // datapath may trade all the same.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  // A program from its start to its end.
  struct Life {
    int process = 0;
    bool again = false;  // not its first, and nothing was said of it yet
    bool late = false;   // and that was said
    bool silent = false;
    std::int64_t since_ns = 0;
    std::int64_t answered_ns = 0;  // the last time; 0: not yet
  };

  void look_for_hang(const std::string& name, const control::Json& status,
                     std::vector<std::string>& news);
  void look_for_silence(const std::string& name, Life& life, bool answered, std::int64_t now_ns,
                        std::vector<std::string>& news);
  void look_for_ready(const std::string& name, Life& life, const control::Json& status,
                      std::int64_t now_ns, std::vector<std::string>& news);

  std::string run_dir_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> hanging_;  // by name: where
  std::map<std::string, Life> lives_;           // by name
  std::vector<std::string> problems_;
  std::int64_t next_ns_ = 0;
};

}  // namespace tickpath::cli

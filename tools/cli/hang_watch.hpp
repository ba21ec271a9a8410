// Programs that live and do nothing: `up` asks each now and then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tickpath::cli {

class HangWatch {
 public:
  HangWatch(std::string run_dir, std::vector<std::string> names)
      : run_dir_(std::move(run_dir)), names_(std::move(names)) {}

  // Asks every program, at most twice a second. What is new, a line each: "strategy: the datapath
  // thread hangs in plugin momentum (strategy 1) in book_change". One that goes on is told, too.
  std::vector<std::string> look();
  // Every hang so far.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::string run_dir_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> hanging_;  // by name: where
  std::vector<std::string> problems_;
  std::int64_t next_ns_ = 0;
};

}  // namespace tickpath::cli

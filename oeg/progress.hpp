// How long somebody who has work to do has not got on with it.
#pragma once

#include <cstdint>

namespace tickpath::oeg {

class Progress {
 public:
  void restart(std::uint64_t now_ns) noexcept { *this = {0, now_ns}; }
  // done: of what there is to do, so much; it only grows. all: nothing is left.
  void see(std::uint64_t done, bool all, std::uint64_t now_ns) noexcept {
    if (done != done_ || all) *this = {done, now_ns};
  }
  std::uint64_t idle_ns(std::uint64_t now_ns) const noexcept { return now_ns - since_ns_; }

  Progress() noexcept = default;

 private:
  Progress(std::uint64_t done, std::uint64_t now_ns) noexcept : done_(done), since_ns_(now_ns) {}

  std::uint64_t done_ = 0;
  std::uint64_t since_ns_ = 0;
};

}  // namespace tickpath::oeg

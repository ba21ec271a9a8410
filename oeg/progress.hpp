// How long somebody who has work to do has not got on with it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tickpath::oeg {

class Progress {
 public:
  // One look adds at most so much: a looker that slept has seen nothing of that time.
  explicit Progress(std::uint64_t step_max_ns) noexcept : step_max_ns_(step_max_ns) {}

  void restart(std::uint64_t now_ns) noexcept {
    done_ = idle_ns_ = 0;
    looked_ns_ = now_ns;
  }
  // A look. done: of what there is to do, so much; it only grows. all: nothing is left.
  void see(std::uint64_t done, bool all, std::uint64_t now_ns) noexcept {
    const std::uint64_t step_ns = std::min(now_ns - looked_ns_, step_max_ns_);
    idle_ns_ = done != done_ || all ? 0 : idle_ns_ + step_ns;
    done_ = done;
    looked_ns_ = now_ns;
  }
  // As of the last look.
  std::uint64_t idle_ns() const noexcept { return idle_ns_; }

 private:
  const std::uint64_t step_max_ns_;
  std::uint64_t done_ = 0;
  std::uint64_t idle_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace tickpath::oeg

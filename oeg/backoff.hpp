// Pauses between tries that fail: each twice the last one, up to a bound, none of a round length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace tickpath::oeg {

class Backoff {
 public:
  Backoff(std::int64_t first_ns, std::int64_t max_ns, std::uint32_t seed)
      : first_ns_(first_ns),
        max_ns_(std::max(first_ns, max_ns)),
        next_ns_(first_ns),
        random_(seed) {}

  // The pause before the next try: between half of its length and all of it, so that gateways that
  // lost a venue together do not come back together.
  std::int64_t next() {
    const std::int64_t longest = next_ns_;
    next_ns_ = std::min(max_ns_, 2 * next_ns_);
    return std::uniform_int_distribution<std::int64_t>(longest / 2, longest)(random_);
  }
  // A try has succeeded.
  void reset() noexcept { next_ns_ = first_ns_; }

 private:
  std::int64_t first_ns_;
  std::int64_t max_ns_;
  std::int64_t next_ns_;
  std::minstd_rand random_;
};

}  // namespace tickpath::oeg

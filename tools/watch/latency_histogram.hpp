// Latencies by size: 16 buckets to each doubling, so that a percentile is at most 7 % too high.
// One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tickpath::watch {

class LatencyHistogram {
 public:
  static constexpr unsigned kSubBits = 4;
  static constexpr std::uint64_t kSub = 1u << kSubBits;
  // Up to 2^42 ns, 73 minutes; longer ones are in the last bucket.
  static constexpr std::size_t kBuckets = (42 - kSubBits + 1) * kSub;

  // Below zero (the receiver was quicker, trace/hop.hpp) counts as 0.
  void add(std::int64_t ns) noexcept {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
    ++counts_[bucket_of(value)];
    ++count_;
    sum_ns_ += static_cast<double>(value);
    max_ns_ = std::max(max_ns_, value);
  }
  void add(const LatencyHistogram& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    max_ns_ = std::max(max_ns_, other.max_ns_);
  }

  std::uint64_t count() const noexcept { return count_; }
  double sum_ns() const noexcept { return sum_ns_; }
  std::uint64_t max_ns() const noexcept { return max_ns_; }
  // Nearest rank: the upper bound of the bucket that holds it, and never more than the largest
  // latency. 0 without any.
  std::uint64_t percentile_ns(double percent) const noexcept {
    const double share = percent / 100 * static_cast<double>(count_);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      below += counts_[i];
      if (below != 0 && static_cast<double>(below) + 1e-6 >= share)
        return std::min(upper_ns(i), max_ns_);
    }
    return max_ns_;
  }
  // How many were below 2^power nanoseconds, exactly. power: kSubBits to 42.
  std::uint64_t below_power(unsigned power) const noexcept {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < (power - kSubBits + 1) * kSub && i < kBuckets; ++i)
      below += counts_[i];
    return below;
  }

 private:
  // Values below kSub have a bucket each; then each doubling has kSub of them.
  static std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < kSub) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
    return std::min<std::size_t>((shift + 1) * kSub + ((value >> shift) - kSub), kBuckets - 1);
  }
  // The largest value in the bucket.
  static std::uint64_t upper_ns(std::size_t bucket) noexcept {
    if (bucket < kSub) return bucket;
    const std::size_t shift = bucket / kSub - 1;
    return ((kSub + bucket % kSub + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  std::uint64_t max_ns_ = 0;
};

}  // namespace tickpath::watch

// How far behind schedule messages left, in buckets that a control thread may read at any time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "common/base/counter.hpp"

namespace tickpath::sim {

// Log-linear: 16 buckets for each power of two, so that a quantile is right to 6 %. One writer.
class LagHistogram {
 public:
  void add(std::uint64_t lag_ns) noexcept {
    buckets_[bucket_of(lag_ns)].add();
    count_.add();
    if (lag_ns > max_.get()) max_.set(lag_ns);
  }

  // Any thread; recent values.
  std::uint64_t count() const noexcept { return count_.get(); }
  std::uint64_t max_ns() const noexcept { return max_.get(); }
  // The upper end of the bucket in which the quantile (0 to 1) lies; 0 when empty.
  std::uint64_t quantile_ns(double quantile) const noexcept {
    const std::uint64_t total = count_.get();
    if (total == 0) return 0;
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(total) * quantile);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i].get();
      if (seen > wanted) return end_of(i) < max_ns() ? end_of(i) : max_ns();
    }
    return max_ns();
  }

 private:
  static constexpr unsigned kSubBits = 4;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

  // Below 16 each value has its bucket; above, the exponent and the four bits after the leading
  // one.
  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < kSub) return static_cast<std::size_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
    return (shift + 1) * kSub + static_cast<std::size_t>((value >> shift) - kSub);
  }
  static constexpr std::uint64_t end_of(std::size_t bucket) noexcept {
    if (bucket < kSub) return bucket;
    const std::size_t shift = bucket / kSub - 1;
    return ((bucket % kSub + kSub + 1) << shift) - 1;
  }

  std::array<Counter, kBuckets> buckets_;
  Counter count_;
  Counter max_;
};

}  // namespace tickpath::sim

// Random numbers whose sequence depends on the seed alone: the standard library's distributions
// differ between implementations, and a generated recording must not.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tickpath {

// The next number of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014): without a pattern, whatever the seed.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// xoshiro256** 1.0 (Blackman, Vigna: "Scrambled Linear Pseudorandom Number Generators", 2018),
// seeded by splitmix64 as they advise.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // 0 to limit - 1; limit 1 to 2^32. Uniform but for a bias below 2^-32 * limit.
  std::uint32_t below(std::uint64_t limit) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * limit) >> 32);
  }
  // 0.0 <= x < 1.0
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) noexcept { return unit() < probability; }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) noexcept { return x << k | x >> (64 - k); }

  std::array<std::uint64_t, 4> state_{};
};

// Draws an index with the probability of its weight, in constant time (Walker's alias method in
// Vose's form: "A Linear Algorithm For Generating Random Numbers With a Given Distribution", 1991).
class AliasTable {
 public:
  explicit AliasTable(std::span<const double> weights)
      : probability_(weights.size()), alias_(weights.size()) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      probability_[i] = weights[i] / sum * static_cast<double>(weights.size());
      alias_[i] = i;
      (probability_[i] < 1.0 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t little = small.back();
      const std::uint32_t much = large.back();
      small.pop_back();
      alias_[little] = much;
      probability_[much] -= 1.0 - probability_[little];
      if (probability_[much] >= 1.0) continue;
      large.pop_back();
      small.push_back(much);
    }
    // What rounding left over is 1.
    for (const std::uint32_t i : small) probability_[i] = 1.0;
  }

  std::uint32_t draw(Random& random) const noexcept {
    const std::uint32_t i = random.below(probability_.size());
    return random.unit() < probability_[i] ? i : alias_[i];
  }

 private:
  std::vector<double> probability_;
  std::vector<std::uint32_t> alias_;
};

}  // namespace tickpath

// The one source of chance of a simulation: the same seed, the same run.
#pragma once

#include <cstdint>

namespace tickpath::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  // splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // From 0 to bound - 1.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  bool one_in(std::uint64_t bound) noexcept { return bound != 0 && below(bound) == 0; }
  bool per_mille(std::uint64_t part) noexcept { return below(1000) < part; }

 private:
  std::uint64_t state_;
};

}  // namespace tickpath::simulation

// Two lossy lines and whoever answers, from a seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/base/random.hpp"
#include "mdh/arbiter.hpp"
#include "tests/support/generated_messages.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {

inline constexpr std::uint64_t kUs = 1'000;

inline std::vector<Bytes> generated(std::uint64_t seed, std::uint64_t messages) {
  return test_support::generated_messages(seed, messages, 20);
}

struct Network {
  double loss_a, loss_b;
  double burst;        // packets lost in a row
  double reorder;      // chance that a packet is late
  double answer_loss;  // of retransmissions; 1: nobody answers
  bool whole;          // every message must arrive
};

// Packets of both lines with times of arrival, and a server that answers.
class RandomNetwork {
 public:
  RandomNetwork(const Network& network, std::uint64_t seed) : network_(network), random_(seed) {}

  void add(Line line, const Bytes& bytes, std::uint64_t sent_ns) {
    const double loss = line == Line::kA ? network_.loss_a : network_.loss_b;
    bool& bad = bad_[static_cast<std::size_t>(line)];
    bad = bad ? random_.chance(1 - 1 / network_.burst)
              : random_.chance(loss / (network_.burst * (1 - loss)));
    if (bad) return;
    std::uint64_t at_ns = sent_ns + random_.below(20 * kUs);
    if (random_.chance(network_.reorder)) at_ns += random_.below(80 * kUs);
    arrivals_.push_back({at_ns, line, bytes});
    if (random_.chance(0.01)) arrivals_.push_back({at_ns + 5 * kUs, line, bytes});
  }
  void answer(const Bytes& bytes, std::uint64_t now_ns) {
    if (random_.chance(network_.answer_loss)) return;
    arrivals_.push_back({now_ns + 30 * kUs, Line::kRetransmission, bytes});
  }

  struct Arriving {
    std::uint64_t at_ns;
    Line line;
    Bytes bytes;
  };
  // What has arrived by now, in its order.
  std::vector<Arriving> arrived(std::uint64_t now_ns) {
    std::vector<Arriving> due;
    const auto later =
        std::stable_partition(arrivals_.begin(), arrivals_.end(),
                              [&](const Arriving& each) { return each.at_ns > now_ns; });
    due.assign(later, arrivals_.end());
    arrivals_.erase(later, arrivals_.end());
    std::ranges::stable_sort(due, {}, &Arriving::at_ns);
    return due;
  }
  bool empty() const { return arrivals_.empty(); }

 private:
  Network network_;
  Random random_;
  std::array<bool, 2> bad_{};
  std::deque<Arriving> arrivals_;
};

}  // namespace tickpath::mdh::test

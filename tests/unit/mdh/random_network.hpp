// Two lossy lines and whoever answers, from a seed.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "common/base/random.hpp"
#include "mdh/arbiter.hpp"
#include "tests/support/generated_messages.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {

inline constexpr std::uint64_t kUs = 1'000;

inline std::vector<Bytes> generated(std::uint64_t seed, std::uint64_t messages) {
  return test_support::generated_messages(seed, messages, 20);
}

// Remembers what was asked for, and answers nothing itself.
struct FakePort final : RetransmitPort {
  struct Asked {
    std::uint64_t from;
    std::uint16_t count;
  };
  std::vector<Asked> asked;
  bool request(const itch::mold::Session&, std::uint64_t from,
               std::uint16_t count) noexcept override {
    asked.push_back({from, count});
    return true;
  }
};

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

inline constexpr std::uint64_t kStartNs = 1'000'000'000;
inline constexpr std::uint64_t kPacketMessages = 4;
inline constexpr std::uint64_t kPacketNs = 10 * kUs;

// A day in packets and its end: to a feed that loses nothing, and over both lines of the network
// from `joined_ns` on.
inline void send_day(const std::vector<Bytes>& messages, Feed& whole, RandomNetwork& network,
                     std::uint64_t joined_ns = kStartNs) {
  const clock::TickConverter converter;
  log::HotLog log;
  define_notes(log);
  OneLine lossless(whole, log);
  std::uint64_t time_ns = kStartNs;
  for (std::size_t first = 0; first < messages.size(); first += kPacketMessages) {
    const std::size_t end = std::min<std::size_t>(first + kPacketMessages, messages.size());
    const Bytes bytes = packet("S", first + 1, {&messages[first], &messages[0] + end});
    lossless.hear(bytes, converter.from_ns(time_ns));
    if (time_ns >= joined_ns)
      for (const Line line : {Line::kA, Line::kB}) network.add(line, bytes, time_ns);
    time_ns += kPacketNs;
  }
  const Bytes end = end_of_session("S", messages.size() + 1);
  lossless.hear(end, converter.from_ns(time_ns));
  for (int i = 0; i < 50; ++i) {  // said again and again, as a sender does
    network.add(Line::kA, end, time_ns);
    network.add(Line::kB, end, time_ns += 200 * kUs);
  }
}

// What was asked for since `answered`, message by message.
inline void answer(RandomNetwork& network, const std::vector<Bytes>& messages, const FakePort& port,
                   std::size_t& answered, std::uint64_t now_ns) {
  for (; answered < port.asked.size(); ++answered) {
    const FakePort::Asked& asked = port.asked[answered];
    for (std::uint64_t n = asked.from; n < asked.from + asked.count && n <= messages.size(); ++n)
      network.answer(packet("S", n, {messages[n - 1]}), now_ns);
  }
}

// Ids may differ: locates tell which instruments are the same.
inline void expect_same_books(const Feed& whole, const Feed& other) {
  for (std::uint32_t id = 0; id < whole.instruments().size(); ++id) {
    SCOPED_TRACE("instrument " + std::to_string(id));
    const std::uint16_t locate = whole.instruments().entry(id).feed_locate;
    const wire::BookImage left = image_of(whole, id);
    const wire::BookImage right = image_of(other, other.instruments().id_of(locate));
    ASSERT_TRUE(std::ranges::equal(left.bids, right.bids));
    ASSERT_TRUE(std::ranges::equal(left.asks, right.asks));
    ASSERT_EQ(left.states, right.states);
  }
}

}  // namespace tickpath::mdh::test

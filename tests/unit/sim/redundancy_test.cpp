// Lines with faults, and the server that gives lost messages again.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/itch/codec.hpp"
#include "sim/replay/feed_line.hpp"
#include "sim/replay/retransmission_server.hpp"

namespace tickpath::sim {
namespace {

using Bytes = std::vector<std::byte>;

constexpr net::Endpoint kLineGroup{0xefff'0722, 17'741};  // 239.255.7.34

Bytes numbered(std::uint64_t number, std::size_t size = 8) {
  Bytes bytes(size);
  std::memcpy(bytes.data(), &number, 8);
  return bytes;
}
std::uint64_t number_of(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), 8);
  return number;
}

class FeedLines : public ::testing::Test {
 protected:
  // The numbers of the packets that came over a new line, in their order.
  std::vector<std::uint64_t> over_line(const Impairment& impairment, std::uint64_t seed,
                                       std::uint64_t packets) {
    net::UdpMulticastReceiver receiver({.group = kLineGroup, .interface = "127.0.0.1"});
    line = std::make_unique<FeedLine>(
        net::SenderOptions{.group = kLineGroup, .interface = "127.0.0.1"}, impairment, seed);
    std::vector<std::uint64_t> numbers;
    const auto receive = [&] {
      std::array<std::byte, 64> buffer;
      net::Datagram datagram;
      while (receiver.receive(buffer, datagram) == net::IoStatus::kOk)
        numbers.push_back(number_of(datagram.bytes));
    };
    for (std::uint64_t i = 0; i < packets; ++i) {
      while (!line->send(numbered(i), tsc_now())) receive();
      line->turn(tsc_now());
      receive();
    }
    while (!line->idle()) {
      line->turn(tsc_now());
      receive();
    }
    receive();
    return numbers;
  }
  std::unique_ptr<FeedLine> line;
};

TEST_F(FeedLines, CarryEverythingInOrderWhenNothingIsWrongWithThem) {
  const auto numbers = over_line({}, 1, 1'000);
  ASSERT_EQ(numbers.size(), 1'000u);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  EXPECT_EQ(line->counters().packets.get(), 1'000u);
}

TEST_F(FeedLines, LoseTheShareAskedForInBurstsAndTheSameOnesEachTime) {
  const Impairment impairment{.loss = 0.1, .loss_burst = 5};
  const auto first = over_line(impairment, 7, 20'000);
  const std::uint64_t lost = line->counters().lost.get();
  EXPECT_EQ(lost + first.size(), 20'000u);
  EXPECT_NEAR(static_cast<double>(lost) / 20'000, 0.1, 0.02);
  std::uint64_t bursts = 0;
  for (std::size_t i = 1; i < first.size(); ++i) bursts += first[i] != first[i - 1] + 1 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(bursts), 5, 1);
  EXPECT_EQ(over_line(impairment, 7, 20'000), first);
  EXPECT_NE(over_line(impairment, 8, 20'000), first);
}

TEST_F(FeedLines, DelayEveryPacketAndLetThemOvertakeEachOther) {
  const auto numbers = over_line({.delay_ns = 200'000, .jitter_ns = 500'000}, 3, 1'000);
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 1'000u);
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
  const TscTicks now = tsc_now();
  ASSERT_TRUE(line->send(numbered(1), now));
  EXPECT_GE(clock::TickConverter().to_ns(line->next_due() - now), 100'000u);
  EXPECT_FALSE(line->turn(now)) << "it is not due";
}

TEST_F(FeedLines, SendEarlyWhatTheyHaveNoRoomFor) {
  EXPECT_EQ(over_line({.delay_ns = 100'000'000}, 3, 5'000).size(), 5'000u);
  EXPECT_GT(line->counters().crowded.get(), 0u);
}

TEST(MessageStores, KeepTheNewest) {
  MessageStore store(100, 1'000);
  EXPECT_TRUE(store.find(1).empty());
  for (std::uint64_t n = 1; n <= 10'000; ++n) {
    store.append(numbered(n, 8 + n % 40));
    ASSERT_EQ(number_of(store.find(n)), n);
    EXPECT_TRUE(store.find(n + 1).empty());
    // Whatever is still there is what was stored.
    for (std::uint64_t at = store.first(); at <= n; ++at) {
      ASSERT_EQ(number_of(store.find(at)), at);
      ASSERT_EQ(store.find(at).size(), 8 + at % 40);
    }
    ASSERT_TRUE(store.first() == 1 || store.find(store.first() - 1).empty());
  }
  EXPECT_GT(store.next() - store.first(), 20u) << "a thousand bytes hold some";
}

class Retransmissions : public ::testing::Test {
 protected:
  static RetransmissionOptions options() {
    return {.listen = {0x7f00'0001, 0}, .messages = 1'000, .bytes = 100'000, .packet_bytes = 200};
  }
  explicit Retransmissions(const RetransmissionOptions& made = options())
      : server(made, "S"), client({.local = {0x7f00'0001, 0}, .remote = server.local()}) {
    for (std::uint64_t n = 1; n <= 500; ++n) server.append(numbered(n, 20));
  }
  void ask(std::uint64_t from, std::uint16_t count, const char* session = "S") {
    std::array<std::byte, itch::mold::kHeaderBytes> request;
    itch::mold::store_header({session, from, count}, request.data());
    ASSERT_EQ(client.send(request, {}), net::IoStatus::kOk);
  }
  // Sequence numbers answered, each with the message of that number.
  std::vector<std::uint64_t> answers() {
    std::vector<std::uint64_t> numbers;
    for (int idle = 0; idle < 50;) {
      idle = server.turn(tsc_now()) ? 0 : idle + 1;
      std::array<std::byte, 2'048> buffer;
      std::size_t size = 0;
      net::Endpoint from;
      while (client.receive(buffer, size, from) == net::IoStatus::kOk) {
        itch::mold::PacketCursor packet(std::span<const std::byte>(buffer).first(size));
        EXPECT_LE(size, 200u);
        std::uint64_t at = packet.header().sequence_number;
        for (std::span<const std::byte> message; packet.next(message); ++at) {
          EXPECT_EQ(number_of(message), at);
          numbers.push_back(at);
        }
        EXPECT_EQ(packet.status(), itch::mold::PacketStatus::kOk);
      }
    }
    return numbers;
  }
  static std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = first; n <= last; ++n) numbers.push_back(n);
    return numbers;
  }

  RetransmissionServer server;
  net::UdpSocket client;
};

TEST_F(Retransmissions, AnswerExactlyWhatWasAskedFor) {
  ask(17, 1);
  EXPECT_EQ(answers(), from_to(17, 17));
  ask(100, 300);
  EXPECT_EQ(answers(), from_to(100, 399));
  ask(490, 1'000);  // more than there are
  EXPECT_EQ(answers(), from_to(490, 500));
}

TEST_F(Retransmissions, RefuseWhatCannotBeAnsweredAndCountIt) {
  ask(501, 1);       // not sent yet
  ask(0, 1);         // no number
  ask(1, 0);         // nothing
  ask(1, 1, "OLD");  // another session
  ASSERT_EQ(client.send(Bytes(3), {}), net::IoStatus::kOk);
  ASSERT_EQ(client.send(Bytes(300), {}), net::IoStatus::kOk);
  EXPECT_TRUE(answers().empty());
  EXPECT_EQ(server.counters().requests.get(), 6u);
  EXPECT_EQ(server.counters().refused.get(), 6u);
  for (std::uint64_t n = 501; n <= 2'000; ++n) server.append(numbered(n, 20));
  ask(10, 5);
  EXPECT_TRUE(answers().empty());
  EXPECT_EQ(server.counters().not_kept.get(), 1u);
}

TEST_F(Retransmissions, OneAddressGetsItsShareOfASecondAndOthersTheirs) {
  RetransmissionOptions options{.listen = {INADDR_LOOPBACK, 0}};
  options.rate = 2'000;  // 100 at once
  RetransmissionServer bounded(options, itch::mold::Session("TEST"));
  for (std::uint64_t n = 1; n <= 500; ++n) bounded.append(numbered(n, 20));
  net::UdpSocket greedy({.local = {}, .remote = bounded.local()});
  net::UdpSocket other({.local = {INADDR_LOOPBACK + 1, 0}, .remote = bounded.local()});
  std::array<std::byte, itch::mold::kHeaderBytes> request;
  itch::mold::store_header({itch::mold::Session("TEST"), 1, 500}, request.data());
  const TscTicks at = tsc_now();
  for (int i = 0; i < 200; ++i) {
    (void)greedy.send(request, {});
    (void)bounded.turn(at);
  }
  const std::uint64_t burst = bounded.counters().messages.get();
  EXPECT_GE(burst, 100u);
  EXPECT_LT(burst, 200u) << "a packet may go beyond, as it is sent whole";
  EXPECT_GT(bounded.counters().delayed.get(), 0u);
  (void)other.send(request, {});
  for (int i = 0; i < 10; ++i) (void)bounded.turn(at);
  EXPECT_GE(bounded.counters().messages.get(), burst + 100) << "its own share";
  const std::uint64_t before = bounded.counters().messages.get();
  (void)bounded.turn(TscTicks{at.value + clock::tsc_hz()});
  EXPECT_GT(bounded.counters().messages.get(), before) << "a second later there is more";
}

TEST_F(Retransmissions, ARepeatedRequestIsAnsweredOnce) {
  ask(1, 400);
  ask(1, 400);
  ask(50, 2);
  EXPECT_EQ(answers(), from_to(50, 51)) << "the newest counts";
}

}  // namespace
}  // namespace tickpath::sim

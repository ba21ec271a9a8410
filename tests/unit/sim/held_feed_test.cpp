// A feed whose packets latency.market_data holds back: until they are published nobody hears of
// them, on whatever way.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/base/cpu.hpp"
#include "common/clock/virtual_time.hpp"
#include "common/feeds/itch/glimpse.hpp"
#include "common/feeds/itch/soupbintcp.hpp"
#include "common/net/file_descriptor.hpp"
#include "recorded.hpp"
#include "sim/replay/feed_sender.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::sim {
namespace {

constexpr net::Endpoint kHeldGroup{0xefff'0723, 17'742};  // 239.255.7.35
constexpr std::uint64_t kHeldNs = 1'000'000'000;

class HeldFeed : public ::testing::Test {
 protected:
  HeldFeed() {
    FeedOptions options{.socket = {.group = kHeldGroup, .interface = "127.0.0.1"},
                        .session = "HELD"};
    options.retransmission.emplace().listen = {0x7f00'0001, 0};
    options.retransmission->messages = 64;
    options.retransmission->bytes = 65'536;
    options.snapshot.emplace().listen = {0x7f00'0001, 0};
    options.snapshot->book = {.orders_max = 64, .levels_max = 64};
    feed_ = std::make_unique<FeedSender>(options, trace_);
    feed_->add_latency(LatencyOptions{.kind = LatencyKind::kFixed, .delay_ns = kHeldNs}, 1);
    client_ = std::make_unique<net::UdpSocket>(net::UdpSocket::Options{
        .local = {0x7f00'0001, 0}, .remote = feed_->retransmission()->local()});
  }
  void pass(std::uint64_t ns) {
    time_.advance_to(time_.now_ns() + ns);
    feed_->turn(tsc_now());
  }
  void publish(const Bytes& message) {
    ASSERT_EQ(feed_->append(message), FeedSender::Append::kOk);
    ASSERT_TRUE(feed_->send());
  }
  // Messages that have come over the line.
  std::uint64_t on_the_line() {
    std::array<std::byte, 2'048> buffer;
    net::Datagram datagram;
    while (receiver_.receive(buffer, datagram) == net::IoStatus::kOk) {
      itch::mold::PacketCursor packet(datagram.bytes);
      EXPECT_LE(packet.header().sequence_number, heard_ + 1) << "a gap before it is published";
      for (std::span<const std::byte> message; packet.next(message);) ++heard_;
    }
    return heard_;
  }
  // Whether the server has answered a request for a message; it has refused it otherwise.
  bool retransmitted(std::uint64_t sequence) {
    const auto& counters = feed_->retransmission()->counters();
    const std::uint64_t asked = counters.requests.get();
    const std::uint64_t answered = counters.packets.get();
    std::array<std::byte, itch::mold::kHeaderBytes> request;
    itch::mold::store_header({"HELD", sequence, 1}, request.data());
    EXPECT_EQ(client_->send(request, {}), net::IoStatus::kOk);
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (counters.requests.get() == asked && std::chrono::steady_clock::now() < end)
      feed_->turn(tsc_now());
    EXPECT_EQ(counters.requests.get(), asked + 1);
    feed_->turn(tsc_now());
    return counters.packets.get() != answered;
  }
  // The number that a snapshot taken now goes on from.
  std::uint64_t snapshot() {
    namespace soup = itch::soup;
    net::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in at = feed_->snapshot()->local().to_sockaddr();
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    std::vector<std::byte> bytes;
    soup::append(bytes, soup::LoginRequest{"", "", "", 1});
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    std::vector<std::byte> heard;
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (std::chrono::steady_clock::now() < end) {
      feed_->turn(tsc_now());
      std::array<std::byte, 4'096> buffer;
      const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) heard.insert(heard.end(), buffer.begin(), buffer.begin() + got);
      std::span<const std::byte> rest(heard);
      soup::Packet packet;
      for (std::size_t consumed = 0;
           soup::read_packet(rest, packet, consumed) == soup::ReadStatus::kPacket;
           rest = rest.subspan(consumed))
        if (packet.type == soup::PacketType::kSequencedData)
          if (const auto next = itch::glimpse::parse_snapshot(packet.payload)) return *next;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return 0;
  }

  clock::VirtualTime time_;
  net::UdpMulticastReceiver receiver_{{.group = kHeldGroup, .interface = "127.0.0.1"}};
  trace::TraceWriter trace_{{}};
  std::unique_ptr<FeedSender> feed_;
  std::unique_ptr<net::UdpSocket> client_;
  std::uint64_t heard_ = 0;
};

TEST_F(HeldFeed, NothingIsRetransmittedThatHasNotBeenPublished) {
  publish(directory(7, "ZAAA"));
  pass(kHeldNs - 1);
  EXPECT_EQ(on_the_line(), 0u);
  EXPECT_FALSE(retransmitted(1));
  EXPECT_EQ(feed_->retransmission()->counters().refused.get(), 1u);
  pass(1);
  EXPECT_EQ(on_the_line(), 1u);
  EXPECT_TRUE(retransmitted(1));
}

TEST_F(HeldFeed, NoSnapshotTellsOfWhatHasNotBeenPublished) {
  publish(directory(7, "ZAAA"));
  pass(kHeldNs);
  publish(add(7, "ZAAA", 1, Side::kBuy, 100, 10'000));
  EXPECT_EQ(snapshot(), 2u) << "the directory alone";
  pass(kHeldNs - 1);
  EXPECT_EQ(snapshot(), 2u);
  pass(1);
  EXPECT_EQ(on_the_line(), 2u);
  EXPECT_EQ(snapshot(), 3u);
}

// They carry the next number: one that came first would be a gap.
TEST_F(HeldFeed, HeartbeatsAndTheEndOfTheSessionDoNotOvertakeWhatIsHeld) {
  publish(directory(7, "ZAAA"));
  pass(kHeldNs / 2);
  feed_->send_heartbeat();
  feed_->send_end_of_session();
  EXPECT_EQ(on_the_line(), 0u);
  EXPECT_EQ(feed_->next_due().value, clock::VirtualTime::kStartNs + kHeldNs);
  pass(kHeldNs / 2);
  EXPECT_EQ(on_the_line(), 1u);
  pass(kHeldNs / 2);
  EXPECT_EQ(on_the_line(), 1u);
  EXPECT_EQ(feed_->counters().bytes.get(), 2 * 20u + 20u + 2u + 39u) << "all three have left";
}

TEST_F(HeldFeed, WhatIsTooMuchToHoldIsPublishedEarlyInItsOrderAndCounted) {
  constexpr std::uint64_t kMessages = 4'100;
  for (std::uint64_t number = 1; number <= kMessages; ++number) {
    publish(add(7, "ZAAA", number, Side::kBuy, 100, 10'000));
    (void)on_the_line();
  }
  EXPECT_EQ(on_the_line(), 4u);
  EXPECT_EQ(feed_->counters().crowded.get(), 4u);
  EXPECT_TRUE(retransmitted(4));
  EXPECT_FALSE(retransmitted(5));
}

}  // namespace
}  // namespace tickpath::sim

#include "common/net/multicast.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "common/clock/clock.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::net {
namespace {

using test_support::error_of;
using testing::HasSubstr;

// A port of this process's own: tests of several checkouts may run at once on one host.
Endpoint group_of_this_process(std::uint8_t last) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return {0xef'ff'00'00 | (pid & 0xff) << 8 | last,
          static_cast<std::uint16_t>(20'000 + pid % 30'000)};
}

ReceiverOptions receiver_options(std::uint8_t last = 1) {
  return {.group = group_of_this_process(last), .interface = "127.0.0.1"};
}

SenderOptions sender_options(std::uint8_t last = 1) {
  return {.group = group_of_this_process(last), .interface = "127.0.0.1"};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void wait_readable(const UdpMulticastReceiver& receiver) {
  pollfd entry{receiver.descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 5000), 1);
}

TEST(UdpMulticast, DeliversADatagramWithTheKernelsTime) {
  UdpMulticastReceiver receiver(receiver_options());
  UdpMulticastSender sender(sender_options());
  timespec before;
  ::clock_gettime(CLOCK_REALTIME, &before);
  ASSERT_EQ(sender.send(bytes_of("hello")), IoStatus::kOk);
  wait_readable(receiver);
  std::array<std::byte, 64> buffer;
  Datagram datagram;
  ASSERT_EQ(receiver.receive(buffer, datagram), IoStatus::kOk);
  timespec after;
  ::clock_gettime(CLOCK_REALTIME, &after);
  EXPECT_EQ(text_of(datagram.bytes), "hello");
  EXPECT_GE(datagram.kernel_realtime_ns, before.tv_sec * 1'000'000'000 + before.tv_nsec);
  EXPECT_LE(datagram.kernel_realtime_ns, after.tv_sec * 1'000'000'000 + after.tv_nsec);
  EXPECT_EQ(receiver.receive(buffer, datagram), IoStatus::kWouldBlock);
  EXPECT_EQ(receiver.dropped(), 0U);
}

TEST(UdpMulticast, DeliversToEveryReceiverThatSharesThePort) {
  UdpMulticastReceiver first(receiver_options());
  UdpMulticastReceiver second(receiver_options());
  UdpMulticastSender sender(sender_options());
  ASSERT_EQ(sender.send(bytes_of("both")), IoStatus::kOk);
  for (UdpMulticastReceiver* receiver : {&first, &second}) {
    wait_readable(*receiver);
    std::array<std::byte, 64> buffer;
    Datagram datagram;
    ASSERT_EQ(receiver->receive(buffer, datagram), IoStatus::kOk);
    EXPECT_EQ(text_of(datagram.bytes), "both");
  }
}

TEST(UdpMulticast, HearsOnlyItsOwnGroup) {
  UdpMulticastReceiver a(receiver_options(1));
  UdpMulticastReceiver b(receiver_options(2));
  UdpMulticastSender to_b(sender_options(2));
  ASSERT_EQ(to_b.send(bytes_of("b")), IoStatus::kOk);
  wait_readable(b);
  std::array<std::byte, 64> buffer;
  Datagram datagram;
  EXPECT_EQ(a.receive(buffer, datagram), IoStatus::kWouldBlock);
}

TEST(UdpMulticast, SaysWhenADatagramIsLongerThanTheBuffer) {
  UdpMulticastReceiver receiver(receiver_options());
  UdpMulticastSender sender(sender_options());
  ASSERT_EQ(sender.send(bytes_of("0123456789")), IoStatus::kOk);
  wait_readable(receiver);
  std::array<std::byte, 4> buffer;
  Datagram datagram;
  ASSERT_EQ(receiver.receive(buffer, datagram), IoStatus::kTruncated);
  EXPECT_EQ(text_of(datagram.bytes), "0123");
}

TEST(UdpMulticast, TakesABurstInBatchesAndInOrder) {
  UdpMulticastReceiver receiver(receiver_options());
  UdpMulticastSender sender(sender_options());
  constexpr std::uint32_t kCount = 100;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(sender.send(std::as_bytes(std::span(&i, 1))), IoStatus::kOk);
  }
  ReceiveBatch batch(32, 1500);
  std::uint32_t expected = 0;
  while (expected < kCount) {
    wait_readable(receiver);
    IoStatus status;
    const std::size_t count = batch.receive(receiver, status);
    ASSERT_EQ(status, IoStatus::kOk);
    for (std::size_t i = 0; i < count; ++i, ++expected) {
      std::uint32_t value;
      ASSERT_EQ(batch[i].bytes.size(), sizeof(value));
      std::memcpy(&value, batch[i].bytes.data(), sizeof(value));
      EXPECT_EQ(value, expected);
      EXPECT_FALSE(batch.truncated(i));
      // Not compared with the one before: the host's clock may be set back meanwhile.
      EXPECT_LT(std::abs(batch[i].kernel_realtime_ns - clock::realtime_ns()), 10'000'000'000);
    }
  }
  IoStatus status;
  EXPECT_EQ(batch.receive(receiver, status), 0U);
  EXPECT_EQ(status, IoStatus::kWouldBlock);
}

TEST(UdpMulticast, CountsWhatTheKernelDropped) {
  ReceiverOptions options = receiver_options();
  options.receive_buffer_bytes = 8 * 1024;
  UdpMulticastReceiver receiver(options);
  UdpMulticastSender sender(sender_options());
  const std::array<std::byte, 1000> payload{};
  constexpr std::uint64_t kSent = 200;
  for (std::uint64_t i = 0; i < kSent; ++i) ASSERT_EQ(sender.send(payload), IoStatus::kOk);
  std::array<std::byte, 1500> buffer;
  Datagram datagram;
  std::uint64_t received = 0;
  while (receiver.receive(buffer, datagram) == IoStatus::kOk) ++received;
  ASSERT_LT(received, kSent);
  // The kernel tells of a drop with the next datagram that it takes.
  ASSERT_EQ(sender.send(payload), IoStatus::kOk);
  wait_readable(receiver);
  ASSERT_EQ(receiver.receive(buffer, datagram), IoStatus::kOk);
  EXPECT_EQ(receiver.dropped(), kSent - received);
}

Endpoint source_of_this_process() {
  const Endpoint group = group_of_this_process(1);
  return {INADDR_LOOPBACK, static_cast<std::uint16_t>(group.port + 1)};
}

// Waits for one datagram: its text and sender.
std::pair<std::string, Endpoint> take_one(UdpMulticastReceiver& receiver) {
  wait_readable(receiver);
  ReceiveBatch batch(4, 64);
  IoStatus status = IoStatus::kOk;
  if (batch.receive(receiver, status) != 1) return {"not one", {}};
  return {text_of(batch[0].bytes), sender_of(batch.sender(0))};
}

TEST(UdpMulticast, TellsWhoSentADatagram) {
  UdpMulticastReceiver receiver(receiver_options());
  SenderOptions options = sender_options();
  options.source = source_of_this_process();
  UdpMulticastSender sender(options);
  ASSERT_EQ(sender.send(bytes_of("mine")), IoStatus::kOk);
  EXPECT_EQ(take_one(receiver), std::pair(std::string("mine"), options.source));
  EXPECT_EQ(sender_of(sender_key(options.source)), options.source);
}

TEST(UdpMulticast, TakesNothingFromAnotherAddressThanTheSource) {
  ReceiverOptions options = receiver_options();
  options.source_address = INADDR_LOOPBACK;
  UdpMulticastReceiver receiver(options);
  SenderOptions stranger = sender_options();
  stranger.source = {INADDR_LOOPBACK + 1, source_of_this_process().port};  // 127.0.0.2
  UdpMulticastSender from_elsewhere(stranger);
  UdpMulticastSender sender(sender_options());
  ASSERT_EQ(from_elsewhere.send(bytes_of("forged")), IoStatus::kOk);
  ASSERT_EQ(sender.send(bytes_of("true")), IoStatus::kOk);
  EXPECT_EQ(take_one(receiver).first, "true");
}

TEST(UdpMulticast, ASourceThatAnotherProgramHasIsRefusedByName) {
  SenderOptions options = sender_options();
  options.source = source_of_this_process();
  UdpMulticastSender first(options);
  EXPECT_THAT(error_of([&] { UdpMulticastSender second(options); }),
              HasSubstr("cannot send from " + options.source.text()));
  options.source.address = 0xcb'00'71'01;  // 203.0.113.1, nobody's (RFC 5737)
  EXPECT_THAT(error_of([&] { UdpMulticastSender nobody(options); }), HasSubstr("`ip address`"));
}

TEST(UdpMulticast, NamesTheBusyPortAndWhatToDo) {
  ReceiverOptions options = receiver_options();
  options.shared_port = false;
  UdpMulticastReceiver first(options);
  const std::string error = error_of([&] { UdpMulticastReceiver second(options); });
  EXPECT_THAT(error, HasSubstr("cannot bind " + options.group.text() +
                               ": Address already in use: another program"));
}

TEST(UdpMulticast, NamesAnInterfaceThatThisHostDoesNotHave) {
  ReceiverOptions options = receiver_options();
  options.interface = "203.0.113.7";
  EXPECT_THAT(error_of([&] { UdpMulticastReceiver receiver(options); }),
              HasSubstr("on 203.0.113.7: "));
  SenderOptions sender = sender_options();
  sender.interface = "lo";
  EXPECT_THAT(error_of([&] { UdpMulticastSender s(sender); }),
              HasSubstr("\"lo\" is not an IPv4 address for the interface"));
}

TEST(UdpMulticast, RefusesAnAddressThatIsNoGroup) {
  ReceiverOptions options = receiver_options();
  options.group = parse_endpoint("127.0.0.1:26400");
  EXPECT_THAT(error_of([&] { UdpMulticastReceiver receiver(options); }),
              HasSubstr("127.0.0.1:26400 is not a multicast group"));
}

TEST(Endpoint, ReadsAndWritesTheSameText) {
  const Endpoint endpoint = parse_endpoint("239.1.2.3:26400");
  EXPECT_EQ(endpoint.address, 0xef010203U);
  EXPECT_EQ(endpoint.port, 26400);
  EXPECT_EQ(endpoint.text(), "239.1.2.3:26400");
  EXPECT_TRUE(endpoint.is_multicast());
}

TEST(Endpoint, RefusesEverythingElse) {
  for (const char* text : {"", "239.1.2.3", "239.1.2.3:", "239.1.2.3:0", "239.1.2.3:65536",
                           "239.1.2:1", "host:1", "239.1.2.3:12x", ":1", "239.1.2.3:-1"}) {
    EXPECT_THROW(parse_endpoint(text), NetError) << text;
  }
}

}  // namespace
}  // namespace tickpath::net

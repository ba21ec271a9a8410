// The receive wire by itself: both ends on one memory, so that ThreadSanitizer sees the handshakes.
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/wire.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::detail {
namespace {

struct Wire {
  explicit Wire(std::uint32_t slots, std::uint32_t message_bytes_max = 4096,
                std::uint64_t first = 0)
      : layout{slots, message_bytes_max},
        lines((layout.size_bytes() + 127) / 128),
        sender(memory(), layout, first),
        receiver(memory(), layout, first) {
    receiver.initialise(false);
  }
  std::byte* memory() { return lines.data()->data(); }

  struct alignas(128) Lines : std::array<std::byte, 128> {};
  WireLayout layout;
  std::vector<Lines> lines;
  WireSender sender;
  WireReceiver receiver;
};

TEST(ShmWire, HasNoCreditBeforeAReceiveIsPosted) {
  Wire wire(4);
  EXPECT_FALSE(wire.sender.has_credit());
  wire.receiver.post_receive(64);
  EXPECT_TRUE(wire.sender.has_credit());
  EXPECT_EQ(wire.sender.receive_length(), 64u);
}

TEST(ShmWire, ShowsNoMessageInFreshMemory) {
  Wire wire(4);
  WireReceiver::Message message;
  EXPECT_FALSE(wire.receiver.next(message));
}

TEST(ShmWire, CarriesEveryLengthAcrossItsInlineAndBounceParts) {
  Wire wire(4, 300);
  std::array<std::byte, 300> sent, got;
  for (std::uint32_t length = 0; length <= 300; ++length) {
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + length);
    got.fill(std::byte{0xee});
    wire.receiver.post_receive(300);
    ASSERT_TRUE(wire.sender.has_credit());
    wire.sender.send(WireKind::kSend, length, sent.data(), length);
    WireReceiver::Message message;
    ASSERT_TRUE(wire.receiver.next(message));
    ASSERT_EQ(message.length, length);
    ASSERT_EQ(message.imm, length);
    wire.receiver.copy_to(got.data(), length);
    wire.receiver.done();
    ASSERT_EQ(std::memcmp(got.data(), sent.data(), length), 0) << length;
    for (std::size_t i = length; i < got.size(); ++i) ASSERT_EQ(got[i], std::byte{0xee});
  }
}

TEST(ShmWire, SequenceNumbersSurviveTheirWrapAround) {
  const std::uint64_t start = (std::uint64_t{1} << 32) - 10;
  Wire wire(4, 64, start);
  for (std::uint64_t i = 0; i < 30; ++i) {
    WireReceiver::Message message;
    ASSERT_FALSE(wire.receiver.next(message)) << i;
    wire.receiver.post_receive(64);
    ASSERT_TRUE(wire.sender.has_credit());
    wire.sender.send_descriptor(WireKind::kWriteWithImm, static_cast<std::uint32_t>(i), 8);
    ASSERT_TRUE(wire.receiver.next(message)) << i;
    ASSERT_EQ(message.imm, i);
    wire.receiver.done();
  }
}

TEST(ShmWire, TellsTheSizeOfEachReceiveOnceTheyDiffer) {
  Wire wire(4);
  wire.receiver.post_receive(100);
  wire.receiver.post_receive(20);
  wire.receiver.post_receive(100);
  ASSERT_TRUE(wire.sender.has_credit());
  EXPECT_EQ(wire.sender.smallest_receive(), 20u);
  for (const std::uint32_t expected : {100u, 20u, 100u}) {
    EXPECT_EQ(wire.sender.receive_length(), expected);
    wire.sender.send_descriptor(WireKind::kSend, 0, 0);
  }
  EXPECT_FALSE(wire.sender.has_credit());
}

TEST(ShmWire, DetectsAReceiverThatPromisesMoreThanItsSlots) {
  Wire wire(4);
  auto* credits = reinterpret_cast<WireCredits*>(wire.memory());
  credits->posted = 5;
  EXPECT_FALSE(wire.sender.has_credit());
  EXPECT_TRUE(wire.sender.receiver_lies());
}

TEST(ShmWire, DetectsAReceiverThatTakesCreditsBack) {
  Wire wire(4);
  auto* credits = reinterpret_cast<WireCredits*>(wire.memory());
  credits->posted = 1;
  ASSERT_TRUE(wire.sender.has_credit());
  wire.sender.send_descriptor(WireKind::kSend, 0, 0);
  credits->posted = 0;
  EXPECT_FALSE(wire.sender.has_credit());
  EXPECT_TRUE(wire.sender.receiver_lies());
}

TEST(ShmWire, RefusesLayoutsThatWouldEatTheMachine) {
  EXPECT_TRUE(layout_valid({256, 4096}));
  EXPECT_FALSE(layout_valid({0, 4096}));
  EXPECT_FALSE(layout_valid({3, 4096}));
  EXPECT_FALSE(layout_valid({kSlotsMax * 2, 64}));
  EXPECT_FALSE(layout_valid({16, kMessageBytesMax + 1}));
  EXPECT_FALSE(layout_valid({1u << 15, kMessageBytesMax}));
}

// Scenario: a sender at full speed, a receiver that posts receives late, few slots, so that every
// slot is reused thousands of times. Races: payload against word, slot reuse against the last read,
// receive length against credit. Both sides check every byte.
TEST(ShmWire, StressedByTwoThreadsItLosesAndTearsNothing) {
  constexpr std::uint64_t kCount = 200'000;
  Wire wire(8, 200);
  std::thread sending([&] {
    std::array<std::byte, 200> message;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto length = static_cast<std::uint32_t>(i * 37 % 201);
      message.fill(static_cast<std::byte>(i));
      while (!wire.sender.has_credit()) std::this_thread::yield();
      ASSERT_GE(wire.sender.receive_length(), 200u);
      wire.sender.send(WireKind::kSendWithImm, static_cast<std::uint32_t>(i), message.data(),
                       length);
    }
  });
  std::array<std::byte, 200> buffer;
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0, posted = 0; i < kCount; ++i) {
    for (; posted < kCount && posted - i < 1 + i % 8; ++posted) {
      wire.receiver.post_receive(200 + static_cast<std::uint32_t>(posted % 3));
    }
    WireReceiver::Message message;
    while (!wire.receiver.next(message)) std::this_thread::yield();
    bad += message.imm != i || message.length != i * 37 % 201 ||
           message.kind != WireKind::kSendWithImm;
    if (message.length > buffer.size()) break;
    wire.receiver.copy_to(buffer.data(), message.length);
    for (std::uint32_t at = 0; at < message.length; ++at) {
      bad += buffer[at] != static_cast<std::byte>(i);
    }
    wire.receiver.done();
  }
  sending.join();
  EXPECT_EQ(bad, 0u);
}

// Scenario: the receiver arms and looks once more, the sender sends and asks whether to wake, over
// and over. If both could miss the other, a message would lie there without a wake-up. A wake-up
// that comes late, for a message that was found already, is allowed.
TEST(ShmWire, StressedArmingNeverLosesAMessageWithoutAWakeUp) {
  constexpr std::uint64_t kCount = 100'000;
  const Barriers barriers = Barriers::register_process();
  Wire wire(8, 64);
  std::atomic<std::uint64_t> wakes{0};
  std::atomic<bool> stop{false};
  std::thread sending([&] {
    for (std::uint64_t i = 0; i < kCount && !stop.load(); ++i) {
      while (!wire.sender.has_credit() && !stop.load()) std::this_thread::yield();
      if (stop.load()) return;
      wire.sender.send_descriptor(WireKind::kSend, 0, 0);
      if (wire.sender.wake_needed(false)) wakes.fetch_add(1);
    }
  });
  // False: asleep for seconds beside a message.
  const auto sleep_until_message = [&](WireReceiver::Message& message) {
    for (;;) {
      const std::uint64_t before = wakes.load();
      wire.receiver.arm(false, [&] { barriers.run_across(); });
      if (wire.receiver.next(message)) return true;
      const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
      while (wakes.load() == before) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
      }
      if (wire.receiver.next(message)) return true;
    }
  };
  bool lost = false;
  for (std::uint64_t i = 0; i < kCount && !lost; ++i) {
    wire.receiver.post_receive(64);
    WireReceiver::Message message;
    lost = !wire.receiver.next(message) && !sleep_until_message(message);
    wire.receiver.done();
  }
  stop = true;
  sending.join();
  EXPECT_FALSE(lost);
}

}  // namespace
}  // namespace tickpath::rdma::detail

// What comes by multicast and is not the publisher's: dropped, or found.
#include "tests/unit/link/multicast.hpp"

namespace tickpath::link::test {
namespace {

class ForgedMulticast : public Multicast {
 protected:
  MeddledDevice device{open_test_device()};
  TestSubscriber subscriber{device, nullptr, reader(256)};

  void SetUp() override {
    Multicast::SetUp();
    if (IsSkipped()) return;
    join(fabric, source, subscriber);
    ASSERT_TRUE(reach_live(source, subscriber, sink));
    source.change_some(50);
    ASSERT_TRUE(both_until(subscriber, [&] { return sink.updates.size() == 50; }));
  }
  static DatagramHeader header_of(std::span<const std::byte> datagram) {
    DatagramHeader header;
    std::memcpy(&header, datagram.data(), sizeof(header));
    return header;
  }
  // The subscriber finds it out, and is written to from then on.
  void expect_found_and_written() {
    ASSERT_TRUE(
        both_until(subscriber, [&] { return subscriber.state() == SubscriberState::kDown; }));
    EXPECT_EQ(subscriber.counters().forged.get(), 1u);
    EXPECT_EQ(sink.events.back(), LinkEvent::kLost);
    EXPECT_FALSE(subscriber.multicast_refused().empty());
    device.meddler = {};
    subscriber.collect();
    Sink fresh;
    join(fabric, source, subscriber);
    ASSERT_TRUE(reach_live(source, subscriber, fresh));
    EXPECT_EQ(subscriber.counters().by_multicast.get(), 0u);
    expect_same_values(source, fresh);
    source.change_some(30);
    ASSERT_TRUE(close_and_drain(source, subscriber, fresh));
    expect_conserved(source, subscriber);
    expect_same_values(source, fresh);
    EXPECT_EQ(subscriber.counters().seen.get(), 30u);
  }
};

TEST_F(ForgedMulticast, AnotherUpdateInThePlaceOfThePublishersIsFound) {
  device.meddler = [](std::span<std::byte> datagram) {
    if (header_of(datagram).kind == DatagramKind::kUpdates)
      datagram[sizeof(DatagramHeader) + 8] ^= std::byte{1};
    return true;
  };
  source.change_some(1);
  expect_found_and_written();
}

// A device may fail the queue pair of a receive that is too short.
TEST_F(ForgedMulticast, NoDatagramThatThePortTakesIsTooLongForAReceive) {
  const auto& receives = device.datagram_receives();
  ASSERT_FALSE(receives.empty());
  for (const rdma::ReceiveRequest& receive : receives)
    ASSERT_GE(receive.length_bytes, rdma::kGrhBytes + device.info().datagram_bytes_max);
}

TEST_F(ForgedMulticast, AnUpdateThatThePublisherNeverSentIsFound) {
  device.meddler = [](std::span<std::byte> datagram) {
    const DatagramHeader header = header_of(datagram);
    if (header.kind != DatagramKind::kState) return true;
    // The state, which is sent behind each burst, is replaced by the update to come.
    const std::uint64_t next = header.first + 1;
    std::fill(datagram.begin() + sizeof(header), datagram.end(), std::byte{0});
    DatagramHeader forged = header;
    forged.first = next + 1000;
    std::memcpy(datagram.data(), &forged, sizeof(forged));
    MulticastState state{};
    state.published = next + 1000;
    std::memcpy(datagram.data() + sizeof(forged), &state, sizeof(state));
    return true;
  };
  source.change_some(1);
  expect_found_and_written();
}

TEST_F(ForgedMulticast, AnotherImageInThePlaceOfThePublishersIsFound) {
  device.meddler = [](std::span<std::byte> datagram) {
    if (header_of(datagram).kind == DatagramKind::kImages)
      datagram[sizeof(DatagramHeader) + 8 + 8] ^= std::byte{1};
    return true;
  };
  source.change_some(1);
  expect_found_and_written();
}

TEST_F(ForgedMulticast, AnImageThatThePublisherNeverSentIsFound) {
  device.meddler = [](std::span<std::byte> datagram) {
    if (header_of(datagram).kind != DatagramKind::kImages) return true;
    for (std::size_t at = sizeof(DatagramHeader) + 8 + 56; at < datagram.size(); at += 64)
      datagram[at + 2] = std::byte{1};  // versions, far ahead
    return true;
  };
  source.change_some(1);
  expect_found_and_written();
}

TEST_F(ForgedMulticast, OneThatComesTwiceAndDiffersIsFoundAtOnce) {
  std::vector<std::byte> kept;
  device.meddler = [&](std::span<std::byte> datagram) {
    if (header_of(datagram).kind == DatagramKind::kUpdates && kept.empty()) {
      kept.assign(datagram.begin(), datagram.end());
      kept[sizeof(DatagramHeader)] ^= std::byte{1};
    } else if (!kept.empty() && kept.size() <= datagram.size() &&
               header_of(datagram).kind == DatagramKind::kImages) {
      return false;
    }
    return true;
  };
  source.change_some(1);
  source.end_turn();
  subscriber.poll(sink);
  ASSERT_FALSE(kept.empty());
  device.meddler = [&](std::span<std::byte> datagram) {
    if (datagram.size() != kept.size()) return false;
    std::copy(kept.begin(), kept.end(), datagram.begin());
    return true;
  };
  source.change_some(1);
  expect_found_and_written();
}

TEST_F(ForgedMulticast, WhatMakesNoSenseIsDroppedCountedAndRead) {
  std::uint64_t meddled = 0;
  device.meddler = [&](std::span<std::byte> datagram) {
    switch (meddled++ % 3) {
      case 0:
        datagram[0] ^= std::byte{1};  // the epoch
        break;
      case 1:
        datagram[offsetof(DatagramHeader, kind)] = std::byte{77};
        break;
      default:
        datagram[offsetof(DatagramHeader, count)] ^= std::byte{1};
        if (header_of(datagram).kind == DatagramKind::kState)
          datagram[offsetof(DatagramHeader, kind)] = std::byte{0};
    }
    return true;
  };
  source.change_some(60);
  ASSERT_TRUE(both_until(subscriber, [&] { return sink.updates.size() == 110; }));
  EXPECT_GT(subscriber.counters().multicast.foreign.get(), 0u);
  EXPECT_GT(subscriber.counters().multicast.malformed.get(), 0u);
  EXPECT_EQ(subscriber.counters().forged.get(), 0u);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_F(Multicast, DropsWhatAnotherSenderSendsToTheGroup) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256));
  PublisherOptions options = multicast_options(*fabric.device);
  Source one(*fabric.device, options);
  Source other(*fabric.device, options);  // in the same group
  join(fabric, one, subscriber);
  ASSERT_TRUE(reach_live(one, subscriber, sink));
  for (int round = 0; round < 20; ++round) {
    one.change_some(3);
    one.end_turn();
    other.change_some(5);
    other.end_turn();
    subscriber.poll(sink);
  }
  ASSERT_TRUE(close_and_drain(one, subscriber, sink));
  expect_sound(sink);
  expect_conserved(one, subscriber);
  expect_same_values(one, sink);
  EXPECT_EQ(subscriber.counters().seen.get(), 60u);
  EXPECT_GT(subscriber.counters().multicast.foreign.get(), 0u);
  EXPECT_EQ(subscriber.counters().forged.get(), 0u);
}

}  // namespace
}  // namespace tickpath::link::test

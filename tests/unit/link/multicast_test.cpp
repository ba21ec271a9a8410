// Updates and images by multicast, both ends driven by one thread, so that every interleaving here
// is chosen by the test.
#include "tests/unit/link/multicast.hpp"

#include <chrono>
#include <random>
#include <thread>

#include "tests/support/thrown.hpp"

namespace tickpath::link::test {
namespace {

// What lies in the subscriber's memory is what the publisher has.
void expect_same_images(const Source& source, const TestSubscriber& subscriber) {
  for (std::uint32_t thing = 0; thing < kThings; ++thing) {
    Image image{};
    const ReadStatus status = subscriber.image(thing, image);
    EXPECT_EQ(status, source.values[thing] == 0 ? ReadStatus::kEmpty : ReadStatus::kOk) << thing;
    EXPECT_EQ(image.value, source.values[thing]) << "thing " << thing;
  }
}

TEST_F(Multicast, HandsOverEveryUpdateInOrderAndWritesNoneOfThem) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  EXPECT_EQ(subscriber.counters().by_multicast.get(), 1u);
  for (int turn = 0; turn < 200; ++turn) {
    source.change_some(1 + turn % 30);
    source.end_turn();
    while (subscriber.poll(sink) != 0) {
    }
  }
  ASSERT_TRUE(both_until(subscriber, [&] { return sink.updates.size() == source.changes; }));
  EXPECT_EQ(source.publisher.counters().slots_posted.get(), 0u);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_sound(sink);
  expect_same_values(source, sink);
  expect_conserved(source, subscriber);
  EXPECT_EQ(subscriber.counters().overrun.get(), 0u);
  EXPECT_EQ(subscriber.counters().multicast.malformed.get(), 0u);
  EXPECT_EQ(subscriber.counters().multicast.foreign.get(), 0u);
  EXPECT_EQ(sink.events, (std::vector{LinkEvent::kConnected, LinkEvent::kClosed}));
}

TEST_F(Multicast, PacksUpdatesThatArePublishedTogether) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  const std::uint64_t before = source.publisher.multicast()->counters().datagrams.get();
  for (int i = 0; i < 90; ++i) source.publisher.publish({});
  source.publisher.turn();
  // 15 slots of 64 bytes fit a datagram of 1,024.
  EXPECT_EQ(source.publisher.multicast()->counters().datagrams.get() - before, 6u);
}

TEST_F(Multicast, SendsTheSameForAnyNumberOfSubscribers) {
  std::vector<std::unique_ptr<TestSubscriber>> all;
  std::vector<Sink> sinks(4);
  std::vector<std::uint64_t> sent;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    all.push_back(std::make_unique<TestSubscriber>(*fabric.device, nullptr, reader(256)));
    join(fabric, source, *all.back());
    ASSERT_TRUE(reach_live(source, *all.back(), sinks[i]));
    const std::uint64_t before = source.publisher.multicast()->counters().datagrams.get();
    source.change_some(40);
    source.end_turn();
    sent.push_back(source.publisher.multicast()->counters().datagrams.get() - before);
  }
  for (const std::uint64_t count : sent) EXPECT_EQ(count, sent.front());
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    ASSERT_TRUE(close_and_drain(source, *all[i], sinks[i]));
    expect_conserved(source, *all[i]);
    expect_same_values(source, sinks[i]);
    EXPECT_EQ(all[i]->counters().overrun.get(), 0u);
  }
}

TEST_F(Multicast, ShowsAllImagesToOneThatJoinsLate) {
  source.change_some(7);  // seven of the ten things
  source.end_turn();
  TestSubscriber subscriber(*fabric.device, nullptr, reader(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  EXPECT_EQ(sink.images, 7u);
  EXPECT_TRUE(sink.updates.empty());
  expect_same_values(source, sink);
  expect_same_images(source, subscriber);
  source.change_some(5);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  EXPECT_EQ(sink.updates.front(), 8u);
  EXPECT_EQ(subscriber.counters().published.get(), 5u);
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_F(Multicast, NeverWaitsForAReaderAndTellsItExactlyWhatItLost) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(50'000);  // with nobody reading, and a ring of 1,024 to READ from
  ASSERT_TRUE(both_until(subscriber, [&] { return sink.live == 2; }));
  EXPECT_GE(subscriber.counters().overruns.get(), 1u);
  EXPECT_GE(sink.overrun, 40'000u);
  expect_same_values(source, sink);
  source.change_some(3);  // and on it goes
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_sound(sink);
  expect_same_values(source, sink);
  expect_conserved(source, subscriber);
}

// The bar: each datagram is lost with a probability of 5 %, whatever is in it.
TEST_F(Multicast, RecoversEveryUpdateAndImageAtFivePercentLoss) {
  std::uint64_t recovered = 0;
  std::uint64_t images_recovered = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Source own(*fabric.device, multicast_options(*fabric.device, 4096));
    Sink told;
    TestSubscriber subscriber(*fabric.device, nullptr, reader(2048, 50, seed));
    own.change_some(random() % 20);
    own.end_turn();
    join(fabric, own, subscriber);
    ASSERT_TRUE(reach_live(own, subscriber, told));
    for (int step = 0; step < 400; ++step) {
      own.change_some(random() % 6);
      if (random() % 2 == 0) own.end_turn();
      for (unsigned poll = random() % 4; poll != 0; --poll) subscriber.poll(told, 64);
    }
    ASSERT_TRUE(close_and_drain(own, subscriber, told));
    expect_sound(told);
    expect_same_values(own, told);
    expect_conserved(own, subscriber);
    const SubscriberCounters& counters = subscriber.counters();
    EXPECT_EQ(counters.overruns.get(), 0u) << "nothing was overwritten before it was READ";
    // Before the join: superseded by images; behind it every single one.
    EXPECT_EQ(counters.seen.get() + counters.overrun.get(), counters.published.get());
    EXPECT_EQ(counters.forged.get(), 0u);
    EXPECT_GT(counters.multicast.dropped.get(), 0u);
    recovered += counters.multicast.recovered.get();
    images_recovered += counters.multicast.images_recovered.get();
  }
  EXPECT_GT(recovered, 100u);
  EXPECT_GT(images_recovered, 100u);
}

TEST_F(Multicast, ConservesEveryUpdateUnderLossLapsAndAnyInterleaving) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Source own(*fabric.device, multicast_options(*fabric.device, 16));
    Sink told;
    TestSubscriber subscriber(*fabric.device, nullptr, reader(seed % 2 == 0 ? 8 : 256, 200, seed));
    own.change_some(random() % 20);
    own.end_turn();
    join(fabric, own, subscriber);
    for (int step = 0; step < 300; ++step) {
      switch (random() % 4) {
        case 0:
          own.change_some(random() % 6);
          break;
        case 1:
          own.end_turn();
          break;
        default:
          subscriber.poll(told, 1 + random() % 4);
      }
    }
    ASSERT_TRUE(close_and_drain(own, subscriber, told));
    expect_sound(told);
    expect_same_values(own, told);
    expect_conserved(own, subscriber);
    EXPECT_EQ(told.updates.size(), subscriber.counters().seen.get());
    EXPECT_EQ(subscriber.counters().forged.get(), 0u);
  }
}

TEST_F(Multicast, ReadsEverythingWhereNoDatagramArrives) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256, 1000));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    source.change_some(10);
    ASSERT_TRUE(both_until(subscriber, [&] { return sink.updates.size() == 10 * round; }));
  }
  ASSERT_TRUE(both_until(subscriber, [&] {
    Image image{};
    return subscriber.image(kThings - 1, image) == ReadStatus::kOk && image.value == source.changes;
  }));
  expect_same_images(source, subscriber);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_conserved(source, subscriber);
  EXPECT_EQ(subscriber.counters().overrun.get(), 0u);
  EXPECT_EQ(subscriber.counters().multicast.recovered.get(), 200u);
  EXPECT_EQ(subscriber.counters().multicast.datagrams.get(), 0u);
}

// A step may take longer than until the next look at the publisher is due: a busy machine, an
// emulated one.
TEST_F(Multicast, FillsItsGapsWhereItSeldomGetsATurn) {
  source.change_some(7);
  source.end_turn();
  TestSubscriber subscriber(*fabric.device, nullptr, reader(1024, 300));
  join(fabric, source, subscriber);
  for (int turn = 0; turn < 150; ++turn) {
    if (turn < 75) source.change_some(3);
    source.end_turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(6));
    subscriber.poll(sink);
    if (turn == 40) {
      EXPECT_EQ(subscriber.state(), SubscriberState::kLive);
    }
  }
  EXPECT_EQ(subscriber.position(), source.changes);
  EXPECT_GT(subscriber.counters().multicast.recovered.get(), 0u);
  expect_same_images(source, subscriber);
  expect_same_values(source, sink);
}

// What was published while it waited for images is not forgotten where it leaves.
TEST_F(Multicast, CountsAsLostWhatItWaitedForUntilItLeft) {
  PublisherOptions options = multicast_options(*fabric.device);
  options.images_per_flush = 1;
  Source slow(*fabric.device, options);
  slow.change_some(kThings);
  slow.end_turn();  // one image of ten
  auto subscriber = std::make_unique<TestSubscriber>(*fabric.device, nullptr, reader(256));
  join(fabric, slow, *subscriber);
  slow.publisher.turn();  // takes it in
  for (int turn = 0; turn < 2; ++turn) {
    slow.change_some(kThings);
    slow.end_turn();
  }
  slow.end_turn();  // behind which nothing was published: the state is told
  ASSERT_TRUE(eventually([&] {
    subscriber->poll(sink);
    return subscriber->counters().published.get() == 2 * kThings;
  }));
  ASSERT_EQ(subscriber->state(), SubscriberState::kResyncing);
  subscriber->close();
  EXPECT_EQ(subscriber->counters().seen.get(), 0u);
  EXPECT_EQ(subscriber->counters().overrun.get(), 2 * kThings);
  subscriber.reset();
  ASSERT_TRUE(eventually([&] {
    slow.publisher.turn();
    return slow.publisher.subscriber_count() == 0;
  }));
  slow.publisher.collect();
  ASSERT_EQ(slow.publisher.accounts().size(), 1u);
  EXPECT_EQ(slow.publisher.accounts()[0].published, 2 * kThings);
  EXPECT_FALSE(slow.publisher.accounts()[0].lost);
}

TEST_F(Multicast, KeepsImagesAsNewAsThePublishersUnderLoss) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(1024, 300));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  for (int round = 0; round < 300; ++round) {
    source.change_some(7);
    source.end_turn();
    subscriber.poll(sink);
  }
  ASSERT_TRUE(both_until(subscriber, [&] {
    for (std::uint32_t thing = 0; thing < kThings; ++thing) {
      Image image{};
      if (subscriber.image(thing, image) != ReadStatus::kOk || image.value != source.values[thing])
        return false;
    }
    return true;
  }));
  EXPECT_GT(subscriber.counters().multicast.images_recovered.get(), 0u);
}

TEST_F(Multicast, GivesItsCountsToAReaderThatOnlyReadsAfterTheClose) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(32, 100));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(500);
  source.end_turn();
  source.publisher.close();
  source.publisher.turn();
  EXPECT_FALSE(source.publisher.closed()) << "its subscriber may want to READ";
  ASSERT_TRUE(eventually([&] {
    source.publisher.turn();
    return source.publisher.closed();
  })) << "but is not waited for long";
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(subscriber.counters().published.get(), 500u);
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_F(Multicast, TellsOneThatComesAfterTheCloseThatItIsOver) {
  source.change_some(20);
  source.end_turn();
  source.publisher.close();
  EXPECT_TRUE(source.publisher.closed());  // there was nobody to tell
  TestSubscriber late(*fabric.device, nullptr, reader(64));
  join(fabric, source, late);
  ASSERT_TRUE(eventually([&] {
    source.publisher.turn();
    late.poll(sink);
    return late.state() == SubscriberState::kDown && !sink.events.empty();
  }));
  EXPECT_EQ(sink.events.back(), LinkEvent::kClosed);
  EXPECT_EQ(late.counters().published.get(), 0u);
  expect_conserved(source, late);
}

TEST_F(Multicast, WritesToThoseWhoDoNotTakeIt) {
  SubscriberOptions plain = reader(256);
  plain.multicast = false;
  TestSubscriber written(*fabric.device, nullptr, plain);
  TestSubscriber joined(*fabric.device, nullptr, reader(256));
  Sink other;
  source.change_some(25);
  source.end_turn();
  join(fabric, source, written);
  join(fabric, source, joined);
  ASSERT_TRUE(reach_live(source, written, sink));
  ASSERT_TRUE(reach_live(source, joined, other));
  EXPECT_EQ(written.counters().by_multicast.get(), 0u);
  EXPECT_EQ(joined.counters().by_multicast.get(), 1u);
  for (const SubscriberStatus& status : source.publisher.subscribers())
    EXPECT_EQ(status.multicast, status.id == 2);
  source.change_some(100);
  EXPECT_EQ(source.publisher.counters().slots_posted.get(), 100u);
  ASSERT_TRUE(close_and_drain(source, written, sink));
  ASSERT_TRUE(reach_down(joined, other));
  for (const TestSubscriber* const subscriber : {&written, &joined}) {
    expect_conserved(source, *subscriber);
    EXPECT_EQ(subscriber->counters().seen.get(), 100u);
  }
  expect_same_values(source, sink);
  expect_same_values(source, other);
}

TEST_F(Multicast, TellsOneThatLeavesFromOneThatIsLost) {
  auto leaving = std::make_unique<TestSubscriber>(*fabric.device, nullptr, reader(64));
  auto dying = std::make_unique<TestSubscriber>(*fabric.device, nullptr, reader(64));
  for (TestSubscriber* const subscriber : {leaving.get(), dying.get()}) {
    join(fabric, source, *subscriber);
    Sink own;
    ASSERT_TRUE(reach_live(source, *subscriber, own));
  }
  source.change_some(20);
  ASSERT_TRUE(both_until(*leaving, [&] { return sink.updates.size() == 20; }));
  leaving->close();
  leaving.reset();
  dying.reset();
  ASSERT_TRUE(eventually([&] {
    source.end_turn();
    return source.publisher.subscriber_count() == 0;
  }));
  EXPECT_EQ(source.publisher.counters().subscribers_left.get(), 1u);
  EXPECT_EQ(source.publisher.counters().subscribers_lost.get(), 1u);
}

TEST_F(Multicast, HandsOverWhatHadArrivedBeforeThePublisherDiedAndConnectsAgain) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(64));
  {
    Source dying(*fabric.device, multicast_options(*fabric.device));
    join(fabric, dying, subscriber);
    ASSERT_TRUE(reach_live(dying, subscriber, sink));
    dying.change_some(20);
    dying.publisher.turn();
  }
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(sink.updates.size(), 20u);
  EXPECT_EQ(sink.events.back(), LinkEvent::kLost);
  EXPECT_EQ(subscriber.counters().conserved.get(), 0u);  // nobody told the final count
  source.change_some(3);
  source.end_turn();
  subscriber.collect();
  Sink fresh;
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, fresh));
  EXPECT_EQ(fresh.images, 3u);
  source.change_some(4);
  ASSERT_TRUE(close_and_drain(source, subscriber, fresh));
  expect_conserved(source, subscriber);
  EXPECT_EQ(subscriber.counters().published.get(), 4u);
  EXPECT_EQ(subscriber.counters().by_multicast.get(), 1u);
}

TEST_F(Multicast, JoinsAGroupAgainThatWasLostAndKeepsTheConnection) {
  if (over_network()) GTEST_SKIP() << "a group of the network is not for a test to remove";
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  std::filesystem::remove_all(source.publisher.multicast()->invitation().group);
  bool lost = false;
  ASSERT_TRUE(both_until(subscriber, [&] {
    subscriber.collect();
    lost = lost || !subscriber.multicast_lost().empty();
    return lost && subscriber.multicast_lost().empty();
  }));
  source.publisher.collect();
  EXPECT_NE(source.publisher.multicast()->group_lost(), "");
  ASSERT_TRUE(eventually([&] {
    source.publisher.collect();
    return source.publisher.multicast()->group_lost().empty();
  }));
  // The subscriber finds the sender in the group: what it does not READ comes from there.
  const std::uint64_t before = subscriber.counters().multicast.datagrams.get();
  ASSERT_TRUE(both_until(subscriber, [&] {
    if (sink.updates.size() == source.changes) source.change_some(1);
    return subscriber.counters().multicast.datagrams.get() > before + 10;
  }));
  EXPECT_EQ(sink.events, std::vector<LinkEvent>{LinkEvent::kConnected});
  EXPECT_EQ(subscriber.counters().by_multicast.get(), 1u);
}

TEST_F(Multicast, VerifiesWhatItTookByThePublishersCheckWord) {
  TestSubscriber subscriber(*fabric.device, nullptr, reader(256, 50));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(100);
  ASSERT_TRUE(both_until(subscriber,
                         [&] { return subscriber.counters().multicast.verified.get() == 100; }));
}

struct Counted {
  void on_update(const Update&, std::uint64_t) noexcept { ++count; }
  std::uint64_t count = 0;
};

TEST_F(Multicast, WorksWithoutImages) {
  PublisherOptions options = multicast_options(*fabric.device, 64);
  options.image_count = 0;
  Publisher<Update> publisher(*fabric.device, nullptr, options);
  SubscriberOptions bare = reader(16, 100);
  bare.image_count = 0;
  Subscriber<Update> subscriber(*fabric.device, nullptr, bare);
  Counted counted;
  fabric.meet([&] { connect_now(subscriber, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(publisher, request, {}, {}); });
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    publisher.publish({i, i, {}});
    publisher.turn();
    if (i % 3 == 0) subscriber.poll(counted);
  }
  for (int i = 0; i < 200; ++i) publisher.publish({});
  publisher.close();
  ASSERT_TRUE(eventually([&] {
    publisher.turn();
    subscriber.poll(counted);
    return subscriber.state() == SubscriberState::kDown && publisher.closed();
  }));
  EXPECT_EQ(subscriber.counters().conserved.get(), 1u);
  EXPECT_EQ(counted.count, subscriber.counters().seen.get());
}

// ------------------------------------------------------------------------------------------ set-up

TEST_F(Multicast, RefusesOptionsThatCannotWork) {
  const auto cause = [&](PublisherOptions options) {
    return test_support::cause_of<rdma::SetupError>(
        [&] { Source refused(*fabric.device, std::move(options)); });
  };
  EXPECT_EQ(cause(multicast_options(*fabric.device, 100)),
            rdma::SetupCause::kLimit);  // no power of two
  PublisherOptions short_ones = multicast_options(*fabric.device);
  short_ones.multicast.datagram_bytes_max = 100;  // an image does not fit
  EXPECT_EQ(cause(short_ones), rdma::SetupCause::kLimit);
}

TEST(MulticastLossText, IsParsedOrRefusedWithWhatIsWrong) {
  EXPECT_EQ(parse_loss("per_mille=50,seed=7").per_mille, 50u);
  EXPECT_EQ(parse_loss("per_mille=50,seed=7").seed, 7u);
  EXPECT_EQ(parse_loss("per_mille=1000").seed, 1u);
  EXPECT_EQ(parse_loss("").per_mille, 0u);
  for (const char* const wrong : {"per_mille=1001", "per_mille=", "loss=5", "per_mille=5x", "5"})
    EXPECT_THROW((void)parse_loss(wrong), rdma::SetupError) << wrong;
}

TEST(MulticastInvitationBytes, AreReadBackAndRefusedWhereTheyMakeNoSense) {
  MulticastInvitation invitation;
  invitation.part.epoch = 77;
  invitation.part.depth = 1024;
  invitation.part.datagram_bytes = 1024;
  invitation.group = "239.255.8.1";
  std::vector<std::byte> bytes = invitation_bytes(invitation);
  const MulticastInvitation read = read_invitation(bytes);
  EXPECT_EQ(read.part.epoch, 77u);
  EXPECT_EQ(read.group, invitation.group);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW((void)read_invitation(std::span(bytes).first(length)), rdma::SetupError) << length;
  invitation.part.depth = 1000;
  EXPECT_THROW((void)read_invitation(invitation_bytes(invitation)), rdma::SetupError);
  invitation.part.depth = 1024;
  invitation.part.datagram_bytes = 64;
  EXPECT_THROW((void)read_invitation(invitation_bytes(invitation)), rdma::SetupError);
}

}  // namespace
}  // namespace tickpath::link::test

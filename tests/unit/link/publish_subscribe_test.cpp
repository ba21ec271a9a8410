// Update ring and images over the shm provider, both ends driven by one thread, so that every
// interleaving here is chosen by the test.
#include <random>

#include "tests/support/connect.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/link/market.hpp"

namespace tickpath::link::test {
namespace {

class PublishSubscribe : public OfBothModes {
 protected:
  Fabric fabric;
  Source source{*fabric.device};
  Sink sink;
};

INSTANTIATE_TEST_SUITE_P(Modes, PublishSubscribe, kBothModes, mode_name);

TEST_P(PublishSubscribe, HandsOverEveryUpdateInOrder) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  for (int turn = 0; turn < 200; ++turn) {
    source.change_some(1 + turn % 30);
    source.end_turn();
    ASSERT_TRUE(eventually([&] {
      source.end_turn();  // also hears of receives that are free again
      subscriber.poll(sink);
      return sink.updates.size() == source.changes;
    }));
  }
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_sound(sink);
  expect_same_values(source, sink);
  expect_conserved(source, subscriber);
  EXPECT_EQ(subscriber.counters().overrun.get(), 0u);
  EXPECT_EQ(sink.events, (std::vector{LinkEvent::kConnected, LinkEvent::kClosed}));
}

TEST_P(PublishSubscribe, ShowsAllImagesToOneThatJoinsLate) {
  source.change_some(7);  // seven of the ten things
  source.end_turn();
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  EXPECT_EQ(sink.images, 7u);
  EXPECT_TRUE(sink.updates.empty());
  expect_same_values(source, sink);
  source.change_some(5);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  EXPECT_EQ(sink.updates.front(), 8u);
  EXPECT_EQ(subscriber.counters().published.get(), 5u);
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_P(PublishSubscribe, NeverWaitsForAReaderAndTellsItExactlyWhatItLost) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(16));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(1000);  // with nobody reading
  ASSERT_TRUE(all_told(source));
  ASSERT_TRUE(eventually([&] {
    source.end_turn();
    subscriber.poll(sink);
    return sink.live >= 2 && sink.updates.size() + subscriber.counters().overrun.get() == 1000u;
  }));
  EXPECT_GE(subscriber.counters().overruns.get(), 1u);  // more where a send queue was full
  EXPECT_GE(sink.overrun, 1000u - 16);
  expect_same_values(source, sink);
  source.change_some(3);  // and on it goes
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_sound(sink);
  expect_same_values(source, sink);
  expect_conserved(source, subscriber);
}

TEST_P(PublishSubscribe, ConservesEveryUpdateUnderAnyInterleaving) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Source own(*fabric.device);
    Sink told;
    TestSubscriber subscriber(*fabric.device, nullptr, options(8));
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
  }
}

TEST_P(PublishSubscribe, GivesItsCountsToAReaderThatOnlyReadsAfterTheClose) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(32));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(500);
  ASSERT_TRUE(all_told(source));
  source.publisher.close();
  ASSERT_TRUE(eventually([&] {
    source.publisher.turn();
    return source.publisher.closed();
  }));
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(subscriber.counters().published.get(), 500u);
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_P(PublishSubscribe, TellsOneThatComesAfterTheCloseThatItIsOver) {
  source.change_some(20);
  source.end_turn();
  source.publisher.close();
  EXPECT_TRUE(source.publisher.closed());  // there was nobody to tell
  TestSubscriber late(*fabric.device, nullptr, options(64));
  join(fabric, source, late);
  ASSERT_TRUE(eventually([&] {
    source.publisher.turn();
    late.poll(sink);
    return late.state() == SubscriberState::kDown && !sink.events.empty();
  }));
  EXPECT_EQ(sink.events.back(), LinkEvent::kClosed);
  EXPECT_TRUE(eventually([&] {  // it learns a moment later that this one knows
    source.publisher.turn();
    return source.publisher.closed();
  }));
  EXPECT_EQ(late.counters().published.get(), 0u);
  expect_conserved(source, late);
}

TEST_P(PublishSubscribe, ServesTheOthersWhenOneDies) {
  auto dying = std::make_unique<TestSubscriber>(*fabric.device, nullptr, options(64));
  TestSubscriber living(*fabric.device, nullptr, options(64));
  join(fabric, source, *dying);
  join(fabric, source, living);
  ASSERT_TRUE(reach_live(source, living, sink));
  EXPECT_EQ(source.publisher.subscriber_count(), 2u);
  dying.reset();
  ASSERT_TRUE(eventually([&] {
    source.change_some(1);
    source.end_turn();
    living.poll(sink);
    return source.publisher.subscriber_count() == 1;
  }));
  source.publisher.collect();
  EXPECT_EQ(source.publisher.subscribers().size(), 1u);
  EXPECT_EQ(source.publisher.counters().subscribers_lost.get(), 1u);
  source.change_some(10);
  ASSERT_TRUE(close_and_drain(source, living, sink));
  EXPECT_EQ(living.counters().overrun.get(), 0u);
  expect_conserved(source, living);
}

TEST_P(PublishSubscribe, TellsOneThatLeavesFromOneThatIsLost) {
  auto leaving = std::make_unique<TestSubscriber>(*fabric.device, nullptr, options(64));
  join(fabric, source, *leaving);
  ASSERT_TRUE(reach_live(source, *leaving, sink));
  source.change_some(20);
  leaving->poll(sink);
  EXPECT_EQ(leaving->position() - leaving->join_sequence(),
            leaving->counters().seen.get() + leaving->counters().overrun.get());
  leaving->close();
  leaving.reset();
  ASSERT_TRUE(eventually([&] {
    source.end_turn();
    return source.publisher.subscriber_count() == 0;
  }));
  EXPECT_EQ(source.publisher.counters().subscribers_left.get(), 1u);
  EXPECT_EQ(source.publisher.counters().subscribers_lost.get(), 0u);
}

TEST_P(PublishSubscribe, KeepsAnAccountOfEverySubscriberUntilTheEnd) {
  const auto counted = [](const TestSubscriber& subscriber) {
    return subscriber.counters().seen.get() + subscriber.counters().overrun.get();
  };
  source.change_some(7);  // before anyone joined: in nobody's account
  auto leaving = std::make_unique<TestSubscriber>(*fabric.device, nullptr, options(64));
  auto dying = std::make_unique<TestSubscriber>(*fabric.device, nullptr, options(64));
  TestSubscriber staying(*fabric.device, nullptr, options(64));
  for (TestSubscriber* const subscriber : {leaving.get(), dying.get(), &staying}) {
    fabric.meet([&] { connect_now(*subscriber, fabric.endpoint, {}); },
                [&](rdma::ConnectionRequest& request) {
                  const char* name = subscriber == leaving.get() ? "leaving"
                                     : subscriber == dying.get() ? "dying"
                                                                 : "staying";
                  accept_now(source.publisher, request, {}, {}, name);
                });
    Sink own;
    ASSERT_TRUE(reach_live(source, *subscriber, own));
  }
  EXPECT_TRUE(source.publisher.departed().empty());
  source.change_some(20);
  source.end_turn();
  ASSERT_TRUE(eventually([&] {
    leaving->poll(sink);
    return counted(*leaving) == 20;
  }));
  const std::uint64_t seen_by_leaving = counted(*leaving);
  leaving->close();
  source.change_some(3);  // before it is known that one has left
  leaving.reset();
  dying.reset();
  ASSERT_TRUE(eventually([&] {
    source.end_turn();
    return source.publisher.subscriber_count() == 1;
  }));
  source.publisher.collect();
  ASSERT_EQ(source.publisher.departed().size(), 2u);
  Sink late;
  source.change_some(5);
  ASSERT_TRUE(close_and_drain(source, staying, late));

  std::map<std::string, SubscriberAccount> accounts;
  for (const SubscriberAccount& account : source.publisher.accounts())
    EXPECT_TRUE(accounts.emplace(account.name, account).second) << account.name;
  ASSERT_EQ(accounts.size(), 3u);
  EXPECT_FALSE(accounts.at("leaving").lost);
  EXPECT_EQ(accounts.at("leaving").published, seen_by_leaving);
  EXPECT_EQ(seen_by_leaving, 20u);
  EXPECT_TRUE(accounts.at("dying").lost);
  EXPECT_FALSE(accounts.at("staying").lost);
  EXPECT_EQ(accounts.at("staying").published, 28u);
  EXPECT_EQ(counted(staying), 28u);
}

TEST_P(PublishSubscribe, IsBusyWhileANewcomerLacksImages) {
  Source slow(*fabric.device, {.image_count = kThings, .images_per_flush = 3});
  slow.change_some(10);
  EXPECT_TRUE(slow.publisher.busy());
  for (int turn = 0; turn < 4; ++turn) slow.end_turn();
  EXPECT_FALSE(slow.publisher.busy());
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, slow, subscriber);
  slow.end_turn();
  EXPECT_TRUE(slow.publisher.busy());
  ASSERT_TRUE(reach_live(slow, subscriber, sink));
  EXPECT_FALSE(slow.publisher.busy());
}

TEST_P(PublishSubscribe, HandsOverWhatHadArrivedBeforeThePublisherDied) {
  auto dying = std::make_unique<Source>(*fabric.device);
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, *dying, subscriber);
  ASSERT_TRUE(reach_live(*dying, subscriber, sink));
  dying->change_some(20);
  dying.reset();  // without close()
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(sink.updates.size(), 20u);
  EXPECT_EQ(sink.events.back(), LinkEvent::kLost);
  EXPECT_EQ(subscriber.counters().conserved.get(), 0u);  // nobody told the final count
}

TEST_P(PublishSubscribe, ConnectsAgainAfterALoss) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  {
    Source first(*fabric.device);
    join(fabric, first, subscriber);
    first.change_some(5);
    ASSERT_TRUE(reach_live(first, subscriber, sink));
  }
  ASSERT_TRUE(reach_down(subscriber, sink));
  source.change_some(3);
  source.end_turn();
  for (int again = 0; again < 10; ++again) subscriber.collect();
  Sink fresh;
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, fresh));
  EXPECT_EQ(fresh.images, 3u);
  source.change_some(4);
  ASSERT_TRUE(close_and_drain(source, subscriber, fresh));
  expect_conserved(source, subscriber);
  EXPECT_EQ(subscriber.counters().published.get(), 4u);
}

TEST_P(PublishSubscribe, ServesSixteenSubscribersAndRefusesTheNext) {
  std::vector<std::unique_ptr<TestSubscriber>> all;
  std::vector<Sink> sinks(kSubscribersMax);
  for (std::size_t i = 0; i < kSubscribersMax; ++i) {
    all.push_back(std::make_unique<TestSubscriber>(*fabric.device, nullptr, options(64)));
    join(fabric, source, *all.back());
    source.end_turn();
  }
  TestSubscriber next(*fabric.device, nullptr, options(64));
  EXPECT_THROW(join(fabric, source, next), rdma::SetupError);
  source.change_some(40);
  for (std::size_t i = 0; i < kSubscribersMax; ++i)
    ASSERT_TRUE(reach_live(source, *all[i], sinks[i]));
  source.change_some(40);
  for (std::size_t i = 0; i < kSubscribersMax; ++i) {
    ASSERT_TRUE(close_and_drain(source, *all[i], sinks[i]));
    expect_conserved(source, *all[i]);
    expect_same_values(source, sinks[i]);
  }
}

TEST_P(PublishSubscribe, BoundsTheImagesOfOneFlushAndStillGetsThere) {
  Source slow(*fabric.device, {.image_count = kThings, .images_per_flush = 3});
  TestSubscriber subscriber(*fabric.device, nullptr, options(8));
  join(fabric, slow, subscriber);
  slow.change_some(100);
  slow.publisher.turn();
  std::uint64_t before = 0;
  ASSERT_TRUE(eventually([&] {
    slow.end_turn();
    const std::uint64_t flushed = slow.publisher.counters().images_flushed.get();
    EXPECT_LE(flushed - before, 3u);
    before = flushed;
    subscriber.poll(sink);
    return subscriber.state() == SubscriberState::kLive;
  }));
  expect_same_values(slow, sink);
}

TEST_P(PublishSubscribe, WritesAnImageOnceHoweverOftenItChangedInATurn) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  for (std::uint64_t value = 1; value <= 50; ++value) source.change(4, value);
  source.end_turn();
  EXPECT_EQ(source.publisher.counters().images_flushed.get(), 1u);
}

// Images alone do not make an overrun reader live: the watermark does, and it is spared where
// updates go out in every turn.
TEST_P(PublishSubscribe, TheWatermarkComesWithAnIdleFlushOrWithinSixteenBusyOnes) {
  TestSubscriber subscriber(*fabric.device, nullptr, options(16));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(1);
  source.end_turn();
  EXPECT_TRUE(source.publisher.busy()) << "whoever would sleep now flushes once more";
  source.end_turn();
  EXPECT_FALSE(source.publisher.busy());

  source.change_some(1000);
  int flushes = 0;
  // Told within sixteen; when it is there is the network's affair.
  const int flushes_max = over_network() ? 100'000 : 16;
  while (sink.live < 2 && flushes <= flushes_max) {
    source.change_some(1);
    source.end_turn();
    ++flushes;
    while (subscriber.poll(sink) != 0) {
    }
  }
  EXPECT_GT(flushes, 1);
  EXPECT_LE(flushes, flushes_max);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_conserved(source, subscriber);
  expect_same_values(source, sink);
}

TEST_P(PublishSubscribe, PassesTheProgramsOwnGrantsAndAnswer) {
  const std::unique_ptr<rdma::MemoryRegion> own =
      fabric.device->allocate(4096, rdma::kLocalWrite | rdma::kRemoteRead, "directory");
  const std::uint64_t greeting = 77;
  const std::uint64_t reply = 88;
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  std::vector<std::byte> answer;
  fabric.meet([&] { answer = connect_now(subscriber, fabric.endpoint, bytes_of(greeting)); },
              [&](rdma::ConnectionRequest& request) {
                EXPECT_EQ(read_program<std::uint64_t>(request.hello()), greeting);
                const rdma::Grant extra{own.get(), rdma::kRemoteRead};
                accept_now(source.publisher, request, bytes_of(reply), {&extra, 1});
              });
  ASSERT_EQ(answer.size(), sizeof(reply));
  EXPECT_EQ(std::memcmp(answer.data(), &reply, sizeof(reply)), 0);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  const Connection* const connection = subscriber.connection();
  ASSERT_NE(connection, nullptr);
  ASSERT_EQ(connection->extras().size(), 1u);
  EXPECT_GE(connection->extras()[0].length_bytes, 4096u);
}

TEST_P(PublishSubscribe, RefusesARingDeeperThanAllowed) {
  Source small(*fabric.device, {.image_count = kThings, .depth_max = 32});
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  EXPECT_EQ(test_support::cause_of<rdma::SetupError>([&] { join(fabric, small, subscriber); }),
            rdma::SetupCause::kLimit);
}

TEST_P(PublishSubscribe, RefusesASubscriberWithoutRoomForTheImages) {
  SubscriberOptions few = options(64);
  few.image_count = kThings - 1;
  TestSubscriber subscriber(*fabric.device, nullptr, few);
  EXPECT_THROW(join(fabric, source, subscriber), rdma::SetupError);
}

struct BareSink {
  void on_update(const Update&, std::uint64_t sequence) noexcept {
    ++count;
    newest = sequence;
  }
  std::uint64_t count = 0;
  std::uint64_t newest = 0;
};

TEST_P(PublishSubscribe, WorksWithoutImagesAndWithTheSmallestHandler) {
  Publisher<Update> publisher(*fabric.device, nullptr, {});
  SubscriberOptions bare = options(16);
  bare.image_count = 0;
  Subscriber<Update> subscriber(*fabric.device, nullptr, bare);
  BareSink sink_only;
  fabric.meet([&] { connect_now(subscriber, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(publisher, request, {}, {}); });
  publisher.turn();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    publisher.publish({i, i, {}});
    if (i % 3 == 0) subscriber.poll(sink_only);
  }
  // Faster than it reads, and than the device places them.
  ASSERT_TRUE(eventually([&] {
    for (int i = 0; i < 40; ++i) publisher.publish({});
    publisher.turn();
    subscriber.poll(sink_only, 1);
    return subscriber.counters().overruns.get() != 0;
  }));
  publisher.close();
  ASSERT_TRUE(eventually([&] {
    publisher.turn();
    subscriber.poll(sink_only);
    return subscriber.state() == SubscriberState::kDown;
  }));
  EXPECT_EQ(subscriber.counters().conserved.get(), 1u);
  EXPECT_EQ(sink_only.count, subscriber.counters().seen.get());
}

}  // namespace
}  // namespace tickpath::link::test

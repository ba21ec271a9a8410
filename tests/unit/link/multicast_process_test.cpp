// Multicast between processes: death, stopped subscribers, and READs that race for real.
#include <poll.h>
#include <unistd.h>

#include "tests/support/child.hpp"
#include "tests/unit/link/process_ends.hpp"

namespace tickpath::link::test {
namespace {

using test_support::Child;

bool has_multicast() { return open_test_device()->info().multicast; }

class MulticastProcesses : public testing::Test {
 protected:
  void SetUp() override {
    // In a child: a parent that is to fork has no device.
    Child asked([] { return has_multicast() ? 0 : 1; });
    if (asked.wait() != 0) GTEST_SKIP() << "the device has no multicast";
  }
  const std::string endpoint = fresh_endpoint();
};

// As broken_promise(), by multicast and nothing else.
int broken_promise_by_multicast(Subscribed& end) {
  if (const int broken = broken_promise(end); broken != 0) return broken;
  const SubscriberCounters& counters = end.subscriber.counters();
  if (counters.by_multicast.get() != 1) return 7;
  if (counters.forged.get() != 0) return 8;
  return 0;
}

// The publisher's ring is so small that what is READ is often overwritten while it is READ, and one
// datagram in ten is lost: what is torn must be seen, what is lost counted.
TEST_F(MulticastProcesses, ConserveWhenThePublisherRunsAtFullSpeed) {
  Child child([&] {
    Subscribed end(endpoint, reader(64, 100));
    read_to_the_end(end);
    return broken_promise_by_multicast(end);
  });
  Publishing end(endpoint, 64);
  ASSERT_TRUE(end.let_one_in());
  ASSERT_TRUE(publish_and_close(end));
  EXPECT_EQ(child.wait(), 0);
}

// With room to READ from nothing is lost, however many datagrams are.
TEST_F(MulticastProcesses, LoseNothingAtFivePercentLossWhereThereIsRoom) {
  constexpr std::uint64_t kUpdates = 60'000;
  Child child([&] {
    Subscribed end(endpoint, reader(1u << 16, 50));
    read_to_the_end(end);
    const int wrong = broken_promise_by_multicast(end);
    const SubscriberCounters& counters = end.subscriber.counters();
    if (wrong != 0) return wrong;
    if (counters.overruns.get() != 0) return 9;
    if (counters.multicast.recovered.get() == 0) return 10;
    return 0;
  });
  Publishing end(endpoint, 1u << 16);
  ASSERT_TRUE(end.let_one_in());
  for (std::uint64_t sent = 0; sent < kUpdates; sent += 5) {
    end.source.change_some(5);
    end.source.end_turn();
    std::this_thread::yield();
  }
  ASSERT_TRUE(end.close());
  EXPECT_EQ(child.wait(), 0);
}

// One of two subscribers is stopped; the other misses nothing, and the publisher's close is not
// held up for long. Continued, the stopped one READs or has counted what it did not see.
TEST_F(MulticastProcesses, AStoppedSubscriberHarmsNobody) {
  Child stopped([&] {
    Subscribed end(endpoint, reader(1024));
    while (end.subscriber.state() != SubscriberState::kDown || end.sink.events.size() < 2)
      if (end.subscriber.poll(end.sink) == 0) std::this_thread::yield();
    return broken_promise_by_multicast(end);
  });
  Child reading([&] {
    Subscribed end(endpoint, reader(1u << 16));
    read_to_the_end(end);
    const int wrong = broken_promise_by_multicast(end);
    return wrong != 0 ? wrong : end.subscriber.counters().overruns.get() != 0 ? 11 : 0;
  });
  Publishing end(endpoint, 1u << 16);
  ASSERT_TRUE(end.let_one_in());
  ASSERT_TRUE(end.let_one_in());
  for (int turn = 0; turn < 100; ++turn) {
    end.source.change_some(2);
    end.source.end_turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stopped.signal(SIGSTOP);
  for (int turn = 0; turn < 2'000; ++turn) {
    end.source.change_some(10);
    end.source.end_turn();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  EXPECT_EQ(end.source.publisher.subscriber_count(), 2u);
  ASSERT_TRUE(end.close());
  EXPECT_EQ(reading.wait(), 0);
  stopped.signal(SIGCONT);
  EXPECT_EQ(stopped.wait(), 0);
}

TEST_F(MulticastProcesses, AKilledSubscriberIsNoticedAndTheNextOneServed) {
  Child killed([&] {
    Subscribed end(endpoint, reader(64));
    for (;;)
      if (end.subscriber.poll(end.sink) == 0) std::this_thread::yield();
    return 0;
  });
  Publishing end(endpoint, 1024);
  ASSERT_TRUE(end.let_one_in());
  killed.kill();
  ASSERT_TRUE(eventually([&] {
    end.source.change_some(1);
    end.source.end_turn();
    return end.source.publisher.subscriber_count() == 0;
  }));
  end.source.publisher.collect();
  EXPECT_TRUE(end.source.publisher.subscribers().empty());
}

TEST_F(MulticastProcesses, ASubscriberLearnsThatItsPublisherWasKilledAndJoinsTheNext) {
  const std::string group = fresh_group();
  const auto publish = [&] {
    Publishing end(endpoint, 1024, group);
    if (!end.let_one_in()) return 1;
    for (;;) {
      end.source.change_some(1);
      end.source.end_turn();
      std::this_thread::yield();
    }
    return 0;
  };
  // Both are forked before there are threads here.
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  Child first(publish);
  Child second([&] {
    char go = 0;
    return ::read(gate[0], &go, 1) == 1 ? publish() : 2;
  });
  Subscribed end(endpoint, reader(1024));
  const auto takes_updates = [&](Sink& sink) {
    return eventually([&] {
      end.subscriber.poll(sink);
      end.subscriber.collect();
      return sink.updates.size() > 100;
    });
  };
  ASSERT_TRUE(takes_updates(end.sink));
  first.kill();
  ASSERT_TRUE(reach_down(end.subscriber, end.sink));
  EXPECT_EQ(end.sink.events.back(), LinkEvent::kLost);
  expect_sound(end.sink);
  if (!over_network()) std::filesystem::remove(endpoint);  // the killed listener could not
  ASSERT_EQ(::write(gate[1], "g", 1), 1);
  connect_when_there([&] { connect_now(end.subscriber, endpoint, {}); });
  Sink fresh;
  ASSERT_TRUE(takes_updates(fresh));
  expect_sound(fresh);
  EXPECT_EQ(end.subscriber.counters().by_multicast.get(), 1u);
  second.kill();
  for (const int descriptor : gate) ::close(descriptor);
  if (!over_network()) std::filesystem::remove(endpoint);
}

TEST_F(MulticastProcesses, ASleepingSubscriberIsWokenByADatagram) {
  Child child([&] {
    SubscriberOptions sleeping = reader(64);
    sleeping.mode = RingMode::kImmediate;
    Subscribed end(endpoint, sleeping);
    return sleep_until_closed(end, 40);
  });
  Publishing end(endpoint, 1024);
  ASSERT_TRUE(end.let_one_in());
  publish_with_pauses(end.source, 40);
  ASSERT_TRUE(end.close());
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace tickpath::link::test

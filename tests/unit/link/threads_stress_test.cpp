// A publisher thread, subscriber threads, and a control thread that connects, drops and collects
// all the while: the hand-over of connections between threads, for ThreadSanitizer above all.
#include <atomic>
#include <thread>

#include "tests/unit/link/multicast.hpp"

namespace tickpath::link::test {
namespace {

class ThreadsStress : public OfBothModes {
 protected:
  void run(const PublisherOptions& publisher_options, const SubscriberOptions& subscriber_options);
  Fabric fabric;
};

INSTANTIATE_TEST_SUITE_P(Modes, ThreadsStress, kBothModes, mode_name);

// One subscriber stays for the whole run, others come and go without a word. The one that stays
// must be told everything exactly, the publisher must keep its pace, and nothing may be touched by
// two threads at once.
void ThreadsStress::run(const PublisherOptions& publisher_options,
                        const SubscriberOptions& subscriber_options) {
  Source source(*fabric.device, publisher_options);
  std::atomic<bool> stop{false};
  std::thread publishing([&] {
    while (!stop.load()) {
      source.change_some(5);
      source.end_turn();
      std::this_thread::yield();
    }
    source.end_turn();
    source.publisher.close();
    while (!source.publisher.closed()) {
      source.publisher.turn();
      std::this_thread::yield();
    }
  });

  TestSubscriber staying(*fabric.device, nullptr, subscriber_options);
  join(fabric, source, staying);
  Sink sink;
  std::thread reading([&] {
    do {
      if (staying.poll(sink) == 0) std::this_thread::yield();
    } while (staying.state() != SubscriberState::kDown || sink.events.empty());
  });

  for (int round = 0; round < 12; ++round) {
    auto passing = std::make_unique<TestSubscriber>(*fabric.device, nullptr, subscriber_options);
    join(fabric, source, *passing);
    Sink short_lived;
    EXPECT_TRUE(eventually([&] {
      passing->poll(short_lived);
      return short_lived.updates.size() > 10;
    }));
    expect_sound(short_lived);
    passing.reset();
    source.publisher.collect();
    EXPECT_LE(source.publisher.subscribers().size(), kSubscribersMax);
  }
  stop.store(true);
  publishing.join();
  reading.join();
  expect_sound(sink);
  expect_same_values(source, sink);
  expect_conserved(source, staying);
}

TEST_P(ThreadsStress, SubscribersComeAndGoWhileOneStaysAndMissesNothing) {
  run({.image_count = kThings}, options(128));
}

TEST_P(ThreadsStress, SubscribersOfMulticastComeAndGoLikewise) {
  if (!fabric.device->info().multicast) GTEST_SKIP() << "the device has no multicast";
  SubscriberOptions lossy = options(128);
  lossy.loss.per_mille = 50;
  run(multicast_options(*fabric.device), lossy);
}

}  // namespace
}  // namespace tickpath::link::test

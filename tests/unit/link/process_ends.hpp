// The two ends of a ring, each for a process of its own.
#pragma once

#include <poll.h>

#include "tests/support/connect.hpp"
#include "tests/unit/link/multicast.hpp"

namespace tickpath::link::test {

// A publisher with its listener, in the process that made it.
struct Publishing {
  // depth: by multicast, with so many updates that can be READ; 0: by WRITE.
  explicit Publishing(const std::string& endpoint, std::uint32_t depth = 0,
                      const std::string& group = fresh_group())
      : device(open_test_device()),
        listener(device->listen(endpoint)),
        source(*device, options(depth, group)) {}
  static PublisherOptions options(std::uint32_t depth, const std::string& group) {
    PublisherOptions options{.image_count = kThings};
    if (depth != 0) options.multicast = {.group = group, .depth = depth};
    return options;
  }

  bool let_one_in() {
    request = wait_for_request(*listener);
    if (request == nullptr) return false;
    accept_now(source.publisher, *request, {}, {});
    source.publisher.turn();
    return true;
  }
  bool close() {
    source.publisher.close();
    return eventually([this] {
      source.publisher.turn();
      return source.publisher.closed();
    });
  }

  std::unique_ptr<rdma::Device> device;
  std::unique_ptr<rdma::Listener> listener;
  std::unique_ptr<rdma::ConnectionRequest> request;
  Source source;
};

// A subscriber that connects as soon as somebody listens.
struct Subscribed {
  Subscribed(const std::string& endpoint, const SubscriberOptions& options)
      : device(open_test_device()),
        channel(device->create_channel()),
        subscriber(*device, options.mode == RingMode::kImmediate ? channel.get() : nullptr,
                   options) {
    connect_when_there([&] { connect_now(subscriber, endpoint, {}); });
  }

  std::unique_ptr<rdma::Device> device;
  std::unique_ptr<rdma::CompletionChannel> channel;
  TestSubscriber subscriber;
  Sink sink;
};

// Reads as fast as it can until its publisher has closed.
inline void read_to_the_end(Subscribed& end) {
  do {
    if (end.subscriber.poll(end.sink) == 0) std::this_thread::yield();
  } while (end.subscriber.state() != SubscriberState::kDown);
}

// The exit status of a process that has read to the end: which promise was broken, 0: none.
inline int broken_promise(Subscribed& end) {
  const SubscriberCounters& counters = end.subscriber.counters();
  Sink& sink = end.sink;
  if (sink.torn != 0) return 2;
  if (sink.backwards != 0 || sink.disorder != 0) return 3;
  if (counters.conserved.get() != 1) return 4;
  if (sink.events.back() != LinkEvent::kClosed) return 5;
  // The last change of every thing is known: each got the value that its number tells.
  for (std::uint64_t thing = 0; thing < kThings; ++thing)
    if ((sink.values[thing] - 1) % kThings != thing) return 6;
  return 0;
}

// At full speed; false: the other side was never told the close.
inline bool publish_and_close(Publishing& end) {
  // Over a network a WRITE is a system call, or emulated.
  const int turns = over_network() ? 2'000 : 20'000;
  for (int turn = 0; turn < turns; ++turn) {
    end.source.change_some(20);
    end.source.end_turn();
    if (turn % 64 == 0) std::this_thread::yield();
  }
  return end.close();
}

// So slowly that a reader sleeps between updates.
inline void publish_with_pauses(Source& source, int updates) {
  for (int update = 0; update < updates; ++update) {
    source.end_turn();
    source.change_some(1);
    source.end_turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Reads until its publisher has closed, asleep on the channel between updates. The exit status of
// its process: which promise was broken, 0: none.
inline int sleep_until_closed(Subscribed& end, std::uint64_t updates) {
  TestSubscriber& subscriber = end.subscriber;
  int sleeps = 0;
  do {
    if (subscriber.poll(end.sink) != 0) continue;
    subscriber.arm();
    if (subscriber.poll(end.sink) != 0 || !subscriber.may_sleep()) continue;
    if (subscriber.state() == SubscriberState::kDown) break;  // learnt by that poll
    pollfd waiting{end.channel->file_descriptor(), POLLIN, 0};
    if (::poll(&waiting, 1, 5'000) != 1) return 2;  // slept through: nothing woke it
    end.channel->acknowledge();
    ++sleeps;
  } while (subscriber.state() != SubscriberState::kDown);
  if (subscriber.counters().conserved.get() != 1) return 3;
  if (subscriber.counters().published.get() != updates) return 5;
  return sleeps < 5 ? 4 : 0;
}

}  // namespace tickpath::link::test

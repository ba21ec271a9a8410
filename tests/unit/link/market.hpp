// A payload for ring tests: numbered things that have a value, updates that change it, images that
// show the latest. What a subscriber was told is held against what was published.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/link/publisher.hpp"
#include "common/link/subscriber.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::link::test {

struct Update {
  std::uint64_t thing;
  std::uint64_t value;
  std::uint64_t copies[5];  // of value: a torn update shows
};

struct Image {
  std::uint64_t ring_sequence;
  std::uint64_t value;
  std::uint64_t copies[21];
};

using TestPublisher = Publisher<Update, Image>;
using TestSubscriber = Subscriber<Update, Image>;

inline constexpr std::uint32_t kThings = 10;

// The publishing program: a value for each thing.
struct Source {
  explicit Source(rdma::Device& device, PublisherOptions options = {.image_count = kThings})
      : publisher(device, nullptr, options), values(kThings) {}

  void change(std::uint64_t thing, std::uint64_t value) {
    Update update{thing, value, {}};
    for (std::uint64_t& copy : update.copies) copy = value;
    values[thing] = value;
    publisher.publish(update);
    publisher.mark_dirty(static_cast<std::uint32_t>(thing));
  }
  // `count` changes, round robin over the things, values ever growing.
  void change_some(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i, ++changes) change(changes % kThings, changes + 1);
  }
  void end_turn() {
    publisher.flush([this](std::uint32_t index, Image& image) {
      image.value = values[index];
      for (std::uint64_t& copy : image.copies) copy = image.value;
    });
    publisher.turn();
  }

  TestPublisher publisher;
  std::vector<std::uint64_t> values;
  std::uint64_t changes = 0;
};

// The subscribing program: believes what it is told, and checks that time never runs backwards.
struct Sink {
  void on_update(const Update& update, std::uint64_t sequence) noexcept {
    for (const std::uint64_t copy : update.copies) torn += copy != update.value;
    backwards += sequence <= known[update.thing];
    disorder += sequence <= newest;
    newest = sequence;
    known[update.thing] = sequence;
    values[update.thing] = update.value;
    updates.push_back(sequence);
  }
  void on_image(std::uint32_t index, const Image& image) noexcept {
    for (const std::uint64_t copy : image.copies) torn += copy != image.value;
    backwards += image.ring_sequence < known[index];
    known[index] = image.ring_sequence;
    values[index] = image.value;
    ++images;
  }
  std::uint32_t image_index(const Update& update) noexcept {
    return static_cast<std::uint32_t>(update.thing);
  }
  void on_overrun(std::uint64_t lost) noexcept { overrun += lost; }
  void on_live() noexcept { ++live; }
  void on_link(LinkEvent event) noexcept { events.push_back(event); }

  std::map<std::uint64_t, std::uint64_t> known;   // thing: newest sequence shown
  std::map<std::uint64_t, std::uint64_t> values;  // thing: value
  std::vector<std::uint64_t> updates;
  std::vector<LinkEvent> events;
  std::uint64_t newest = 0;
  std::uint64_t torn = 0;
  std::uint64_t backwards = 0;
  std::uint64_t disorder = 0;
  std::uint64_t images = 0;
  std::uint64_t overrun = 0;
  std::uint64_t live = 0;
};

inline void expect_sound(const Sink& sink) {
  EXPECT_EQ(sink.torn, 0u);
  EXPECT_EQ(sink.backwards, 0u);
  EXPECT_EQ(sink.disorder, 0u);
}

inline void expect_same_values(const Source& source, const Sink& sink) {
  for (std::uint64_t thing = 0; thing < kThings; ++thing) {
    const auto found = sink.values.find(thing);
    EXPECT_EQ(found == sink.values.end() ? 0 : found->second, source.values[thing])
        << "thing " << thing;
  }
}

// Tests of both modes.
class OfBothModes : public testing::TestWithParam<RingMode> {
 protected:
  static SubscriberOptions options(std::uint32_t depth) {
    return {.mode = GetParam(), .depth = depth, .image_count = kThings};
  }
};
inline const auto kBothModes = testing::Values(RingMode::kPoll, RingMode::kImmediate);
inline std::string mode_name(const testing::TestParamInfo<RingMode>& mode) {
  return mode.param == RingMode::kPoll ? "poll" : "immediate";
}

inline void join(Fabric& fabric, Source& source, TestSubscriber& subscriber) {
  fabric.meet(
      [&] { connect_now(subscriber, fabric.endpoint, {}); },
      [&](rdma::ConnectionRequest& request) { accept_now(source.publisher, request, {}, {}); });
}

// Publisher turns and polls until the subscriber is live.
inline bool reach_live(Source& source, TestSubscriber& subscriber, Sink& sink) {
  return eventually([&] {
    source.end_turn();
    subscriber.poll(sink);
    return subscriber.state() == SubscriberState::kLive;
  });
}

inline bool reach_down(TestSubscriber& subscriber, Sink& sink) {
  return eventually([&] {
    subscriber.poll(sink);
    return subscriber.state() == SubscriberState::kDown;
  });
}

// Until nobody lacks an image because a send queue was full.
inline bool all_told(Source& source) {
  return eventually([&] {
    source.end_turn();
    return !source.publisher.busy();
  });
}

// Closes, and polls until the subscriber knows.
inline bool close_and_drain(Source& source, TestSubscriber& subscriber, Sink& sink) {
  source.end_turn();
  source.publisher.close();
  return eventually([&] {
    source.publisher.turn();
    subscriber.poll(sink);
    return subscriber.state() == SubscriberState::kDown;
  });
}

inline void expect_conserved(const Source& source, const TestSubscriber& subscriber) {
  const SubscriberCounters& counters = subscriber.counters();
  EXPECT_EQ(counters.conserved.get(), 1u);
  EXPECT_EQ(counters.published.get(), counters.seen.get() + counters.overrun.get());
  EXPECT_LE(counters.published.get(), source.publisher.sequence());
}

}  // namespace tickpath::link::test

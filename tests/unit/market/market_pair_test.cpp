// The reader of two mdh's, over the real fabric; both are played by hand.
#include <vector>

#include <gmock/gmock.h>

#include "common/clock/clock.hpp"
#include "common/market/market_reader.hpp"
#include "tests/unit/market/played_mdh.hpp"

namespace tickpath::market::test {
namespace {

using link::test::eventually;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Shown {
  void on_update(const wire::BookUpdate& update) noexcept {
    if (update.kind == wire::UpdateKind::kFeedState)
      states.push_back(update.feed_state());
    else if (update.kind != wire::UpdateKind::kDirectory)
      traces.push_back(update.trace_id);
  }
  void on_image(const wire::BookImage& image) noexcept {
    images.push_back(image.trace_id);
    bid = image.bids[0].price;
  }
  void on_overrun(std::uint64_t lost) noexcept { overrun += lost; }
  void on_directory(const wire::DirectoryEntry& row) noexcept { rows.emplace_back(row.name()); }
  void on_mdh(bool alive) noexcept { alives.push_back(alive); }

  std::vector<std::uint64_t> traces, images;
  std::vector<wire::FeedState> states;
  std::vector<std::string> rows;
  std::vector<bool> alives;
  std::uint64_t overrun = 0;
  std::uint32_t bid = 0;
};

class MarketPairs : public ::testing::Test {
 protected:
  std::uint64_t now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }
  void join() {
    int connected = 0;
    const auto connect = [&] {
      ASSERT_TRUE(eventually([&] {
        reader.poll(shown, now());
        connected += reader.maintain(now()) ? 1 : 0;
        return reader.alive().get() != 0 && both_joined();
      })) << reader.not_ready_reason();
    };
    a.fabric.meet(connect, [this](rdma::ConnectionRequest& request) {
      a.accept(request);
      const auto other = link::test::wait_for_request(*b.fabric.listener);
      ASSERT_NE(other, nullptr);
      b.accept(*other);
    });
  }
  bool both_joined() { return reader.joined(0) && reader.joined(1); }
  // Until nothing is left to do.
  void settle() {
    int idle = 0;
    ASSERT_TRUE(eventually([&] {
      for (PlayedMdh* mdh : {&a, &b})
        if (mdh->publisher) mdh->turn();
      idle = reader.poll(shown, now()) == 0 && !reader.directory_behind() ? idle + 1 : 0;
      return idle == 200;
    }));
  }
  // A good session with one instrument, and both joined.
  void begin() {
    for (PlayedMdh* mdh : {&a, &b}) {
      mdh->begin(7);
      mdh->list(0, "ABC");
      mdh->turn();
    }
    join();
    settle();
    ASSERT_EQ(shown.states, std::vector{wire::FeedState::kGood});
    shown = {};
  }
  void tick(PlayedMdh& mdh, std::uint32_t bid = 100'000) { mdh.tick(0, bid, bid + 100); }

  PlayedMdh a, b;
  Shown shown;
  MarketReader reader{*a.fabric.device, nullptr, [this] {
                        MarketReaderOptions options{.endpoint = a.fabric.endpoint,
                                                    .endpoint_b = b.fabric.endpoint,
                                                    .name = "reader",
                                                    .ring_depth = 64,
                                                    .instruments_max = kInstruments};
                        options.heartbeat.dead_after_ns = 60'000'000'000;
                        return options;
                      }()};
};

TEST_F(MarketPairs, HandOverEachUpdateOnce) {
  begin();
  for (int i = 0; i < 3; ++i) tick(a);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2, 3, 4));
  for (int i = 0; i < 5; ++i) tick(b);
  settle();
  for (int i = 0; i < 2; ++i) tick(a);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(shown.images, IsEmpty());
  EXPECT_EQ(reader.merged()->taken_a.get() + reader.merged()->taken_b.get(), 5u);
}

TEST_F(MarketPairs, GoOnWithTheOtherWhenOneIsGone) {
  begin();
  tick(a);
  tick(b);
  a.publisher.reset();
  tick(b);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2, 3));
  EXPECT_THAT(shown.states, IsEmpty());
  EXPECT_THAT(shown.alives, IsEmpty());
  EXPECT_TRUE(reader.not_ready_reason().empty());
  b.publisher.reset();
  ASSERT_TRUE(eventually([this] {
    reader.poll(shown, now());
    return !shown.alives.empty();
  }));
  EXPECT_THAT(shown.alives, ElementsAre(false));
  EXPECT_THAT(shown.states, ElementsAre(wire::FeedState::kStale));
}

TEST_F(MarketPairs, SayNothingOfOneThatIsStaleOrIsOverrun) {
  begin();
  a.state(wire::FeedState::kStale);
  settle();
  for (int i = 0; i < 40; ++i) tick(b);
  settle();
  for (int i = 0; i < 200; ++i) tick(a);  // through a ring of 64, and beyond what b has
  settle();
  EXPECT_EQ(shown.traces.size(), 40u);
  EXPECT_THAT(shown.states, IsEmpty());
  EXPECT_THAT(shown.images, IsEmpty());
  EXPECT_EQ(shown.overrun, 0u);
}

TEST_F(MarketPairs, ShowWhatIsTrueWhenBothWereOverrun) {
  begin();
  for (std::uint32_t i = 0; i < 200; ++i) {
    tick(a, 100'000 + i);
    tick(b, 100'000 + i);
  }
  settle();
  EXPECT_FALSE(shown.images.empty());
  EXPECT_EQ(shown.bid, 100'199u);
  EXPECT_GT(shown.overrun, 0u);
  shown.traces.clear();
  tick(b);
  tick(a);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(202));
}

// The ids of the second stand for other symbols.
TEST_F(MarketPairs, GoByNoneWhoseDirectoryIsAnothers) {
  a.begin(7);
  a.list(0, "ABC");
  a.turn();
  b.begin(7);
  b.list(0, "XYZ");
  b.turn();
  join();
  settle();
  // Whose row was read first is gone by.
  ASSERT_EQ(shown.rows.size(), 1u);
  PlayedMdh& followed = shown.rows[0] == "ABC" ? a : b;
  PlayedMdh& refused = shown.rows[0] == "ABC" ? b : a;
  shown = {};
  tick(refused);
  settle();
  EXPECT_THAT(shown.traces, IsEmpty());
  tick(followed);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2));
  followed.publisher.reset();
  // Its end crosses threads: seen at some turn, not at the next one.
  ASSERT_TRUE(eventually([this] {
    reader.poll(shown, now());
    return !shown.states.empty();
  }));
  tick(refused);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2));
  EXPECT_THAT(shown.states, ElementsAre(wire::FeedState::kStale));
}

TEST_F(MarketPairs, EnterASessionOnce) {
  begin();
  tick(a);
  settle();
  a.begin(8);
  a.tick(0, 1'000, 1'100);
  settle();
  tick(b);  // still of the session before
  settle();
  b.begin(8);
  b.tick(0, 1'000, 1'100);
  b.tick(0, 1'100, 1'200);
  settle();
  EXPECT_THAT(shown.traces, ElementsAre(2, 1, 2));
}

}  // namespace
}  // namespace tickpath::market::test

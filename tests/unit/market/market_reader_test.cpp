// The reader of mdh's publications, over the real fabric; mdh is played by hand.
#include "common/market/market_reader.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "common/clock/clock.hpp"
#include "tests/unit/market/played_mdh.hpp"

namespace tickpath::market::test {
namespace {

using link::test::eventually;
using ::testing::ElementsAre;

struct Seen {
  void on_update(const wire::BookUpdate& update) noexcept {
    if (update.feed_state() == wire::FeedState::kStale)
      stale.push_back(update.instrument_id);
    else if (update.kind != wire::UpdateKind::kDirectory)
      updates.push_back(update.instrument_id);
  }
  void on_image(const wire::BookImage& image) noexcept { images.push_back(image.instrument_id); }
  void on_overrun(std::uint64_t lost) noexcept { overrun += lost; }
  void on_directory(const wire::DirectoryEntry& row) noexcept { rows.push_back(row.instrument_id); }
  void on_mdh(bool alive) noexcept { alives.push_back(alive); }

  std::vector<std::uint32_t> updates, images, rows, stale;
  std::vector<bool> alives;
  std::uint64_t overrun = 0;
};

class MarketReaders : public ::testing::Test {
 protected:
  std::uint64_t now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }
  // after_ns: the pause between two attempts to connect, which is not waited for.
  void join(std::uint64_t after_ns = 0) {
    // A lost connection is noticed by its heartbeat, perhaps, before it is given back: like the
    // program, try again and poll meanwhile.
    const auto connect = [this, after_ns] {
      ASSERT_TRUE(eventually([&] {
        reader.poll(seen, now());
        return reader.maintain(now() + after_ns);
      })) << reader.not_ready_reason();
    };
    mdh.fabric.meet(connect, [this](rdma::ConnectionRequest& request) { mdh.accept(request); });
  }
  // As a datapath that parks: it polls until nothing is left to do and then sleeps until mdh
  // publishes, so what it does not know by now it does not learn.
  void poll_until_it_would_sleep() {
    int idle = 0;
    ASSERT_TRUE(eventually([&] {
      mdh.turn();
      const bool nothing = reader.poll(seen, now()) == 0 && !reader.directory_behind() &&
                           reader.counters().resyncs.get() > 0;
      idle = nothing ? idle + 1 : 0;
      return idle == 100;
    }));
  }

  void list(std::uint32_t id) { mdh.list(id, "S" + std::to_string(id)); }
  void tick(std::uint32_t id) { mdh.tick(id, 100'000, 100'100); }

  PlayedMdh mdh;
  Seen seen;
  MarketReader reader{*mdh.fabric.device, nullptr, [this] {
                        MarketReaderOptions options{.endpoint = mdh.fabric.endpoint,
                                                    .name = "reader",
                                                    .ring_depth = 64,
                                                    .instruments_max = kInstruments};
                        // The test's own turns are the beats, however slow they are.
                        options.heartbeat.dead_after_ns = 60'000'000'000;
                        return options;
                      }()};
};

TEST_F(MarketReaders, FollowTheDirectoryAsItGrows) {
  join();
  list(0);
  list(1);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(0, 1));
  list(2);
  tick(2);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(0, 1, 2));
  EXPECT_THAT(seen.updates, ElementsAre(2));
  EXPECT_EQ(seen.alives, std::vector<bool>{true});
}

// Images are taken after the rows were listed: they stand for the updates that spoke of the rows.
TEST_F(MarketReaders, KnowEveryRowThatWasListedWhileTheyWaitedForTheImages) {
  list(0);
  tick(0);
  mdh.turn();
  join();
  // The directory is read to its end before the rest of it is listed.
  ASSERT_TRUE(eventually([this] {
    mdh.publisher->turn();
    reader.poll(seen, now());
    return !seen.rows.empty() && !reader.directory_behind();
  }));
  for (const std::uint32_t id : {1u, 2u, 3u}) {
    list(id);
    tick(id);
  }
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(0, 1, 2, 3));
}

TEST_F(MarketReaders, KnowEveryRowAfterAnOverrun) {
  join();
  list(0);
  poll_until_it_would_sleep();
  for (const std::uint32_t id : {1u, 2u}) list(id);
  for (int i = 0; i < 200; ++i) tick(0);  // through a ring of 64
  poll_until_it_would_sleep();
  EXPECT_GT(seen.overrun, 0u);
  EXPECT_THAT(seen.rows, ElementsAre(0, 1, 2));
}

// A restarted mdh has given id 1 to another symbol, and 2 to one that had none.
TEST_F(MarketReaders, HandOverNoPricesOfAnIdThatStandsForAnotherSymbolNow) {
  join();
  poll_until_it_would_sleep();
  for (const std::uint32_t id : {0u, 1u}) {
    list(id);
    tick(id);
  }
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.updates, ElementsAre(0, 1));
  mdh.restart();
  ASSERT_TRUE(eventually([this] {
    reader.poll(seen, now());
    return seen.alives.size() == 2;
  }));
  mdh.list(0, "S0");
  mdh.list(1, "OTHER");
  mdh.list(2, "S2");
  for (const std::uint32_t id : {0u, 1u, 2u}) tick(id);
  mdh.turn();
  seen = {};
  join(1'000'000'000);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(0, 1, 2));
  EXPECT_THAT(seen.stale, ElementsAre(1));
  for (const std::uint32_t id : {0u, 1u, 2u}) tick(id);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.updates, ::testing::Not(::testing::Contains(1)));
  EXPECT_THAT(seen.images, ::testing::Not(::testing::Contains(1)));
  EXPECT_THAT(seen.updates, ::testing::IsSupersetOf({0, 2}));
  EXPECT_THAT(seen.images, ::testing::Contains(0)) << "what it was while the id was in doubt";
  wire::BookImage image;
  EXPECT_FALSE(reader.image(1, image));
  EXPECT_TRUE(reader.image(0, image));
  EXPECT_EQ(reader.symbol_conflicts().get(), 1u);
}

// Ids that were kept for symbols of former days have a row once one of today has them.
TEST_F(MarketReaders, FollowRowsWhoseIdsComeInAnyOrder) {
  join();
  list(5);
  list(2);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(5, 2));
  mdh.restart();
  ASSERT_TRUE(eventually([this] {
    reader.poll(seen, now());
    return seen.alives.size() == 2;
  }));
  list(2);
  tick(5);
  mdh.turn();
  seen = {};
  join(1'000'000'000);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(2));
  EXPECT_THAT(seen.updates, ::testing::IsEmpty()) << "5 has no row: nobody knows whose prices";
  list(0);
  list(5);
  tick(5);
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.rows, ElementsAre(2, 0, 5));
  EXPECT_TRUE(!seen.updates.empty() || !seen.images.empty()) << "it is what it was";
  EXPECT_EQ(reader.symbol_conflicts().get(), 0u);
}

// Connected is not ready: until the books are here there is nothing to go by.
TEST_F(MarketReaders, AreReadyOnceTheBooksAreHere) {
  list(0);
  tick(0);
  join();
  mdh.publisher->turn();  // takes it in, and sends no image
  ASSERT_TRUE(eventually([this] {
    mdh.heartbeat.beat();
    reader.poll(seen, now());
    return seen.alives.size() == 1;
  }));
  EXPECT_THAT(reader.not_ready_reason(), ::testing::HasSubstr("waiting for the books of mdh at "));
  poll_until_it_would_sleep();
  EXPECT_THAT(seen.images, ElementsAre(0));
  EXPECT_EQ(reader.not_ready_reason(), "");
}

TEST_F(MarketReaders, SayOnceThatMdhIsGone) {
  join();
  list(0);
  poll_until_it_would_sleep();
  mdh.publisher.reset();
  ASSERT_TRUE(eventually([this] {
    reader.poll(seen, now());
    return seen.alives.size() == 2;
  }));
  reader.poll(seen, now());
  EXPECT_THAT(seen.alives, ElementsAre(true, false));
  EXPECT_THAT(reader.not_ready_reason(), ::testing::HasSubstr("waiting for mdh at "));
}

}  // namespace
}  // namespace tickpath::market::test

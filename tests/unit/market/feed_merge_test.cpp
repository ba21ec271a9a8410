// Two copies of one feed as one: by hand, and by seed against a model of two mdh's that die, hang,
// lose messages, are bridged by snapshots and enter sessions at times of their own.
#include "common/market/feed_merge.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/random.hpp"

namespace tickpath::market::test {
namespace {

using wire::FeedState;
using wire::UpdateKind;

constexpr std::uint32_t kBooks = 6;
constexpr std::uint64_t kPatience = 1'000;

wire::BookUpdate message(std::uint64_t trace, std::uint32_t instrument = 0,
                         UpdateKind kind = UpdateKind::kAdd) {
  wire::BookUpdate update{};
  update.trace_id = trace;
  update.instrument_id = instrument;
  update.kind = kind;
  update.set_states(FeedState::kGood, wire::TradingState::kTrading);
  return update;
}
wire::BookUpdate whole_feed(FeedState state) {
  return wire::feed_state_update(wire::kNoInstrument, state);
}
wire::BookUpdate numbering(std::uint64_t value) { return wire::numbering_update(value, 1); }

class FeedMerges : public ::testing::Test {
 protected:
  // Joined in the middle of a good session.
  void join(std::size_t source, FeedState state = FeedState::kGood) {
    merge.reset(source);
    merge.set_alive(source, true);
    merge.set_word(source, wire::feed_word(7, state), 9);
    merge.set_ready(source, true);
  }
  void adopt(std::size_t source) {
    ASSERT_EQ(merge.to_adopt(1), source);
    merge.begin_adoption(source);
    merge.end_adoption(source);
  }
  void join_both() {
    join(0);
    join(1);
    adopt(0);
  }
  bool take(std::size_t source, std::uint64_t trace) {
    return merge.on_update(source, message(trace));
  }
  FeedMerge merge{kBooks, kPatience};
};

TEST_F(FeedMerges, TakeEachUpdateFromWhicheverHasItFirst) {
  join_both();
  EXPECT_TRUE(take(0, 10));
  EXPECT_FALSE(take(1, 10));
  EXPECT_TRUE(take(1, 11));
  EXPECT_TRUE(take(1, 12));
  EXPECT_FALSE(take(0, 11));
  EXPECT_FALSE(take(0, 12));
  EXPECT_TRUE(take(0, 13));
  EXPECT_EQ(merge.counters().taken_a.get(), 2u);
  EXPECT_EQ(merge.counters().taken_b.get(), 2u);
  EXPECT_EQ(merge.counters().duplicates.get(), 3u);
}

// A message may have several: each once, whoever brings it.
TEST_F(FeedMerges, KnowUpdatesOfOneMessageByTheirIndex) {
  join_both();
  EXPECT_TRUE(take(0, 10));
  EXPECT_FALSE(take(1, 10));
  EXPECT_TRUE(take(1, 10));   // its second
  EXPECT_FALSE(take(0, 10));  // the first's second
  EXPECT_TRUE(take(0, 11));
}

TEST_F(FeedMerges, GoOnWithTheOtherAtOnceWhenOneDies) {
  join_both();
  ASSERT_TRUE(take(0, 10));
  ASSERT_FALSE(take(1, 10));
  ASSERT_TRUE(take(0, 11));
  merge.set_alive(0, false);
  merge.reset(0);
  EXPECT_EQ(merge.state(), FeedState::kGood);
  EXPECT_EQ(merge.to_adopt(5), FeedMerge::kNone);  // nothing was lost
  EXPECT_FALSE(take(1, 11));
  EXPECT_TRUE(take(1, 12));
}

TEST_F(FeedMerges, TellNothingOfAGapThatTheOtherFills) {
  join_both();
  ASSERT_TRUE(take(0, 10));
  ASSERT_FALSE(take(1, 10));
  EXPECT_FALSE(merge.on_update(0, whole_feed(FeedState::kStale)));
  EXPECT_EQ(merge.state(), FeedState::kGood);
  EXPECT_FALSE(take(0, 15));  // behind its gap
  EXPECT_TRUE(take(1, 11));
  for (const std::uint64_t trace : {12, 13, 14, 15}) EXPECT_TRUE(take(1, trace));
  EXPECT_FALSE(merge.on_update(0, whole_feed(FeedState::kGood)));
  EXPECT_TRUE(take(0, 16));  // where it belongs again
}

TEST_F(FeedMerges, AreStaleOnlyWhenBothAre) {
  join_both();
  ASSERT_TRUE(take(0, 10));
  ASSERT_FALSE(take(1, 10));
  merge.on_update(1, whole_feed(FeedState::kStale));
  EXPECT_EQ(merge.state(), FeedState::kGood);
  merge.on_update(0, whole_feed(FeedState::kStale));
  EXPECT_EQ(merge.state(), FeedState::kStale);
  merge.on_update(1, whole_feed(FeedState::kGood));
  EXPECT_EQ(merge.state(), FeedState::kGood);
}

// Whose updates were passed by because the other had still to bring what is between cannot be gone
// by when that one dies: its images tell what is missing.
TEST_F(FeedMerges, ShowTheImagesOfOneThatIsAheadWhenTheOtherDies) {
  join_both();
  ASSERT_TRUE(take(0, 10));
  EXPECT_FALSE(take(1, 14));
  merge.set_alive(0, false);
  merge.reset(0);
  EXPECT_EQ(merge.state(), FeedState::kStale);
  ASSERT_EQ(merge.to_adopt(5), 1u);
  merge.begin_adoption(1);
  wire::BookImage image{};
  image.instrument_id = 2;
  image.trace_id = 13;
  image.states = message(1).states;
  image.set_numbering(7);
  EXPECT_TRUE(merge.on_image(1, image));
  image.instrument_id = 0;
  image.trace_id = 9;  // older than what was handed on
  EXPECT_FALSE(merge.on_image(1, image));
  merge.end_adoption(1);
  EXPECT_EQ(merge.state(), FeedState::kGood);
  EXPECT_TRUE(take(1, 15));
}

TEST_F(FeedMerges, MoveToANewSessionWithWhicheverHearsOfItFirst) {
  join_both();
  ASSERT_TRUE(take(0, 10));
  ASSERT_FALSE(take(1, 10));
  merge.on_numbering(1, numbering(8));
  merge.on_update(1, whole_feed(FeedState::kGood));
  EXPECT_TRUE(take(1, 1));
  EXPECT_FALSE(take(0, 11));  // of the session before
  merge.on_numbering(0, numbering(8));
  merge.on_update(0, whole_feed(FeedState::kGood));
  EXPECT_FALSE(take(0, 1));
  EXPECT_TRUE(take(0, 2));
  EXPECT_EQ(merge.state(), FeedState::kGood);
}

// One that was started later may name the numbering otherwise: it is gone by when nobody else is.
TEST_F(FeedMerges, GoByAnotherNumberingOnlyWhenThereIsNoOther) {
  join(0);
  adopt(0);
  ASSERT_TRUE(take(0, 10));
  join(1);
  merge.set_word(1, wire::feed_word(9, FeedState::kGood), 499);
  EXPECT_FALSE(take(1, 500));
  EXPECT_EQ(merge.to_adopt(5), FeedMerge::kNone);
  merge.set_alive(0, false);
  merge.reset(0);
  EXPECT_EQ(merge.to_adopt(10), FeedMerge::kNone);  // it may come back
  ASSERT_EQ(merge.to_adopt(10 + kPatience), 1u);
  merge.begin_adoption(1);
  merge.end_adoption(1);
  EXPECT_TRUE(take(1, 501));
}

// ------------------------------------------------------------------------------ against a model

struct Slot {
  std::uint64_t ring;
  wire::BookUpdate update;
};

// What is true, and what each of two mdh's made of it.
class World {
 public:
  explicit World(std::uint64_t seed, bool one_is_whole)
      : random_(seed), one_is_whole_(one_is_whole) {
    for (std::size_t source = 0; source < 2; ++source) connect(source);
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      ++now_;
      for (std::uint64_t i = random_.below(4); i > 0; --i) new_message();
      if (random_.below(400) == 0) new_session();
      for (std::size_t source = 0; source < 2; ++source) {
        if (source == 0 || !one_is_whole_) fault(source);
        if (random_.below(3) != 0) hear(source, random_.below(6));
        if (random_.below(3) != 0) deliver(source, random_.below(8));
      }
      judge();
      if (::testing::Test::HasFailure()) return;
    }
    finish();
  }

  std::uint64_t handed = 0;
  std::uint64_t messages = 0;
  std::uint64_t adoptions() const { return merge_.counters().adoptions.get(); }

 private:
  struct Mdh {
    bool up = true;
    bool stuck = false;  // hangs: neither hears nor is read as alive
    bool gap = false;
    std::size_t session = 0;
    std::uint64_t heard = 0;
    std::uint64_t ring = 0;
    std::map<std::uint32_t, std::uint64_t> image_ring, shown_ring;
    std::array<std::uint64_t, kBooks> book{};
    std::deque<Slot> queue;
    bool word_due = false;
  };

  std::vector<std::uint32_t>& feed(std::size_t session) { return sessions_[session]; }
  void new_message() {
    feed(sessions_.size() - 1).push_back(static_cast<std::uint32_t>(random_.below(kBooks)));
    ++messages;
  }
  void new_session() { sessions_.emplace_back(); }

  FeedState state(const Mdh& mdh) const { return mdh.gap ? FeedState::kStale : FeedState::kGood; }
  void publish(Mdh& mdh, wire::BookUpdate update) { mdh.queue.push_back({++mdh.ring, update}); }
  void publish_state(Mdh& mdh) { publish(mdh, whole_feed(state(mdh))); }
  void publish_book(Mdh& mdh, std::uint32_t id, UpdateKind kind) {
    wire::BookUpdate update = message(mdh.heard, id, kind);
    update.best_bid = static_cast<std::uint32_t>(mdh.book[id]);
    update.exchange_time_ns = mdh.session;
    update.set_states(state(mdh), wire::TradingState::kTrading);
    publish(mdh, update);
    mdh.image_ring[id] = mdh.ring;
  }

  // The mdh listens: up to `count` messages, or the next session.
  void hear(std::size_t source, std::uint64_t count) {
    Mdh& mdh = mdhs_[source];
    if (!mdh.up || mdh.stuck || mdh.gap) return;
    for (; count > 0; --count) {
      if (mdh.heard == feed(mdh.session).size()) {
        if (mdh.session + 1 == sessions_.size()) return;
        enter(mdh, mdh.session + 1);
        continue;
      }
      const std::uint32_t id = feed(mdh.session)[mdh.heard++];
      mdh.book[id] = mdh.heard;
      publish_book(mdh, id, UpdateKind::kAdd);
      // Now and then a message has a second update; every mdh says the same.
      if (mdh.heard % 7 == 0) publish_book(mdh, id, UpdateKind::kCancel);
    }
  }
  void enter(Mdh& mdh, std::size_t session) {
    mdh.session = session;
    mdh.heard = 0;
    publish(mdh, numbering(session + 1));
    mdh.gap = false;
    for (std::uint32_t id = 0; id < kBooks; ++id) {
      const bool had = mdh.book[id] != 0;
      mdh.book[id] = 0;
      mdh.heard = 1;  // mdh says so with the first packet's number
      if (had) publish_book(mdh, id, UpdateKind::kBookCleared);
      mdh.heard = 0;
    }
    publish_state(mdh);
  }

  void fault(std::size_t source) {
    Mdh& mdh = mdhs_[source];
    if (!mdh.up) {
      if (random_.below(20) == 0) connect(source);
      return;
    }
    if (mdh.stuck) {
      if (random_.below(10) != 0) return;
      mdh.stuck = false;
      merge_.set_alive(source, true);
      return;
    }
    if (mdh.gap) {
      if (random_.below(10) == 0) bridge(mdh);
      return;
    }
    switch (random_.below(60)) {
      case 0:  // dies: what is in the ring is read first
        deliver(source, mdh.queue.size());
        mdh.up = false;
        merge_.set_alive(source, false);
        merge_.reset(source);
        break;
      case 1:
        mdh.stuck = true;
        merge_.set_alive(source, false);
        break;
      case 2:
        mdh.gap = true;
        publish_state(mdh);
        break;
      case 3:  // the reader is overrun
        if (mdh.queue.size() < 3) break;
        mdh.queue.clear();
        merge_.overrun(source);
        mdh.word_due = true;
        break;
    }
  }
  // By a snapshot of the whole session.
  void bridge(Mdh& mdh) {
    mdh.heard = feed(mdh.session).size();
    for (std::size_t at = 0; at < mdh.heard; ++at) mdh.book[feed(mdh.session)[at]] = at + 1;
    for (std::uint32_t id = 0; id < kBooks; ++id) publish_book(mdh, id, UpdateKind::kBookCleared);
    mdh.gap = false;
    publish_state(mdh);
  }
  // A new life that begins with a snapshot of the current session.
  void connect(std::size_t source) {
    Mdh& mdh = mdhs_[source];
    mdh = {};
    mdh.session = sessions_.size() - 1;
    mdh.heard = feed(mdh.session).size();
    for (std::size_t at = 0; at < mdh.heard; ++at) mdh.book[feed(mdh.session)[at]] = at + 1;
    merge_.reset(source);
    merge_.set_alive(source, true);
    merge_.set_word(source, wire::feed_word(mdh.session + 1, FeedState::kGood), mdh.heard);
    merge_.set_ready(source, true);
  }

  void deliver(std::size_t source, std::uint64_t count) {
    Mdh& mdh = mdhs_[source];
    if (!mdh.up) return;
    settle(source);
    for (; count > 0 && !mdh.queue.empty(); --count) {
      const Slot slot = mdh.queue.front();
      mdh.queue.pop_front();
      const wire::BookUpdate& update = slot.update;
      if (update.kind == UpdateKind::kNumbering) {
        merge_.on_numbering(source, update);
        if (source == 1) whole_session_ = update.numbering() - 1;
        continue;
      }
      // As the subscriber does: an image that was shown stands for it.
      if (slot.ring <= mdh.shown_ring[update.instrument_id]) continue;
      if (merge_.on_update(source, update)) hand_on(update);
    }
    settle(source);
  }
  void settle(std::size_t source) {
    Mdh& mdh = mdhs_[source];
    if (!mdh.word_due || !mdh.queue.empty()) return;
    mdh.word_due = false;
    merge_.set_word(source, wire::feed_word(mdh.session + 1, state(mdh)), mdh.heard);
  }

  void hand_on(const wire::BookUpdate& update) {
    ++handed;
    const std::uint64_t trace = update.trace_id;
    // The merge does not wait for the whole mdh to end the session before.
    if (update.exchange_time_ns > whole_session_) {
      loose_ = true;
      adopted_session_ = update.exchange_time_ns;
      adopted_at_ = trace;
    }
    if (one_is_whole_ && update.kind != UpdateKind::kBookCleared) {
      // Every one, in order, and once; of those until the adoption images stand for some.
      if (!loose_) {
        ASSERT_TRUE(trace == last_ || trace == last_ + 1 || trace == 1)
            << trace << " after " << last_;
      }
      loose_ = loose_ && !(update.exchange_time_ns == adopted_session_ && trace > adopted_at_);
      last_ = trace;
    }
    quote(update.instrument_id, update.best_bid, update.exchange_time_ns);
  }
  void quote(std::uint32_t id, std::uint64_t value, std::uint64_t session) {
    if (session == session_of_quote_[id]) {
      ASSERT_GE(value, quotes_[id]) << "instrument " << id << " went back in time";
    }
    quotes_[id] = value;
    session_of_quote_[id] = session;
  }

  void judge() {
    const std::size_t source = merge_.to_adopt(now_);
    if (source == FeedMerge::kNone) return;
    Mdh& mdh = mdhs_[source];
    if (mdh.word_due) return;
    merge_.begin_adoption(source);
    adopted_at_ = mdh.heard;
    adopted_session_ = mdh.session;
    loose_ = true;
    for (std::uint32_t id = 0; id < kBooks; ++id) {
      wire::BookImage image{};
      image.instrument_id = id;
      image.trace_id = mdh.book[id];
      image.states = message(1).states;
      image.set_numbering(mdh.session + 1);
      if (!merge_.on_image(source, image)) continue;
      mdh.shown_ring[id] = mdh.image_ring[id];
      quote(id, mdh.book[id], mdh.session);
    }
    merge_.end_adoption(source);
  }

  // Both are well again and hear everything: what was handed on is what is true.
  void finish() {
    for (std::size_t source = 0; source < 2; ++source) {
      Mdh& mdh = mdhs_[source];
      if (!mdh.up) connect(source);
      if (mdh.stuck) merge_.set_alive(source, true);
      mdh.stuck = false;
      if (mdh.gap) bridge(mdh);
    }
    new_session();
    for (std::uint32_t id = 0; id < kBooks; ++id) {
      feed(sessions_.size() - 1).push_back(id);
    }
    for (int i = 0; i < 60; ++i) {
      now_ += kPatience;
      for (std::uint32_t n = random_.below(3); n > 0; --n) new_message();
      for (std::size_t source = 0; source < 2; ++source) {
        hear(source, 1'000'000);
        deliver(source, 1'000'000);
      }
      judge();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(merge_.state(), FeedState::kGood);
    std::array<std::uint64_t, kBooks> truth{};
    const auto& all = feed(sessions_.size() - 1);
    for (std::size_t at = 0; at < all.size(); ++at) truth[all[at]] = at + 1;
    for (std::uint32_t id = 0; id < kBooks; ++id) EXPECT_EQ(quotes_[id], truth[id]) << id;
  }

  Random random_;
  bool one_is_whole_;
  FeedMerge merge_{kBooks, kPatience};
  std::vector<std::vector<std::uint32_t>> sessions_{1};
  std::array<Mdh, 2> mdhs_;
  std::array<std::uint64_t, kBooks> quotes_{};
  std::array<std::uint64_t, kBooks> session_of_quote_{};
  std::uint64_t last_ = 0;
  std::uint64_t adopted_at_ = 0;
  std::uint64_t adopted_session_ = 0;
  std::uint64_t whole_session_ = 0;  // of the second mdh, as far as it was read
  bool loose_ = true;                // until the images of an adoption are passed
  std::uint64_t now_ = 0;
};

TEST(FeedMergeModel, ShowsWhatIsTrueWhateverFailsOfBoth) {
  std::uint64_t adoptions = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, false);
    world.run(600);
    adoptions += world.adoptions();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(adoptions, 1'000u);
}

TEST(FeedMergeModel, HandsOnEveryUpdateOnceAndInOrderWhileOneIsWhole) {
  std::uint64_t adoptions = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, true);
    world.run(600);
    adoptions += world.adoptions();
    if (::testing::Test::HasFailure()) return;
  }
  // The first, and where that one died before the whole one could be gone by.
  EXPECT_LT(adoptions, 450u);
}

}  // namespace
}  // namespace tickpath::market::test

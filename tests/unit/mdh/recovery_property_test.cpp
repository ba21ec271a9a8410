// Random networks with snapshots: whoever loses, whenever it joins, ends with the books of a whole
// feed, and has shown no stale book as good on the way.
#include <set>

#include "tests/support/sanitized.hpp"
#include "tests/unit/mdh/random_network.hpp"
#include "tests/unit/mdh/venue_snapshot.hpp"

namespace tickpath::mdh::test {
namespace {

struct Recovery {
  Network network;
  double join;                // share of the day that is over when mdh starts
  std::uint64_t snapshot_ns;  // from the request to the answer
  double snapshot_failure;
  bool retransmission;
};

// The quote of each instrument after each message, of a feed that lost nothing.
class Truth {
 public:
  struct Quote {
    std::uint32_t bid, bid_shares, ask, ask_shares;
    friend bool operator==(const Quote&, const Quote&) = default;
  };
  static Quote quote_of(const wire::BookUpdate& update) {
    return {update.best_bid, update.best_bid_shares, update.best_ask, update.best_ask_shares};
  }
  explicit Truth(const Feed& feed, const std::vector<wire::BookUpdate>& updates) {
    for (const wire::BookUpdate& update : updates)
      if (update.instrument_id != wire::kNoInstrument &&
          update.kind != wire::UpdateKind::kImbalance)  // which has no quote
        history_[feed.instruments().entry(update.instrument_id).feed_locate][update.trace_id] =
            quote_of(update);
  }
  Quote at(std::uint16_t locate, std::uint64_t sequence) const {
    const auto found = history_.find(locate);
    if (found == history_.end()) return {};
    auto after = found->second.upper_bound(sequence);
    return after == found->second.begin() ? Quote{} : std::prev(after)->second;
  }

 private:
  std::map<std::uint16_t, std::map<std::uint64_t, Quote>> history_;
};

// sim, some time after it was asked.
class DelayedSnapshots final : public SnapshotPort {
 public:
  DelayedSnapshots(const Recovery& recovery, const std::vector<Bytes>& messages, std::uint64_t seed)
      : recovery_(recovery), messages_(messages), random_(seed), venue_(kRoom) {}

  void advance(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (status_ != Status::kPending || now_ns < due_ns_) return;
    if (random_.chance(recovery_.snapshot_failure)) {
      status_ = Status::kFailed;
      return;
    }
    // What has been sent by the time of the login.
    const std::uint64_t sent = std::min<std::uint64_t>(
        messages_.size(), ((asked_ns_ - kStartNs) / kPacketNs + 1) * kPacketMessages);
    while (venue_.next_sequence() <= sent) venue_.apply(messages_[venue_.next_sequence() - 1]);
    fill(made_, venue_, itch::mold::Session("S"));
    status_ = Status::kReady;
  }
  void request() noexcept override {
    if (status_ != Status::kNone) return;
    status_ = Status::kPending;
    asked_ns_ = now_ns_;
    due_ns_ = now_ns_ + 1 + random_.below(2 * recovery_.snapshot_ns);
  }
  Status poll() noexcept override { return status_; }
  const Snapshot& snapshot() const noexcept override { return made_; }
  void release() noexcept override { status_ = Status::kNone; }

 private:
  Recovery recovery_;
  const std::vector<Bytes>& messages_;
  Random random_;
  sim::GlimpseBook venue_;
  Snapshot made_;
  Status status_ = Status::kNone;
  std::uint64_t now_ns_ = 0, asked_ns_ = 0, due_ns_ = 0;
};

// Looks at everything that is published, while it is.
class Witness final : public UpdateSink {
 public:
  explicit Witness(const Truth& truth) : truth_(truth) {}
  const Feed* feed = nullptr;
  std::set<std::uint64_t> here;  // messages that have arrived at mdh
  std::uint64_t good = 0, stale = 0, caught_up = 0;
  std::vector<std::string> lies;

  void publish(const wire::BookUpdate& update) noexcept override {
    if (update.instrument_id != wire::kNoInstrument) {  // else of no message
      if (update.trace_id < before_)
        lies.push_back("backwards: " + std::to_string(update.trace_id));
      before_ = update.trace_id;
    }
    if (update.feed_state() != wire::FeedState::kGood) {
      ++stale;
      return;
    }
    ++good;
    if (update.instrument_id == wire::kNoInstrument) return;
    const std::uint16_t locate = feed->instruments().entry(update.instrument_id).feed_locate;
    // Good after a message: as a whole feed was after it. Good again: with all that is here, too.
    std::uint64_t upto = update.trace_id;
    if (update.kind == wire::UpdateKind::kFeedState) {
      while (here.contains(upto + 1)) ++upto;
      ++caught_up;
    }
    if (update.kind != wire::UpdateKind::kDirectory &&
        update.kind != wire::UpdateKind::kImbalance &&
        Truth::quote_of(update) != truth_.at(locate, upto))
      lies.push_back("locate " + std::to_string(locate) + " at " + std::to_string(upto));
  }
  void mark_dirty(std::uint32_t) noexcept override {}
  void store_row(std::uint32_t, const wire::DirectoryEntry&) noexcept override {}

 private:
  const Truth& truth_;
  std::uint64_t before_ = 0;
};

class Recoveries : public FeedTest, public ::testing::WithParamInterface<Recovery> {
 protected:
  clock::TickConverter converter;
};
INSTANTIATE_TEST_SUITE_P(
    Faults, Recoveries,
    ::testing::Values(
        Recovery{{0.05, 0.05, 1, 0.1, 0, true}, 0, 300 * kUs, 0, false},
        Recovery{{0.05, 0.05, 8, 0.1, 0, true}, 0, 800 * kUs, 0.2, false},
        Recovery{{0.05, 0.05, 4, 0, 0.9, true}, 0.3, 500 * kUs, 0.1, true},  // answers are lost
        Recovery{{0.05, 0.05, 4, 0.1, 0.05, true}, 0.5, 500 * kUs, 0, true},
        Recovery{{0, 0, 1, 0, 0, true}, 0.9, 500 * kUs, 0.5, false},  // only late
        Recovery{{0.3, 0.3, 3, 0.3, 0.3, true}, 0.1, 1'500 * kUs, 0.3, true}));

TEST_P(Recoveries, EndWithTheBooksOfAWholeFeedAndShowNoStaleBookAsGood) {
  constexpr std::uint64_t kSeeds = test_support::seeds(20, 4), kMessages = 3'000;
  const Recovery& with = GetParam();
  std::uint64_t snapshots = 0, good = 0, stale = 0, caught_up = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<Bytes> messages = generated(seed, kMessages);
    VectorSink whole_sink;
    Feed whole(small_options(), whole_sink, trace, log);
    RandomNetwork network(with.network, seed);
    const auto joined_ns =
        kStartNs + static_cast<std::uint64_t>(with.join * static_cast<double>(kMessages) *
                                              static_cast<double>(kPacketNs / kPacketMessages));
    send_day(messages, whole, network, joined_ns);
    const Truth truth(whole, whole_sink.updates);

    Witness witness(truth);
    Feed lossy(small_options(), witness, trace, log);
    witness.feed = &lossy;
    DelayedSnapshots port(with, messages, seed);
    FakePort requests;
    ArbiterOptions options{.gap_wait_ns = 150 * kUs,
                           .request_timeout_ns = 300 * kUs,
                           .requests_max = 3,
                           .snapshot_gap_messages = 400,
                           .snapshot_retry_ns = 100 * kUs,
                           .snapshot_attempts_max = 1'000};
    options.held_packets = 64;  // so that it is too few now and then
    Arbiter both(options, lossy, with.retransmission ? &requests : nullptr, &port, log);

    std::size_t answered = 0;
    std::uint64_t steps = 0;
    for (std::uint64_t now = joined_ns; !network.empty() || both.waiting(); now += 15 * kUs) {
      ASSERT_LT(++steps, 1'000'000u) << "it never ends";
      port.advance(now);
      const auto arrived = network.arrived(now);
      for (const auto& each : arrived) {
        const auto header = itch::mold::load_header(each.bytes.data());
        for (std::uint16_t i = 0; i < header.messages(); ++i)
          witness.here.insert(header.sequence_number + i);
      }
      for (const auto& each : arrived)
        both.collect(each.line, each.bytes, {0, converter.from_ns(now)});
      both.process(converter.from_ns(now));
      answer(network, messages, requests, answered, now);
    }
    ASSERT_TRUE(witness.lies.empty()) << witness.lies.size() << ", first " << witness.lies[0];
    good += witness.good;
    snapshots += both.counters().snapshots.get();
    stale += witness.stale;
    caught_up += witness.caught_up;

    EXPECT_EQ(lossy.state(), wire::FeedState::kEnded);
    EXPECT_EQ(lossy.counters().missed_messages.get(), 0u);
    EXPECT_EQ(lossy.counters().messages.get() + lossy.counters().bridged_messages.get(),
              messages.size());
    lossy.books().verify();
    ASSERT_EQ(lossy.instruments().size(), whole.instruments().size());
    expect_same_books(whole, lossy);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(snapshots, 0u) << "nothing was ever bridged";
  EXPECT_GT(good, 0u);
  EXPECT_GT(stale, 0u);
  EXPECT_GT(caught_up, 0u);
}

}  // namespace
}  // namespace tickpath::mdh::test

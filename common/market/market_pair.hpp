// Two mdh's that hear the same feed, read as one. Each update is handed on from whichever has it
// first, by its position in the feed (FeedMerge). What the other brings later is dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "common/base/counter.hpp"
#include "common/control/counters.hpp"
#include "common/market/feed_merge.hpp"
#include "common/market/identities.hpp"
#include "common/market/market_source.hpp"

namespace tickpath::market {

class MarketPair {
 public:
  // Two sources, which outlive it. timeout_ns: as FeedMerge has it.
  MarketPair(std::deque<MarketSource>& sources, std::uint32_t instruments_max,
             std::uint64_t timeout_ns);

  // ---- control thread
  void tell_refused();
  void register_counters(control::Counters& out, const std::string& group) const;

  // ---- datapath thread, see MarketReader
  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns, std::size_t batch) noexcept {
    first_ ^= 1;  // neither has the better place in our own time
    const std::size_t count = poll_one(first_, handler, now_ns, batch);
    return count + poll_one(1 - first_, handler, now_ns, batch) + judge(handler, now_ns);
  }
  bool directory_behind() const noexcept;
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept;

  // ---- the filter of MarketSource::poll()
  bool on_update(std::size_t source, const wire::BookUpdate& update) noexcept {
    settle_word(source, 1);
    return merge_.on_update(source, update);
  }
  bool on_image(std::size_t source, const wire::BookImage& image) noexcept {
    return merge_.on_image(source, image);
  }
  bool on_overrun(std::size_t source) noexcept {
    merge_.overrun(source);
    return !merge_.can_follow(1 - source);
  }
  // False: the row gives an id to another symbol than the other mdh does. The source is refused.
  bool on_directory(std::size_t source, const wire::DirectoryEntry& row) noexcept;
  bool on_mdh(std::size_t source, bool alive) noexcept {
    merge_.set_alive(source, alive);
    return false;  // judge() says what the two are
  }
  void on_numbering(std::size_t source, const wire::BookUpdate& update) noexcept {
    joining_[source].word_waits = false;
    merge_.on_numbering(source, update);
  }
  void on_live(std::size_t source) noexcept;
  void on_link(std::size_t source) noexcept {
    merge_.reset(source);
    joining_[source] = {};
  }

  // ---- any thread
  const Counter& alive() const noexcept { return alive_; }  // either of the two
  const MergeCounters& counters() const noexcept { return merge_.counters(); }

 private:
  // What is known of each mdh beside what FeedMerge knows.
  struct Joining {
    bool directory_read = false;
    bool refused = false;     // its directory is another's
    bool word_waits = false;  // for the updates that it includes
    std::uint64_t word = 0;
    std::uint64_t place = 0;
    std::uint64_t word_at = 0;  // position in the ring
  };

  template <class Handler>
  std::size_t poll_one(std::size_t source, Handler& handler, std::uint64_t now_ns,
                       std::size_t batch) noexcept {
    MarketSource& mdh = sources_[source];
    const std::size_t count = mdh.poll(handler, *this, now_ns, batch);
    settle_word(source, 0);
    Joining& joining = joining_[source];
    if (!joining.directory_read && mdh.live() && !mdh.directory_behind()) [[unlikely]]
      joining.directory_read = true;
    merge_.set_ready(source, joining.directory_read && !joining.refused);
    return count;
  }

  // What the two together are: reported when it changes.
  template <class Handler>
  std::size_t judge(Handler& handler, std::uint64_t now_ns) noexcept {
    if (merge_.alive() != (alive_.get() != 0)) [[unlikely]] {
      alive_.set(merge_.alive() ? 1 : 0);
      handler.on_mdh(merge_.alive());
    }
    const std::size_t adopted = merge_.to_adopt(now_ns);
    if (adopted != FeedMerge::kNone && sources_[adopted].live()) [[unlikely]] {
      merge_.begin_adoption(adopted);
      sources_[adopted].show_images_again();
    }
    const wire::FeedState state = merge_.state();
    if (state == reported_) [[likely]]
      return 0;
    // What is doubtful on its own account stays so: said before all is good, as mdh does.
    if (state == wire::FeedState::kGood)
      for (const std::uint32_t id : merge_.doubtful()) report_doubtful(id, handler);
    reported_ = state;
    state_.set(static_cast<std::uint64_t>(state));
    handler.on_update(wire::feed_state_update(wire::kNoInstrument, state, merge_.last_trace_id()));
    return 1;
  }
  template <class Handler>
  void report_doubtful(std::uint32_t id, Handler& handler) noexcept {
    wire::BookImage latest;
    if (!image(id, latest) || latest.feed_state() == wire::FeedState::kGood) return;
    wire::BookUpdate update =
        wire::feed_state_update(id, latest.feed_state(), merge_.last_trace_id());
    update.states = latest.states;
    update.best_bid = latest.bids[0].price;
    update.best_bid_shares = latest.bids[0].shares;
    update.best_ask = latest.asks[0].price;
    update.best_ask_shares = latest.asks[0].shares;
    handler.on_update(update);
  }
  void settle_word(std::size_t source, std::uint64_t behind) noexcept;

  std::deque<MarketSource>& sources_;
  FeedMerge merge_;
  Identities names_;  // of both
  std::array<Joining, FeedMerge::kSources> joining_;
  std::size_t first_ = 0;
  wire::FeedState reported_ = wire::FeedState::kUnknown;
  Counter alive_;
  Counter state_;                                            // wire::FeedState of both together
  std::array<Counter, FeedMerge::kSources> refused_;         // 1: its directory is another's
  std::array<std::uint64_t, FeedMerge::kSources> logged_{};  // of refused_; control thread
};

}  // namespace tickpath::market

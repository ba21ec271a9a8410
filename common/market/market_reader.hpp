// What every reader of the market does: of one mdh, or of two that hear the same feed.
//
// With two (`endpoint_b`) each update is handed on from whichever has it first, by its place in the
// feed (FeedMerge); what the other brings later is dropped. The handler sees one mdh that is alive
// while either is, and good while either is. With one, nothing is looked at twice.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "common/control/common_config.hpp"
#include "common/control/counters.hpp"
#include "common/control/summary.hpp"
#include "common/market/config.hpp"
#include "common/market/feed_merge.hpp"
#include "common/market/identities.hpp"
#include "common/market/market_source.hpp"

namespace tickpath::market {

// The options of a program, as its configuration says. offsets: notified of mdh's clock.
MarketReaderOptions reader_options(wire::Role role, const control::CommonConfig& common,
                                   const FeedConfig& feed, const HeartbeatConfig& heartbeat,
                                   std::uint32_t instruments_max, clock::OffsetSink& offsets);

// The handler of poll(), all noexcept, is MarketSource's; with two mdh's:
//   on_image      when the reader has to follow the other mdh from now on: for each image that is
//                 newer than what was handed on of its instrument
//   on_overrun     when neither can fill what was lost
//   on_directory  rows of both, which agree: one whose ids stand for other symbols than the
//                 other's is not followed, and the log says so
//   on_mdh        whether either is there
class MarketReader {
 public:
  // Control thread. channel: of the datapath thread that parks, or nullptr.
  MarketReader(rdma::Device& device, rdma::CompletionChannel* channel,
               const MarketReaderOptions& options);

  // ---- control thread, each tick

  // Connects to what is down, without waiting for it; releases what is done with. True: connected
  // just now, to connected_to().
  bool maintain(std::uint64_t now_ns);
  const std::string& connected_to() const noexcept { return connected_to_; }
  // Empty: updates are being taken.
  std::string not_ready_reason() const;
  // Counters for `status` and for the summary.
  void register_counters(control::Counters& out, const std::string& group) const;
  // The flow of both together.
  control::RingFlow flow() const;

  // ---- datapath thread

  // Takes at most `batch` updates from each. now_ns: monotonic, the same clock in every turn.
  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns, std::size_t batch = 64) noexcept {
    if (!b_) [[likely]]
      return a_.poll(handler, now_ns, batch);
    turn_ ^= 1;  // neither has the better place in our own time
    const std::size_t count = poll_one(turn_, handler, now_ns, batch);
    return count + poll_one(1 - turn_, handler, now_ns, batch) + judge(handler, now_ns);
  }

  // Rows of the directory are known to exist, or may, that were not handed over yet.
  bool directory_behind() const noexcept;
  // The latest image of an instrument. False: none, or it was being written all the time, or the id
  // may stand for another symbol than before, or it is older than what was handed on.
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept;
  void arm() noexcept;
  bool may_sleep() const noexcept;
  // The last call: tells mdh that we leave of our own will.
  void close() noexcept;

  // ---- any thread
  const link::SubscriberCounters& counters() const noexcept { return a_.counters(); }  // the first
  const Counter& alive() const noexcept { return b_ ? alive_ : a_.alive(); }
  // Whether one of the two is connected and beating.
  bool joined(std::size_t source) const noexcept { return at(source).alive().get() != 0; }
  // Instruments whose id stands for another symbol than before.
  const Counter& symbol_conflicts() const noexcept { return a_.symbol_conflicts(); }
  const MergeCounters* merged() const noexcept { return b_ ? &merge_->counters() : nullptr; }

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
  struct Tap {
    void on_update(const wire::BookUpdate& update) noexcept {
      self.settle_word(source, 1);
      if (self.merge_->on_update(source, update)) handler.on_update(update);
    }
    void on_imbalance(const wire::ImbalanceUpdate& update) noexcept {
      self.settle_word(source, 1);
      if (!self.merge_->on_update(source, std::bit_cast<wire::BookUpdate>(update))) return;
      if constexpr (requires { handler.on_imbalance(update); }) handler.on_imbalance(update);
    }
    void on_numbering(const wire::BookUpdate& update) noexcept {
      self.joining_[source].word_waits = false;
      self.merge_->on_numbering(source, update);
    }
    bool on_image(const wire::BookImage& image) noexcept {
      if (!self.merge_->on_image(source, image)) return false;
      handler.on_image(image);
      return true;
    }
    void on_overrun(std::uint64_t lost) noexcept {
      self.merge_->overrun(source);
      if (!self.merge_->can_follow(1 - source)) handler.on_overrun(lost);
    }
    void on_live() noexcept { self.on_live(source); }
    void on_directory(const wire::DirectoryEntry& row) noexcept {
      if (self.agrees(source, row)) handler.on_directory(row);
    }
    void on_mdh(bool alive) noexcept { self.merge_->set_alive(source, alive); }
    void on_link(link::LinkEvent /*event*/) noexcept {
      self.merge_->reset(source);
      self.joining_[source] = {};
    }
    MarketReader& self;
    std::size_t source;
    Handler& handler;
  };

  MarketSource& at(std::size_t source) noexcept { return source == 0 ? a_ : *b_; }
  const MarketSource& at(std::size_t source) const noexcept { return source == 0 ? a_ : *b_; }

  template <class Handler>
  std::size_t poll_one(std::size_t source, Handler& handler, std::uint64_t now_ns,
                       std::size_t batch) noexcept {
    Tap<Handler> tap{*this, source, handler};
    const std::size_t count = at(source).poll(tap, now_ns, batch);
    settle_word(source, 0);
    Joining& joining = joining_[source];
    if (!joining.directory_read && at(source).live() && !at(source).directory_behind()) [[unlikely]]
      joining.directory_read = true;
    merge_->set_ready(source, joining.directory_read && !joining.refused);
    return count;
  }

  // What the two together are: told when it changes.
  template <class Handler>
  std::size_t judge(Handler& handler, std::uint64_t now_ns) noexcept {
    if (merge_->alive() != (alive_.get() != 0)) [[unlikely]] {
      alive_.set(merge_->alive() ? 1 : 0);
      handler.on_mdh(merge_->alive());
    }
    const std::size_t adopted = merge_->to_adopt(now_ns);
    if (adopted != FeedMerge::kNone && at(adopted).live()) [[unlikely]] {
      merge_->begin_adoption(adopted);
      at(adopted).show_images_again();
    }
    const wire::FeedState state = merge_->state();
    if (state == told_) [[likely]]
      return 0;
    // What is doubtful on its own account stays so: said before all is good, as mdh does.
    if (state == wire::FeedState::kGood)
      for (const std::uint32_t id : merge_->doubtful()) tell_doubtful(id, handler);
    told_ = state;
    state_.set(static_cast<std::uint64_t>(state));
    handler.on_update(wire::feed_state_update(wire::kNoInstrument, state, merge_->last_trace_id()));
    return 1;
  }
  template <class Handler>
  void tell_doubtful(std::uint32_t id, Handler& handler) noexcept {
    wire::BookImage latest;
    if (!image(id, latest) || latest.feed_state() == wire::FeedState::kGood) return;
    wire::BookUpdate update =
        wire::feed_state_update(id, latest.feed_state(), merge_->last_trace_id());
    update.states = latest.states;
    update.best_bid = latest.bids[0].price;
    update.best_bid_shares = latest.bids[0].shares;
    update.best_ask = latest.asks[0].price;
    update.best_ask_shares = latest.asks[0].shares;
    handler.on_update(update);
  }
  void settle_word(std::size_t source, std::uint64_t behind) noexcept;
  void on_live(std::size_t source) noexcept;
  bool agrees(std::size_t source, const wire::DirectoryEntry& row) noexcept;

  MarketSource a_;
  std::optional<MarketSource> b_;
  std::optional<FeedMerge> merge_;  // with b_
  Identities names_;                // of both
  std::array<Joining, FeedMerge::kSources> joining_;
  std::string connected_to_;  // control thread, and the next
  std::array<std::uint64_t, 2> refusals_told_{};
  std::size_t turn_ = 0;
  wire::FeedState told_ = wire::FeedState::kUnknown;
  Counter alive_;                   // either of the two
  Counter state_;                   // wire::FeedState of both together
  std::array<Counter, 2> refused_;  // 1: its directory is another's
};

}  // namespace tickpath::market

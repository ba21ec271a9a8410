// One mdh that is read: update ring, images, directory, and watching that it lives.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "common/control/common_config.hpp"
#include "common/control/counters.hpp"
#include "common/control/summary.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/reconnect.hpp"
#include "common/link/subscriber.hpp"
#include "common/link/table_follower.hpp"
#include "common/market/config.hpp"
#include "common/market/identities.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::market {

struct MarketReaderOptions {
  std::string endpoint;    // of mdh
  std::string endpoint_b;  // of the other one of a pair; empty: there is none
  std::string name;        // this program's, as mdh shows it
  wire::Role role = wire::Role::kTool;
  // Which symbols mdh must have: it refuses who needs others. nullopt: any.
  std::optional<wire::Shard> shard = std::nullopt;
  link::RingMode mode = link::RingMode::kPoll;
  std::uint32_t ring_depth = 1u << 16;
  std::uint32_t instruments_max = 16'384;
  link::HeartbeatOptions heartbeat;
  clock::OffsetSink* offsets = nullptr;  // notified of mdh's clock; nullptr: not measured
  std::uint32_t clock_stream = 0;        // of several venues' readers: 0x1000 apart
};

// Decides what of a source is handed on, where it is the only one: everything. MarketPair has the
// same functions for two. The first argument is the number of the source.
struct Alone {
  static bool on_update(std::size_t, const wire::BookUpdate&) noexcept { return true; }
  static bool on_image(std::size_t, const wire::BookImage&) noexcept { return true; }
  static bool on_overrun(std::size_t) noexcept { return true; }
  static bool on_directory(std::size_t, const wire::DirectoryEntry&) noexcept { return true; }
  static bool on_mdh(std::size_t, bool) noexcept { return true; }
  // About the feed, not a book: nothing to hand on.
  static void on_numbering(std::size_t, const wire::BookUpdate&) noexcept {}
  static void on_live(std::size_t) noexcept {}
  static void on_link(std::size_t) noexcept {}
};

// After a reconnect nothing of an instrument is handed over before its row of the directory, then
// its image. One whose id now stands for another symbol is reported stale (kFeedState), and
// nothing more of it comes: whoever holds orders or positions in it may not go by another's prices.
class MarketSource {
 public:
  using Subscriber = link::Subscriber<wire::BookUpdate, wire::BookImage>;

  // Control thread. channel: of the datapath thread that parks, or nullptr. number: 0, or 1 for the
  // second of a pair. clock_stream: of its clock's entries in the trace.
  MarketSource(rdma::Device& device, rdma::CompletionChannel* channel,
               const MarketReaderOptions& options, std::size_t number, std::uint32_t clock_stream);

  // ---- control thread, each tick

  // Connects when it is down, without waiting for mdh; releases what is done with. True: connected
  // just now.
  bool maintain(std::uint64_t now_ns);
  // Empty: mdh lives, its books are known, and updates are being taken.
  std::string not_ready_reason() const;
  // Counters for `status` and for the summary.
  void register_counters(control::Counters& out, const std::string& group) const;
  // The flow of the last connection; empty where that was lost, as at mdh.
  control::RingFlow flow() const;

  // ---- datapath thread

  // Takes at most `batch` updates, and hands on what `filter` lets pass: Alone, or a MarketPair.
  // now_ns: monotonic, the same clock in every turn.
  template <class Handler, class Filter>
  std::size_t poll(Handler& handler, Filter& filter, std::uint64_t now_ns,
                   std::size_t batch) noexcept {
    Taker<Handler, Filter> taker{*this, handler, filter, now_ns};
    std::size_t count = subscriber_.poll(taker, batch);
    if (subscriber_.connection() == nullptr) return count;
    if (directory_.behind()) [[unlikely]]
      count += directory_.step([&](const wire::DirectoryEntry& row) noexcept { taker.on_row(row); },
                               [&]() noexcept { subscriber_.poll_sinks(); });
    taker.judge(heartbeat_.evaluate(now_ns) != link::Liveness::kDead);
    if (count == 0 && clock_.step(now_ns)) subscriber_.poll_sinks();
    return count;
  }

  // Images are as new as can be, and updates follow.
  bool live() const noexcept { return subscriber_.state() == link::SubscriberState::kLive; }
  // In the ring: the newest update handed over.
  std::uint64_t position() const noexcept { return subscriber_.position(); }
  const link::Watermark& watermark() const noexcept { return subscriber_.watermark(); }
  void show_images_again() noexcept { subscriber_.show_images_again(); }
  // Rows of the directory are known to exist, or may, that were not handed over yet.
  bool directory_behind() const noexcept { return directory_.behind(); }
  // The latest image of an instrument. False: none, or it was being written all the time, or the id
  // may stand for another symbol than before.
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept;
  void arm() noexcept { subscriber_.arm(); }
  bool may_sleep() const noexcept { return subscriber_.may_sleep() && !directory_behind(); }
  // The last call: tells mdh that we leave of our own will.
  void close() noexcept { subscriber_.close(); }

  // ---- any thread
  const std::string& endpoint() const noexcept { return options_.endpoint; }
  const link::SubscriberCounters& counters() const noexcept { return subscriber_.counters(); }
  const Counter& alive() const noexcept { return alive_; }
  // Instruments whose id stands for another symbol than before.
  const Counter& symbol_conflicts() const noexcept { return symbol_conflicts_; }
  const link::ClockProbeCounters& clock() const noexcept { return clock_.counters(); }
  const link::Losses& losses() const noexcept { return losses_; }  // of mdh

 private:
  // The handler of Subscriber::poll().
  template <class Handler, class Filter>
  struct Taker {
    void on_update(const wire::BookUpdate& update, std::uint64_t /*sequence*/) noexcept {
      if (update.kind == wire::UpdateKind::kDirectory &&
          !self.identities_.settled(update.instrument_id)) [[unlikely]]
        self.directory_.look_again();
      if (!self.identities_.trusted(update.instrument_id)) [[unlikely]]
        return;
      if (update.kind == wire::UpdateKind::kNumbering) [[unlikely]]
        return filter.on_numbering(self.number_, update);
      if (!filter.on_update(self.number_, update)) return;
      // No book update: whoever asks for imbalances has on_imbalance().
      if (update.kind == wire::UpdateKind::kImbalance) [[unlikely]] {
        if constexpr (requires(const wire::ImbalanceUpdate& imbalance) {
                        handler.on_imbalance(imbalance);
                      })
          handler.on_imbalance(std::bit_cast<wire::ImbalanceUpdate>(update));
        return;
      }
      handler.on_update(update);
    }
    // False: it counts as not shown.
    bool on_image(std::uint32_t index, const wire::BookImage& image) noexcept {
      if (!self.identities_.trusted(index)) [[unlikely]]
        return true;
      if (!filter.on_image(self.number_, image)) return false;
      handler.on_image(image);
      return true;
    }
    // No image shows a new row of the directory: such an update is handed over in any case.
    std::uint32_t image_index(const wire::BookUpdate& update) const noexcept {
      return update.kind == wire::UpdateKind::kDirectory ? link::kNoImageIndex
                                                         : update.instrument_id;
    }
    // Updates that images stood for may have spoken of new rows.
    void on_live() noexcept {
      self.directory_.look_again();
      filter.on_live(self.number_);
    }
    void on_overrun(std::uint64_t lost) noexcept {
      // New instruments may have been among them: look behind the last row known.
      self.directory_.look_again();
      if (filter.on_overrun(self.number_)) handler.on_overrun(lost);
    }
    void on_link(link::LinkEvent event) noexcept {
      const bool connected = event == link::LinkEvent::kConnected;
      if (connected)
        self.attach(now_ns);
      else
        self.detach(event == link::LinkEvent::kLost);
      judge(connected);
      filter.on_link(self.number_);
    }
    void on_row(const wire::DirectoryEntry& row) noexcept {
      const std::uint32_t id = row.instrument_id;
      const bool waited = !self.identities_.trusted(id);
      const Identities::Verdict verdict = self.identities_.confirm(row);
      self.symbol_conflicts_.set(self.identities_.conflicts());
      if (filter.on_directory(self.number_, row)) handler.on_directory(row);
      const wire::BookUpdate stale = wire::feed_state_update(id, wire::FeedState::kStale);
      wire::BookImage latest;
      if (verdict == Identities::Verdict::kOther) {
        if (filter.on_update(self.number_, stale)) handler.on_update(stale);
      } else if (waited && self.image(id, latest) && filter.on_image(self.number_, latest)) {
        handler.on_image(latest);
      }
    }
    void judge(bool alive) noexcept {
      if (alive == (self.alive_.get() != 0)) return;
      self.alive_.set(alive ? 1 : 0);
      if (!alive) self.losses_.note();
      if (filter.on_mdh(self.number_, alive)) handler.on_mdh(alive);
    }
    MarketSource& self;
    Handler& handler;
    Filter& filter;
    std::uint64_t now_ns;
  };

  void attach(std::uint64_t now_ns) noexcept;
  void detach(bool lost) noexcept;
  void tell_refused();
  void tell_lost();

  MarketReaderOptions options_;
  std::size_t number_;
  Subscriber subscriber_;
  link::TableFollower<wire::DirectoryEntry> directory_;
  Identities identities_;
  link::HeartbeatMonitor heartbeat_;
  link::ClockProbe clock_;
  link::Reconnect reconnect_;
  Counter alive_;
  Counter lost_;  // the last connection
  Counter symbol_conflicts_;
  bool multicast_refused_ = false, multicast_lost_ = false;  // control thread; as told last
  link::Losses losses_;
};

}  // namespace tickpath::market

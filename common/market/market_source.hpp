// What every reader of one mdh does: update ring, images, directory, and watching that it lives.
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

// The handler of poll(), all noexcept:
//   void on_update(const wire::BookUpdate&)
//   void on_image(const wire::BookImage&)         after a join or an overrun, for each that changed
//   void on_overrun(std::uint64_t lost)
//   void on_directory(const wire::DirectoryEntry&)
//   void on_mdh(bool alive)                       connected and beating, or not; on every change
//
// After a reconnect nothing of an instrument is handed over before its row of the directory, then
// its image. One whose id now stands for another symbol is reported stale (kFeedState), and
// nothing more of it comes: whoever holds orders or positions in it may not go by another's prices.
class MarketSource {
 public:
  using Subscriber = link::Subscriber<wire::BookUpdate, wire::BookImage>;

  // Control thread. channel: of the datapath thread that parks, or nullptr. clock_stream: of its
  // clock's entries in the trace.
  MarketSource(rdma::Device& device, rdma::CompletionChannel* channel,
               const MarketReaderOptions& options, std::uint32_t clock_stream);

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

  // Takes at most `batch` updates. now_ns: monotonic, the same clock in every turn.
  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns, std::size_t batch = 64) noexcept {
    Adapter<Handler> adapter{*this, handler, now_ns};
    std::size_t count = subscriber_.poll(adapter, batch);
    if (subscriber_.connection() == nullptr) return count;
    if (directory_.behind()) [[unlikely]]
      count +=
          directory_.step([&](const wire::DirectoryEntry& row) noexcept { on_row(row, handler); },
                          [&]() noexcept { subscriber_.poll_sinks(); });
    judge(heartbeat_.evaluate(now_ns) != link::Liveness::kDead, handler);
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
  template <class Handler>
  struct Adapter {
    void on_update(const wire::BookUpdate& update, std::uint64_t /*sequence*/) noexcept {
      if (update.kind == wire::UpdateKind::kDirectory &&
          !self.identities_.settled(update.instrument_id)) [[unlikely]]
        self.directory_.look_again();
      if (!self.identities_.trusted(update.instrument_id)) [[unlikely]]
        return;
      // About the feed, not a book: for a reader of two mdh's.
      if (update.kind == wire::UpdateKind::kNumbering) [[unlikely]] {
        if constexpr (requires { handler.on_numbering(update); }) handler.on_numbering(update);
        return;
      }
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
    bool on_image(std::uint32_t index, const wire::BookImage& image) noexcept {
      if (!self.identities_.trusted(index)) [[unlikely]]
        return true;
      if constexpr (std::is_same_v<decltype(handler.on_image(image)), bool>)
        return handler.on_image(image);
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
      if constexpr (requires { handler.on_live(); }) handler.on_live();
    }
    void on_overrun(std::uint64_t lost) noexcept {
      // New instruments may have been among them: look behind the last row known.
      self.directory_.look_again();
      handler.on_overrun(lost);
    }
    void on_link(link::LinkEvent event) noexcept {
      if (event == link::LinkEvent::kConnected) {
        self.attach(now_ns);
        self.judge(true, handler);
      } else {
        self.detach(event == link::LinkEvent::kLost);
        self.judge(false, handler);
      }
      if constexpr (requires { handler.on_link(event); }) handler.on_link(event);
    }
    MarketSource& self;
    Handler& handler;
    std::uint64_t now_ns;
  };

  template <class Handler>
  void on_row(const wire::DirectoryEntry& row, Handler& handler) noexcept {
    const bool waited = !identities_.trusted(row.instrument_id);
    const Identities::Verdict verdict = identities_.confirm(row);
    symbol_conflicts_.set(identities_.conflicts());
    handler.on_directory(row);
    wire::BookImage latest;
    if (verdict == Identities::Verdict::kOther)
      handler.on_update(wire::feed_state_update(row.instrument_id, wire::FeedState::kStale));
    else if (waited && image(row.instrument_id, latest))
      handler.on_image(latest);
  }
  template <class Handler>
  void judge(bool alive, Handler& handler) noexcept {
    if (alive == (alive_.get() != 0)) return;
    alive_.set(alive ? 1 : 0);
    if (!alive) losses_.note();
    handler.on_mdh(alive);
  }
  void attach(std::uint64_t now_ns) noexcept;
  void detach(bool lost) noexcept;
  void tell_refused();
  void tell_lost();

  MarketReaderOptions options_;
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

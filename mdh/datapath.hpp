// The one polling thread of mdh: socket, books, fabric.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/control/datapath.hpp"
#include "common/link/publisher.hpp"
#include "common/link/remote_table.hpp"
#include "common/net/multicast.hpp"
#include "common/stores/home/writer.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"
#include "mdh/arbiter.hpp"
#include "mdh/config.hpp"
#include "mdh/feed.hpp"
#include "mdh/line_source.hpp"
#include "mdh/price_feed.hpp"
#include "mdh/retransmission.hpp"
#include "mdh/snapshot.hpp"

namespace tickpath::mdh {

using BookPublisher = link::Publisher<wire::BookUpdate, wire::BookImage>;
using DirectoryTable = link::TableOwner<wire::DirectoryEntry>;

// Puts a feed's updates on the fabric.
class FabricSink final : public UpdateSink {
 public:
  // store: of recent prices, home: into which books are written; nullptr: there is none.
  FabricSink(BookPublisher& publisher, DirectoryTable& directory,
             prices::PriceStore* store = nullptr, home::HomeWriter* home = nullptr)
      : publisher_(publisher), directory_(directory), home_(home) {
    if (store != nullptr) prices_.emplace(*store);
  }
  void publish(const wire::BookUpdate& update) noexcept override {
    publisher_.set_program_place(update.trace_id);
    publisher_.publish(update);
    if (prices_) prices_->on_update(update);
  }
  void mark_dirty(std::uint32_t id) noexcept override {
    publisher_.mark_dirty(id);
    if (home_ != nullptr) home_->mark(id);
  }
  void store_row(std::uint32_t index, const wire::DirectoryEntry& row) noexcept override {
    directory_.store(index, row);
    if (home_ != nullptr) home_->set_symbol(row.instrument_id, row.name());
    if (prices_) prices_->on_row(row);
  }
  void begin_day() noexcept override {
    if (prices_) prices_->begin_day();
  }
  void note_bridge() noexcept override {
    if (prices_) prices_->begin_session();
  }
  void begin_numbering(std::uint64_t numbering, std::uint64_t sequence) noexcept override;
  void set_state(wire::FeedState state) noexcept override {
    publisher_.set_program_word(wire::feed_word(numbering_, state));
    if (prices_) prices_->set_state(state);
  }
  // After a burst: what was published goes into the price store.
  void store_prices() noexcept {
    if (prices_) prices_->flush();
  }

 private:
  BookPublisher& publisher_;
  DirectoryTable& directory_;
  home::HomeWriter* home_;
  std::optional<PriceFeed> prices_;
  std::uint64_t numbering_ = 0;
};

// One writer, the datapath thread; any thread reads.
struct SocketCounters {
  TICKPATH_COUNTERS(kernel_drops,  // datagrams that found the socket's buffer full
                    receive_errors);
};

class MdhDatapath final : public control::Datapath {
 public:
  // Control thread. Everything given outlives the datapath; channel wakes a parked thread and may
  // be nullptr, as store, which nobody reads then, and home, into which nothing is written. Throws
  // Error: the socket, the memory.
  MdhDatapath(const MdhConfig& config, BookPublisher& publisher, DirectoryTable& directory,
              prices::PriceStore* store, rdma::CompletionChannel* channel,
              trace::TraceWriter& trace, log::HotLog& log, home::HomeWriter* home = nullptr);

  bool turn() noexcept override;
  void arm() noexcept override { publisher_.arm(); }
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override { return wake_; }
  void woken() noexcept override;

  // Control thread, before the first turn; see Feed.
  void remember(std::span<const KnownSymbol> symbols, std::chrono::sys_days since) noexcept {
    feed_.remember(symbols, since);
  }

  // Any thread: empties the socket, publishes what is left, tells subscribers the final count.
  void close() noexcept;
  // Any thread: true once all of them know it.
  bool closed() const noexcept;

  const Feed& feed() const noexcept { return feed_; }
  const SocketCounters& socket_counters() const noexcept { return socket_; }
  const net::UdpMulticastReceiver& receiver() const noexcept { return lines_[0]->receiver; }
  // nullptr: nobody is asked.
  const SnapshotClient* snapshots() const noexcept { return snapshots_.get(); }
  const Arbiter& arbiter() const noexcept { return arbiter_; }
  std::size_t lines() const noexcept { return lines_.size(); }
  // Datagrams of others than the exchange, which were dropped.
  std::uint64_t strangers() const noexcept;

 private:
  // A multicast line with its buffers: packets wait in them until the burst is handled.
  struct FeedLine {
    FeedLine(net::UdpMulticastReceiver from, net::ReceiveBatch into, const net::Endpoint& sender,
             TscTicks silence)
        : receiver(std::move(from)), batch(std::move(into)), source(sender, silence) {}
    net::UdpMulticastReceiver receiver;
    net::ReceiveBatch batch;
    LineSource source;
  };

  std::size_t receive(TscTicks& now, bool& drained) noexcept;
  std::size_t receive_line(Line line, TscTicks& now) noexcept;
  void refuse(std::uint64_t sender) noexcept;
  void flush_images(bool drained, TscTicks now) noexcept;
  void finish() noexcept;

  BookPublisher& publisher_;
  home::HomeWriter* home_;
  rdma::CompletionChannel* channel_;
  log::HotLog& log_;
  FabricSink sink_;
  Feed feed_;
  std::vector<std::unique_ptr<FeedLine>> lines_;  // one or two
  std::unique_ptr<RetransmissionClient> retransmission_;
  std::unique_ptr<SnapshotClient> snapshots_;
  Arbiter arbiter_;
  std::size_t batch_size_;
  std::size_t datagram_bytes_;
  TscTicks image_delay_;
  TscTicks last_flush_{0};
  std::array<int, 4> wake_storage_{};
  std::span<const int> wake_;
  SocketCounters socket_;
  std::atomic<bool> close_requested_{false};
  std::atomic<bool> closed_{false};
  bool closing_ = false;
};

}  // namespace tickpath::mdh

// What every reader of the market does: of one mdh, or of two that hear the same feed.
//
// With two (`endpoint_b`) the handler sees one mdh that is alive while either is, and good while
// either is (MarketPair). With one, nothing is looked at twice.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "common/control/common_config.hpp"
#include "common/control/counters.hpp"
#include "common/control/summary.hpp"
#include "common/market/config.hpp"
#include "common/market/market_pair.hpp"
#include "common/market/market_source.hpp"

namespace tickpath::market {

// The options of a program, as its configuration says. offsets: notified of mdh's clock.
MarketReaderOptions reader_options(wire::Role role, const control::CommonConfig& common,
                                   const FeedConfig& feed, const HeartbeatConfig& heartbeat,
                                   std::uint32_t instruments_max, clock::OffsetSink& offsets);

// The handler of poll(), all noexcept:
//   void on_update(const wire::BookUpdate&)
//   void on_imbalance(const wire::ImbalanceUpdate&)  may be left out
//   void on_image(const wire::BookImage&)   after a join or an overrun, for each that changed; with
//                                           two, when the other has to be followed from now on
//   void on_overrun(std::uint64_t lost)     with two, when neither can fill what was lost
//   void on_directory(const wire::DirectoryEntry&)   rows of both agree: one whose ids stand for
//                                           other symbols is not followed, and the log says so
//   void on_mdh(bool alive)                 connected and beating, or not; on every change
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
  // The flow of all sources together.
  control::RingFlow flow() const;

  // ---- datapath thread

  // Takes at most `batch` updates from each. now_ns: monotonic, the same clock in every turn.
  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns, std::size_t batch = 64) noexcept {
    if (pair_ != nullptr) [[unlikely]]
      return pair_->poll(handler, now_ns, batch);
    Alone alone;
    return sources_.front().poll(handler, alone, now_ns, batch);
  }

  // Rows of the directory are known to exist, or may, that were not handed over yet.
  bool directory_behind() const noexcept {
    return pair_ != nullptr ? pair_->directory_behind() : sources_.front().directory_behind();
  }
  // The latest image of an instrument. False: none, or it was being written all the time, or the id
  // may stand for another symbol than before, or it is older than what was handed on.
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept {
    return pair_ != nullptr ? pair_->image(instrument, out)
                            : sources_.front().image(instrument, out);
  }
  void arm() noexcept;
  bool may_sleep() const noexcept;
  // The last call: tells mdh that we leave of our own will.
  void close() noexcept;

  // ---- any thread; of the first mdh where nothing else is said
  const link::SubscriberCounters& counters() const noexcept { return sources_.front().counters(); }
  // Either of the two.
  const Counter& alive() const noexcept {
    return pair_ != nullptr ? pair_->alive() : sources_.front().alive();
  }
  // Whether one of them is connected and beating.
  bool joined(std::size_t source) const noexcept { return sources_[source].alive().get() != 0; }
  // Instruments whose id stands for another symbol than before.
  const Counter& symbol_conflicts() const noexcept { return sources_.front().symbol_conflicts(); }
  // nullptr: there is one mdh.
  const MergeCounters* merged() const noexcept {
    return pair_ != nullptr ? &pair_->counters() : nullptr;
  }

 private:
  std::deque<MarketSource> sources_;  // one, or two; fixed
  std::unique_ptr<MarketPair> pair_;  // of two
  std::string connected_to_;          // control thread
};

}  // namespace tickpath::market

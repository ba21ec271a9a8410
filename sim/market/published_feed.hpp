// The market that subscribers see when our orders are part of it: the recording, amended where it
// no longer holds, and what our orders do, as ITCH 5.0 messages in one sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/counter.hpp"
#include "common/feeds/itch/codec.hpp"
#include "sim/market/symbols.hpp"
#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

// Takes messages in the order in which subscribers get them. Must not call back.
class FeedOutlet {
 public:
  virtual ~FeedOutlet() = default;
  virtual void publish(std::span<const std::byte> message) noexcept = 0;
};

// Written by the datapath thread; any thread reads. Messages.
struct PublishedCounters {
  TICKPATH_COUNTERS(
      own,          // of our orders, and of recorded ones that we took
      amended,      // recorded, and published with other shares or as another type
      withheld,     // recorded, and not published: what they tell of is ours, or gone
      own_number);  // recorded with a reference of our range: neither published nor matched
};

// Datapath thread. No allocation.
class PublishedFeed final : public FeedSink {
 public:
  // Both outlive this.
  PublishedFeed(const Symbols& symbols, FeedOutlet& outlet) noexcept
      : symbols_(symbols), outlet_(outlet) {}

  // Around each recorded message's event. False: it has a reference number of our range; it is
  // left out, and its event must not happen.
  bool begin(std::span<const std::byte> message) noexcept;
  // Publishes the message itself, unless the core has told what is to become of it.
  void finish() noexcept;

  // The auction as it would be now (1.6 Net Order Imbalance Indicator).
  void tell_imbalance(Locate locate, CrossKind kind, const Imbalance& imbalance) noexcept;

  void on_recorded(const RecordedChange& change) noexcept override;
  void on_trade(const DisplayedTrade& trade) noexcept override;
  void on_cross(const CrossTold& cross) noexcept override;
  void on_shown(const LiveOrder& order, const ShownOrder& shown,
                std::uint64_t replaced) noexcept override;
  void on_shown_less(Locate locate, std::uint64_t reference,
                     std::uint32_t shares) noexcept override;
  void on_hidden(Locate locate, std::uint64_t reference) noexcept override;

  std::uint64_t next_match() noexcept { return kOwnNumbers | ++matches_; }
  // Recorded time of the last message of the recording: our own messages carry it.
  std::uint64_t time_ns() const noexcept { return time_ns_; }
  const PublishedCounters& counters() const noexcept { return counters_; }

 private:
  template <class Message>
  void send(Message message, std::uint32_t instrument) noexcept;
  void send_bent(const RecordedChange& change) noexcept;
  void send_replacement(const RecordedChange& change) noexcept;
  void send_joined_cross(std::uint64_t added) noexcept;
  void send_with_shares(std::size_t offset, std::uint32_t shares) noexcept;
  template <class Message>
  void send_in_place(Message message) noexcept;
  itch::AddOrder added(std::uint64_t reference, std::uint32_t locate, Side side,
                       std::uint32_t shares, std::uint32_t price) const noexcept;
  const itch::Stock& stock(std::uint32_t instrument) const noexcept {
    return symbols_.stock(instrument);
  }

  const Symbols& symbols_;
  FeedOutlet& outlet_;
  std::span<const std::byte> recorded_;  // the message at hand
  bool told_ = true;
  std::uint64_t time_ns_ = 0;
  std::uint64_t matches_ = 0;
  PublishedCounters counters_;
};

}  // namespace tickpath::sim

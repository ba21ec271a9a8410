// Whose datagrams a line of the feed takes.
#pragma once

#include <cstdint>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/net/multicast.hpp"

namespace tickpath::mdh {

// One sender: the configured one, or else whoever is heard first, until that one has been silent
// for long. All others are strangers. Datapath thread; any thread reads the counters.
class LineSource {
 public:
  // configured: address and port; port 0: the first who sends. silence: what a sender that lives
  // does not keep.
  LineSource(const net::Endpoint& configured, TscTicks silence) noexcept
      : sender_(configured.port != 0 ? net::sender_key(configured) : 0),
        silence_(silence),
        fixed_(configured.port != 0) {}

  // sender: net::ReceiveBatch::sender(). 0, of a line that has only one, is always taken.
  bool takes(std::uint64_t sender, TscTicks now) noexcept {
    if (sender == sender_ || sender == 0) [[likely]] {
      heard_ = now;
      return true;
    }
    return consider(sender, now);
  }
  // Nobody can tell which of two senders is the exchange: where none is configured, both count as
  // wrong until one has been silent for long.
  bool contested(TscTicks now) const noexcept {
    return !fixed_ && strangers_.get() != 0 && now - stranger_heard_ <= silence_;
  }
  const Counter& strangers() const noexcept { return strangers_; }  // datagrams

 private:
  bool consider(std::uint64_t sender, TscTicks now) noexcept {
    if (!fixed_ && (sender_ == 0 || now - heard_ > silence_)) {
      sender_ = sender;
      heard_ = now;
      return true;
    }
    strangers_.add();
    stranger_heard_ = now;
    return false;
  }

  std::uint64_t sender_;
  TscTicks heard_{0};
  TscTicks stranger_heard_{0};
  TscTicks silence_;
  bool fixed_;
  Counter strangers_;
};

}  // namespace tickpath::mdh

// How far the standby's copy is behind its leader's, as either of the two sees it. The datapath
// thread writes it, any thread reads it.
#pragma once

#include <cstdint>

#include "common/base/counter.hpp"

namespace tickpath::oeg {

class ReplicationLag {
 public:
  // Either: bytes of the log that the standby has not taken.
  const Counter& bytes() const noexcept { return bytes_; }
  // Leader: entries that the standby has not taken, as of its last word; at most so many.
  const Counter& entries() const noexcept { return entries_; }
  // Leader: from an entry's making to the word that the standby had taken it, as last measured.
  const Counter& ns() const noexcept { return ns_; }

  // Standby.
  void show_behind(std::uint64_t bytes) noexcept { bytes_.set(bytes); }

  // Leader: a log begins, and so many entries were sent before.
  void begin(std::uint64_t sent) noexcept {
    mark_ = {};
    entries_taken_ = sent;
  }
  // Leader, each turn: bytes of the log, and entries sent.
  void measure(std::uint64_t appended, std::uint64_t taken, std::uint64_t sent,
               std::uint64_t now_ns) noexcept {
    if (mark_.end != 0 && taken >= mark_.end) {
      ns_.set(now_ns - mark_.at_ns);
      entries_taken_ = mark_.entries;
      mark_.end = 0;
    }
    const std::uint64_t lag = appended - taken;
    if (lag == 0) entries_taken_ = sent;
    if (lag != 0 && mark_.end == 0) mark_ = {appended, sent, now_ns};
    bytes_.set(lag);
    entries_.set(sent - entries_taken_);
  }
  // Leader: there is no log any more.
  void end() noexcept {
    mark_ = {};
    bytes_.set(0);
    entries_.set(0);
  }

 private:
  // An entry that the standby had not taken when it was marked.
  struct Mark {
    std::uint64_t end = 0;      // bytes of the log; 0: none is marked
    std::uint64_t entries = 0;  // up to it
    std::uint64_t at_ns = 0;
  } mark_;
  std::uint64_t entries_taken_ = 0;  // by the standby, at least
  Counter bytes_;
  Counter entries_;
  Counter ns_;
};

}  // namespace tickpath::oeg

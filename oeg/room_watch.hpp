// How full a table is, reported when it matters: once when it crosses four fifths, once when it is
// full.
#pragma once

#include <cstdint>

#include "common/base/counter.hpp"

namespace tickpath::oeg {

// The owning thread; any thread reads the counter.
class RoomWatch {
 public:
  // True: it is fuller than what was reported last. That it has room again is not reported, but
  // forgotten below seven tenths, so that a table that stays near a mark is reported once.
  bool rose(std::uint64_t used, std::uint64_t max) noexcept {
    if (used == used_.get()) [[likely]]
      return false;
    used_.set(used);
    const int level = used >= max ? 2 : used * 10 >= max * 8 ? 1 : 0;
    if (used * 10 < max * 7) told_ = 0;
    if (level <= told_) return false;
    told_ = level;
    return true;
  }
  const Counter& used() const noexcept { return used_; }

 private:
  Counter used_;
  int told_ = 0;
};

}  // namespace tickpath::oeg

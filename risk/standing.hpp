// How far what risk knows of each of several venues may be relied on (DESIGN.md, "A venue that is
// not whole").
#pragma once

#include <array>
#include <cstdint>

#include "common/base/counter.hpp"
#include "risk/ledger.hpp"

namespace tickpath::risk {

enum class VenueState : std::uint8_t {
  kUnknown,   // not whole yet since the start: limits that it could relieve wait for it
  kWhole,     // every row is what oeg has, but for events on their way
  kPending,   // it was whole; what was known last counts
  kDoubtful,  // for longer than is waited: it counts against limits, and in favour of none
};

// Datapath thread but for state(). With one venue all stays kWhole: there is nothing that another
// one's figures could hide.
class Standing {
 public:
  // pending_max_ns: how long one that is not whole may be relied on.
  Standing(std::uint32_t venues, std::uint64_t pending_max_ns)
      : venues_(venues), pending_max_ns_(pending_max_ns) {
    forget();
  }

  // As at the start.
  void forget() noexcept {
    if (venues_ < 2) return;
    for (std::uint32_t venue = 0; venue < venues_; ++venue) set(venue, VenueState::kUnknown);
    since_ns_ = {};
  }
  // True: limits are to be judged anew.
  bool whole(std::uint32_t venue) noexcept {
    if (venues_ < 2 || state(venue) == VenueState::kWhole) return false;
    set(venue, VenueState::kWhole);
    return true;
  }
  void pending(std::uint32_t venue, std::uint64_t now_ns) noexcept {
    if (venues_ < 2 || state(venue) != VenueState::kWhole) return;
    set(venue, VenueState::kPending);
    since_ns_[venue] = now_ns;
  }
  // Each turn. True: limits are to be judged anew.
  bool advance(std::uint64_t now_ns) noexcept { return waited_for_ != 0 && give_up(now_ns); }

  // Limits on sums that what is not known yet could relieve are not judged.
  bool waits() const noexcept { return unknown_ != 0; }
  VenueSet doubtful() const noexcept { return doubtful_; }
  // Neither: sums count as they are.
  bool certain() const noexcept { return (unknown_ | doubtful_) == 0; }
  // The venues that became doubtful at the last advance() that was true.
  VenueSet became_doubtful() const noexcept { return became_doubtful_; }

  // Any thread.
  VenueState state(std::uint32_t venue) const noexcept {
    return venues_ < 2 ? VenueState::kWhole : static_cast<VenueState>(states_[venue].get());
  }

 private:
  bool give_up(std::uint64_t now_ns) noexcept {
    became_doubtful_ = 0;
    for (std::uint32_t venue = 0; venue < venues_; ++venue) {
      if ((waited_for_ >> venue & 1) == 0) continue;
      std::uint64_t& since_ns = since_ns_[venue];
      if (since_ns == 0) since_ns = now_ns;  // the first turn
      if (now_ns - since_ns < pending_max_ns_) continue;
      set(venue, VenueState::kDoubtful);
      became_doubtful_ |= VenueSet{1} << venue;
    }
    return became_doubtful_ != 0;
  }
  void set(std::uint32_t venue, VenueState state) noexcept {
    states_[venue].set(static_cast<std::uint64_t>(state));
    const VenueSet bit = VenueSet{1} << venue;
    const auto put = [bit](VenueSet& all, bool in) { all = in ? all | bit : all & ~bit; };
    put(unknown_, state == VenueState::kUnknown);
    put(doubtful_, state == VenueState::kDoubtful);
    put(waited_for_, state == VenueState::kUnknown || state == VenueState::kPending);
  }

  std::uint32_t venues_;
  std::uint64_t pending_max_ns_;
  VenueSet unknown_ = 0;
  VenueSet doubtful_ = 0;
  VenueSet waited_for_ = 0;
  VenueSet became_doubtful_ = 0;
  std::array<std::uint64_t, kVenuesMax> since_ns_{};
  std::array<Counter, kVenuesMax> states_;
};

}  // namespace tickpath::risk

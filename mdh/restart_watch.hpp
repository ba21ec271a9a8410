// A sender of IEX-TP that was started again within its session numbers its messages from the
// beginning. Told from a repetition and from a forger by what goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/units.hpp"
#include "mdh/packet.hpp"
#include "mdh/recent_packets.hpp"

namespace tickpath::mdh {

// Evidence of a restart, all of it wanted: segments with numbers that were there before, whose send
// time is later than that of everything before; and for `silence` nothing that goes on where the
// former numbers ended, though senders beat every second. Only for lines whose sender is
// configured. Until then the segments are kept, for the books begin with the first of them.
//
// All members belong to the datapath thread; none allocates after construction.
class RestartWatch {
 public:
  enum class Verdict : std::uint8_t {
    kCurrent,   // of the numbering at hand
    kSuspect,   // perhaps of one that begins anew: books are stale until that is known
    kFormer,    // of the numbering before, late
    kRestarts,  // the former one is over: take kept(), which the segment is the last of
  };

  // recent: knows what came before. Keeps at most `segments` of `segment_bytes`; what finds no room
  // is a gap of the new numbering.
  RestartWatch(const RecentPackets& recent, std::size_t segments, std::size_t segment_bytes,
               TscTicks silence);

  // A segment of the current session; `expected` is the number that comes next.
  Verdict look(const Packet& segment, std::uint64_t expected) noexcept;
  std::span<const Packet> kept() const noexcept { return kept_; }  // until next look() or begin()

  // Segments of another numbering have been heard lately.
  bool suspects(TscTicks now) const noexcept { return suspecting_ && !over(suspect_heard_, now); }
  // Another session, or after kRestarts the new numbering, is the current one.
  void begin_session() noexcept;
  void begin_numbering() noexcept;

 private:
  bool over(TscTicks since, TscTicks now) const noexcept {
    return now > since && now - since > silence_;
  }
  bool repeats(const Packet& segment) const noexcept;
  bool is_kept(const PacketHeader& header) const noexcept;
  void keep(const Packet& segment) noexcept;

  const RecentPackets& recent_;
  std::size_t segment_bytes_;
  TscTicks silence_;
  std::unique_ptr<std::byte[]> buffers_;  // touched as it is used
  std::vector<Packet> kept_;              // fixed capacity
  std::uint64_t numbering_sent_ns_ = 0;   // the current numbering began; IEX-TP's send time
  std::uint64_t newest_sent_ns_ = 0;      // of the current numbering
  std::uint64_t suspect_sent_ns_ = 0;     // the other one began
  TscTicks heard_{0};                     // what goes on in the current numbering
  TscTicks suspect_heard_{0};
  bool suspecting_ = false;
};

}  // namespace tickpath::mdh

#include "mdh/restart_watch.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/memory.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "mdh/framing.hpp"

namespace tickpath::mdh {

using itch::mold::PacketHeader;

RestartWatch::RestartWatch(const Feed& feed, std::size_t segments, std::size_t segment_bytes,
                           TscTicks silence)
    : feed_(feed),
      segment_bytes_(segment_bytes),
      silence_(silence),
      buffers_(new std::byte[segments * segment_bytes]()) {
  reserve_touched(kept_, segments);
}

RestartWatch::Verdict RestartWatch::look(std::span<const std::byte> segment,
                                         const PacketHeader& header, std::uint64_t expected,
                                         const Arrival& arrival) noexcept {
  const std::uint64_t sent_ns = iex::SegmentCursor(segment).header().send_time_ns;
  if (sent_ns < numbering_sent_ns_) return Verdict::kFormer;
  const bool beat = header.messages() == 0;
  if (header.sequence_number >= expected || header.sequence_number + header.messages() > expected) {
    newest_sent_ns_ = std::max(newest_sent_ns_, sent_ns);
    heard_ = arrival.tsc;
    suspecting_ = false;
    return Verdict::kCurrent;
  }
  // The other line, or one that lags behind, may beat with an older number.
  if (sent_ns <= newest_sent_ns_ || (beat && !over(heard_, arrival.tsc)) ||
      !is_whole(FeedProtocol::kIexDeep10, segment) || feed_.repeats(segment))
    return Verdict::kCurrent;
  if (!suspects(arrival.tsc)) {
    suspecting_ = true;
    suspect_sent_ns_ = sent_ns;
    kept_.clear();
  }
  suspect_heard_ = arrival.tsc;
  keep(segment, header, arrival);
  return !kept_.empty() && over(heard_, arrival.tsc) ? Verdict::kRestarts : Verdict::kSuspect;
}

// Brought by the other line a moment ago.
bool RestartWatch::is_kept(const PacketHeader& header) const noexcept {
  constexpr std::size_t kLookedAt = 256;
  const std::span<const Kept> last = kept().last(std::min(kept_.size(), kLookedAt));
  return std::ranges::any_of(last, [&](const Kept& each) { return each.header == header; });
}

void RestartWatch::keep(std::span<const std::byte> segment, const PacketHeader& header,
                        const Arrival& arrival) noexcept {
  if (header.messages() == 0 || is_kept(header) || kept_.size() == kept_.capacity() ||
      segment.size() > segment_bytes_)
    return;
  std::byte* const to = buffers_.get() + kept_.size() * segment_bytes_;
  std::memcpy(to, segment.data(), segment.size());
  kept_.push_back({{to, segment.size()}, header, arrival});
}

void RestartWatch::begin_session() noexcept {
  suspecting_ = false;
  kept_.clear();
  numbering_sent_ns_ = newest_sent_ns_ = 0;
}

void RestartWatch::begin_numbering() noexcept {
  suspecting_ = false;
  numbering_sent_ns_ = newest_sent_ns_ = suspect_sent_ns_;
  heard_ = suspect_heard_;
}

}  // namespace tickpath::mdh

#include "mdh/restart_watch.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/memory.hpp"

namespace tickpath::mdh {

RestartWatch::RestartWatch(const RecentPackets& recent, std::size_t segments,
                           std::size_t segment_bytes, TscTicks silence)
    : recent_(recent),
      segment_bytes_(segment_bytes),
      silence_(silence),
      buffers_(new std::byte[segments * segment_bytes]()) {
  reserve_touched(kept_, segments);
}

RestartWatch::Verdict RestartWatch::look(const Packet& segment, std::uint64_t expected) noexcept {
  const std::uint64_t sent_ns = segment.send_time_ns;
  const TscTicks now = segment.arrival.tsc;
  if (sent_ns < numbering_sent_ns_) return Verdict::kFormer;
  const std::uint64_t first = segment.header.sequence_number;
  const std::uint16_t messages = segment.header.messages();
  if (first >= expected || first + messages > expected) {
    newest_sent_ns_ = std::max(newest_sent_ns_, sent_ns);
    heard_ = now;
    suspecting_ = false;
    return Verdict::kCurrent;
  }
  // The other line, or one that lags behind, may beat with an older number.
  if (sent_ns <= newest_sent_ns_ || (messages == 0 && !over(heard_, now)) ||
      status_of(segment) != PacketStatus::kOk || repeats(segment))
    return Verdict::kCurrent;
  if (!suspects(now)) {
    suspecting_ = true;
    suspect_sent_ns_ = sent_ns;
    kept_.clear();
  }
  suspect_heard_ = now;
  keep(segment);
  return !kept_.empty() && over(heard_, now) ? Verdict::kRestarts : Verdict::kSuspect;
}

// The first message is known to have come before under its number, byte for byte.
bool RestartWatch::repeats(const Packet& segment) const noexcept {
  bool first = true, same = false;
  (void)for_each_message(segment, [&](Message message) noexcept {
    if (first) same = recent_.matches(segment.header.sequence_number, message);
    first = false;
  });
  return same;
}

// Brought by the other line a moment ago.
bool RestartWatch::is_kept(const PacketHeader& header) const noexcept {
  constexpr std::size_t kLookedAt = 256;
  const std::span<const Packet> last = kept().last(std::min(kept_.size(), kLookedAt));
  return std::ranges::any_of(last, [&](const Packet& each) { return each.header == header; });
}

void RestartWatch::keep(const Packet& segment) noexcept {
  if (segment.header.messages() == 0 || is_kept(segment.header) ||
      kept_.size() == kept_.capacity() || segment.blocks.size() > segment_bytes_)
    return;
  std::byte* const to = buffers_.get() + kept_.size() * segment_bytes_;
  std::memcpy(to, segment.blocks.data(), segment.blocks.size());
  kept_.push_back(segment);
  kept_.back().blocks = {to, segment.blocks.size()};
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

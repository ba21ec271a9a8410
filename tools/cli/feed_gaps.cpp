#include "tools/cli/feed_gaps.hpp"

#include <algorithm>

#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::cli {
namespace {

// Gaps of a session that may still be filled by another line, a million: 48 MiB. The oldest are
// counted as lost for good beyond that.
constexpr std::size_t kGapsMax = 1 << 20;

// Messages of a segment; false where it is none. A datagram of MoldUDP64 does not pass for one: the
// payload's length would have to be right by chance.
bool is_segment(const std::byte* data, std::size_t size, iex::SegmentHeader& header) {
  iex::SegmentCursor cursor({data, size});
  for (std::span<const std::byte> message; cursor.next(message);) {
  }
  header = cursor.header();
  return cursor.status() == iex::SegmentStatus::kOk;
}

bool is_packet(const std::byte* data, std::size_t size, itch::mold::PacketHeader& header) {
  itch::mold::PacketCursor cursor({data, size});
  for (std::span<const std::byte> message; cursor.next(message);) {
  }
  header = cursor.header();
  return cursor.status() == itch::mold::PacketStatus::kOk;
}

}  // namespace

void FeedGaps::take(std::span<const std::byte> datagram) {
  iex::SegmentHeader segment;
  itch::mold::PacketHeader packet;
  if (is_segment(datagram.data(), datagram.size(), segment)) {
    const std::string name =
        std::to_string(segment.channel) + "/" + std::to_string(segment.session);
    came(sessions_[name], segment.first_sequence_number, segment.message_count);
  } else if (is_packet(datagram.data(), datagram.size(), packet)) {
    came(sessions_[std::string(packet.session.view())], packet.sequence_number, packet.messages());
  } else {
    ++damaged_;
  }
}

// Without messages it says which number comes next.
void FeedGaps::came(Session& session, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t end = first + count;
  if (first > session.next) {
    session.absent[session.next] = first;
    absent_ += first - session.next;
    if (session.absent.size() > kGapsMax)
      session.absent.erase(std::next(session.absent.begin()));  // not that of before the first
  } else {
    fill(session, first, std::min(end, session.next));
  }
  session.next = std::max(session.next, end);
}

void FeedGaps::fill(Session& session, std::uint64_t first, std::uint64_t end) {
  auto gap = session.absent.upper_bound(first);
  if (gap != session.absent.begin()) --gap;
  while (gap != session.absent.end() && gap->first < end) {
    const auto [begin, behind] = *gap;
    if (behind <= first) {
      ++gap;
      continue;
    }
    gap = session.absent.erase(gap);
    if (begin < first) session.absent[begin] = first;
    if (behind > end) session.absent[end] = behind;
    absent_ -= std::min(behind, end) - std::max(begin, first);
  }
}

std::uint64_t FeedGaps::before() const noexcept {
  std::uint64_t count = 0;
  for (const auto& [name, session] : sessions_)
    if (const auto first = session.absent.find(1); first != session.absent.end())
      count += first->second - 1;
  return count;
}

}  // namespace tickpath::cli

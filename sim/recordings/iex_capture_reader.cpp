#include "sim/recordings/iex_capture_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/fnv.hpp"
#include "sim/recordings/detail/remarks.hpp"

namespace tickpath::iex {
namespace {

constexpr int kDatagramsLookedAt = 1'000;
constexpr std::size_t kSegmentsKnown = 65'536;

std::uint64_t hash_of_first_message(SegmentCursor segment) {
  std::span<const std::byte> message;
  if (!segment.next(message)) return 0;
  return fnv1a({reinterpret_cast<const char*>(message.data()), message.size()});
}

bool known(const SegmentCursor& segment) {
  return segment.status() == SegmentStatus::kOk &&
         (segment.header().protocol == kDeep10 || segment.header().protocol == kTops16);
}

}  // namespace

std::string remarks_of(const CaptureCounts& counts) {
  std::string text = std::to_string(counts.segments) + " segments, " +
                     std::to_string(counts.heartbeats) + " of them heartbeats; " +
                     std::to_string(counts.gaps) + " gaps with " + std::to_string(counts.missing) +
                     " messages missing";
  const itch::detail::Remarks add{text};
  add(counts.restarts, "restarts of the numbering: books begin anew there");
  add(counts.repeated, "repeated");
  add(counts.damaged, "segments damaged");
  add(counts.other_datagrams, "other datagrams");
  itch::detail::add_losses_of_capture(add, counts);
  return text;
}

std::unique_ptr<CaptureReader> CaptureReader::open(const std::filesystem::path& path) {
  return open(files::open_file(path));
}

std::unique_ptr<CaptureReader> CaptureReader::open(std::unique_ptr<files::ByteSource> source) {
  std::array<std::byte, 4> start;
  if (source->read(start) != start.size() || !files::is_packet_capture(start)) return nullptr;
  source->rewind();
  std::unique_ptr<CaptureReader> reader(new CaptureReader(std::move(source)));
  return reader->find_feed() ? std::move(reader) : nullptr;
}

bool CaptureReader::find_feed() {
  files::Datagram datagram;
  for (int i = 0; i < kDatagramsLookedAt; ++i) {
    if (capture_.next(datagram) != files::CaptureStatus::kDatagram) return false;
    const SegmentCursor segment(datagram.payload);
    if (known(segment)) {
      protocol_ = segment.header().protocol;
      channel_ = segment.header().channel;
      session_ = segment.header().session;
      begin(segment);
      return true;
    }
    ++counts_.other_datagrams;
  }
  return false;
}

// Another session of the channel, later than everything before.
bool CaptureReader::begins_session(const SegmentHeader& header) const noexcept {
  return header.protocol == protocol_ && header.channel == channel_ && header.session != session_ &&
         header.first_sequence_number == 1 && header.send_time_ns > last_send_time_ns_;
}

// A number that was there before, or is smaller than any, in a segment sent later than all: a
// repetition has the same bytes.
bool CaptureReader::restarts_with(const SegmentCursor& segment) const {
  const SegmentHeader& header = segment.header();
  if (header.is_heartbeat() || header.first_sequence_number >= expected_ ||
      header.send_time_ns <= last_send_time_ns_)
    return false;
  if (header.first_sequence_number < first_sequence_) return true;
  const auto before = known_.find(header.first_sequence_number);
  return before != known_.end() && before->second != hash_of_first_message(segment);
}

void CaptureReader::remember(const SegmentCursor& segment) {
  const SegmentHeader& header = segment.header();
  last_send_time_ns_ = std::max(last_send_time_ns_, header.send_time_ns);
  if (first_sequence_ == 0) first_sequence_ = header.first_sequence_number;
  if (!header.is_heartbeat() && known_.size() < kSegmentsKnown)
    known_.emplace(header.first_sequence_number, hash_of_first_message(segment));
}

void CaptureReader::begin(const SegmentCursor& segment) {
  const bool another_session = segment.header().session != session_;
  if (another_session || restarts_with(segment)) {
    ++counts_.restarts;
    session_ = segment.header().session;
    expected_ = first_sequence_ = 0;
    known_.clear();
    restarted_ = true;
    restart_time_ns_ = segment.header().send_time_ns;
  }
  remember(segment);
  segment_ = segment;
  in_segment_ = true;
  ++counts_.segments;
  counts_.heartbeats += segment.header().is_heartbeat();
  sequence_ = segment.header().first_sequence_number;
  if (expected_ != 0 && sequence_ > expected_) {
    ++counts_.gaps;
    counts_.missing += sequence_ - expected_;
  }
  if (sequence_ > expected_) expected_ = sequence_;
}

bool CaptureReader::next(CapturedMessage& message) {
  for (;;) {
    while (segment_.next(message.bytes)) {
      const std::uint64_t sequence = sequence_++;
      if (sequence < expected_) {
        ++counts_.repeated;
        continue;
      }
      message.sequence = sequence;
      message.send_time_ns = segment_.header().send_time_ns;
      message.restart = std::exchange(restarted_, false);
      expected_ = sequence_;
      ++counts_.messages;
      return true;
    }
    if (in_segment_ && segment_.status() != SegmentStatus::kOk) ++counts_.damaged;
    in_segment_ = false;
    files::Datagram datagram;
    if (capture_.next(datagram) != files::CaptureStatus::kDatagram) {
      counts_.cut = capture_.counts().cut;
      counts_.fragments = capture_.counts().fragments;
      counts_.trailing_bytes = capture_.counts().trailing_bytes;
      return false;
    }
    const SegmentCursor segment(datagram.payload);
    const SegmentHeader& header = segment.header();
    const bool ours = header.protocol == protocol_ && header.session == session_;
    if (ours && header.send_time_ns < restart_time_ns_)
      counts_.repeated += header.message_count;  // of the former numbering, from a slower line
    else if (ours || begins_session(header))
      begin(segment);
    else
      ++counts_.other_datagrams;
  }
}

}  // namespace tickpath::iex

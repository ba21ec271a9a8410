#include "common/iex/capture_reader.hpp"

#include <array>

#include "common/itch/detail/remarks.hpp"

namespace tickpath::iex {
namespace {

constexpr int kDatagramsLookedAt = 1'000;

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
  const auto add = [&text](std::uint64_t count, const char* what) {
    itch::detail::add_remark(text, count, what);
  };
  add(counts.repeated, "repeated");
  add(counts.damaged, "segments damaged");
  add(counts.other_datagrams, "other datagrams");
  return text;
}

std::unique_ptr<CaptureReader> CaptureReader::open(const std::filesystem::path& path) {
  auto source = files::open_file(path);
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
      session_ = segment.header().session;
      begin(segment);
      return true;
    }
    ++counts_.other_datagrams;
  }
  return false;
}

void CaptureReader::begin(const SegmentCursor& segment) {
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
      expected_ = sequence_;
      ++counts_.messages;
      return true;
    }
    if (in_segment_ && segment_.status() != SegmentStatus::kOk) ++counts_.damaged;
    in_segment_ = false;
    files::Datagram datagram;
    if (capture_.next(datagram) != files::CaptureStatus::kDatagram) return false;
    const SegmentCursor segment(datagram.payload);
    const SegmentHeader& header = segment.header();
    if (header.protocol == protocol_ && header.session == session_)
      begin(segment);
    else
      ++counts_.other_datagrams;
  }
}

}  // namespace tickpath::iex

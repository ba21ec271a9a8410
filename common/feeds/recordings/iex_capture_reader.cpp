#include "common/feeds/recordings/iex_capture_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/fnv.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"
#include "common/feeds/recordings/several_files.hpp"

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
  const std::vector<std::string> paths = itch::split_files(path);
  std::unique_ptr<CaptureReader> reader = open(files::open_file(paths.front()));
  for (std::size_t at = 1; reader != nullptr && at < paths.size(); ++at)
    reader->add(files::open_file(paths[at]));
  return reader;
}

std::unique_ptr<CaptureReader> CaptureReader::open(std::unique_ptr<files::ByteSource> source) {
  std::array<std::byte, 4> start;
  if (source->read(start) != start.size() || !files::is_packet_capture(start)) return nullptr;
  source->rewind();
  std::unique_ptr<CaptureReader> reader(new CaptureReader);
  reader->add(std::move(source));
  return reader->find_feed() ? std::move(reader) : nullptr;
}

void CaptureReader::add(std::unique_ptr<files::ByteSource> source) {
  const std::string name = source->name();
  files_.push_back({name, std::make_unique<files::PacketCapture>(std::move(source))});
}

std::uint64_t CaptureReader::file_bytes_read() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.capture->file_bytes_read();
  return sum;
}

std::uint64_t CaptureReader::file_bytes_total() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.capture->file_bytes_total();
  return sum;
}

bool CaptureReader::find_feed() {
  files::Datagram datagram;
  for (int i = 0; i < kDatagramsLookedAt; ++i) {
    if (files_.front().capture->next(datagram) != files::CaptureStatus::kDatagram) return false;
    const SegmentCursor segment(datagram.payload);
    if (known(segment)) {
      protocol_ = segment.header().protocol;
      channel_ = segment.header().channel;
      session_ = segment.header().session;
      take(segment, datagram.payload);
      return true;
    }
    ++counts_.other_datagrams;
  }
  return false;
}

// Another session of the channel, later than everything before.
bool CaptureReader::begins_session(const SegmentHeader& header) const noexcept {
  const bool is_over = header.send_time_ns > last_send_time_ns_ + kSessionSilenceNs;
  return header.protocol == protocol_ && header.channel == channel_ && header.session != session_ &&
         (header.first_sequence_number == 1 || file_begins_ || is_over) &&
         header.send_time_ns > last_send_time_ns_;
}

// The first segment of a file, older than the file before. What a file repeats is no fault.
bool CaptureReader::goes_back(const SegmentHeader& header) const noexcept {
  return file_begins_ && header.send_time_ns <= last_send_time_ns_ &&
         (header.session != session_ || header.first_sequence_number < first_sequence_);
}

// A number that was there before, or is smaller than any, in a segment sent later than all: a
// repetition has the same bytes.
bool CaptureReader::restarts_with(const SegmentCursor& segment) const {
  const SegmentHeader& header = segment.header();
  if (header.is_heartbeat() || header.first_sequence_number >= seen_until_ ||
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
  seen_until_ = std::max(seen_until_, header.first_sequence_number + header.message_count);
  if (!header.is_heartbeat() && known_.size() < kSegmentsKnown)
    known_.emplace(header.first_sequence_number, hash_of_first_message(segment));
}

// The first segment of another numbering is here, and everything of the one before was delivered.
void CaptureReader::begin_numbering() {
  miss_before(announced_);
  opened_ = std::exchange(restart_, {});
  const SegmentCursor segment(opened_);
  ++counts_.restarts;
  session_ = segment.header().session;
  restart_time_ns_ = segment.header().send_time_ns;
  first_sequence_ = announced_ = seen_until_ = 0;
  expected_ = restart_begins_file_ ? 0 : 1;  // the capture was going on when it began
  known_.clear();
  restarted_ = true;
  take(segment, opened_);
}

void CaptureReader::take(const SegmentCursor& segment, std::span<const std::byte> payload) {
  const SegmentHeader& header = segment.header();
  remember(segment);
  ++counts_.segments;
  if (header.is_heartbeat()) {
    ++counts_.heartbeats;
    if (segment.status() != SegmentStatus::kOk) {
      ++counts_.damaged;
      return;
    }
    announced_ = std::max(announced_, header.first_sequence_number);
  }
  if (expected_ == 0) expected_ = header.first_sequence_number;
  if (header.is_heartbeat()) return;
  if (header.first_sequence_number > expected_)
    held_.emplace(header.first_sequence_number,
                  std::vector<std::byte>(payload.begin(), payload.end()));
  else
    open(segment);
}

void CaptureReader::open(const SegmentCursor& segment) {
  segment_ = segment;
  in_segment_ = true;
  sequence_ = segment.header().first_sequence_number;
  miss_before(sequence_);
}

// Opens the segment that has the next message, or, when nothing else can come, the next one behind
// a gap. False: none is held that may be opened now.
bool CaptureReader::open_held() {
  if (held_.empty()) return false;
  const auto first = held_.begin();
  const bool waits = !ended_ && restart_.empty() && held_.size() < kHeldSegmentsMax;
  if (first->first > expected_ && waits) return false;
  opened_ = std::move(first->second);
  held_.erase(first);
  open(SegmentCursor(opened_));
  return true;
}

void CaptureReader::miss_before(std::uint64_t sequence) {
  if (sequence <= expected_) return;
  ++counts_.gaps;
  counts_.missing += sequence - expected_;
  expected_ = sequence;
}

// False: the end of all files, or damage.
bool CaptureReader::next_datagram(files::Datagram& datagram) {
  while (files_[at_].capture->next(datagram) != files::CaptureStatus::kDatagram) {
    const files::CaptureCounts& counts = files_[at_].capture->counts();
    counts_.cut += counts.cut;
    counts_.fragments += counts.fragments;
    counts_.trailing_bytes += counts.trailing_bytes;
    if (!damage().empty() || at_ + 1 == files_.size()) return false;
    ++at_;
    file_begins_ = true;
  }
  return true;
}

void CaptureReader::read_segment() {
  files::Datagram datagram;
  if (!next_datagram(datagram)) {
    ended_ = true;
    return;
  }
  const SegmentCursor segment(datagram.payload);
  const SegmentHeader& header = segment.header();
  if (header.protocol != protocol_ || header.channel != channel_) {
    ++counts_.other_datagrams;
    return;
  }
  if (goes_back(header)) {
    damage_ = files_[at_].name + ": begins before " + files_[at_ - 1].name +
              " ends: give the files in the order of their times";
    ended_ = true;
    return;
  }
  const bool ours = header.session == session_;
  if (ours && header.send_time_ns < restart_time_ns_)
    counts_.repeated += header.message_count;  // of the former numbering, from a slower line
  else if (begins_session(header) || (ours && restarts_with(segment))) {
    restart_.assign(datagram.payload.begin(), datagram.payload.end());
    restart_begins_file_ = file_begins_;
  } else if (ours)
    take(segment, datagram.payload);
  else
    ++counts_.other_datagrams;
  file_begins_ = false;
}

bool CaptureReader::next_of_segment(CapturedMessage& message) {
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
  return false;
}

bool CaptureReader::next(CapturedMessage& message) {
  while (!next_of_segment(message)) {
    if (open_held()) continue;
    if (!restart_.empty()) {
      begin_numbering();
    } else if (!ended_) {
      read_segment();
    } else {
      miss_before(announced_);
      return false;
    }
  }
  return true;
}

}  // namespace tickpath::iex

#include "common/feeds/recordings/capture_recording.hpp"

#include <algorithm>

#include "common/base/format.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {
namespace {

bool is_itch(std::span<const std::byte> message) noexcept {
  return !message.empty() && length_of(message_type(message.data())) == message.size();
}

// Ten printable characters or, in captures made anonymous, zeros.
bool is_session(const mold::Session& session) noexcept {
  for (const char c : session.characters)
    if (c != '\0' && (c < ' ' || c > '~')) return false;
  return true;
}

// The whole packet walks as MoldUDP64.
bool is_mold(std::span<const std::byte> payload) noexcept {
  mold::PacketCursor cursor(payload);
  if (cursor.status() != mold::PacketStatus::kOk || !is_session(cursor.header().session))
    return false;
  for (std::span<const std::byte> message; cursor.next(message);) {
  }
  return cursor.status() == mold::PacketStatus::kOk &&
         (cursor.header().messages() != 0 || payload.size() == mold::kHeaderBytes);
}

// The message protocol of a segment; IEX numbers them from 0x8000 on (IEX-TP 1.25, "Outbound
// Segment"). 0: it is none of IEX's.
std::uint16_t iex_protocol_of(std::span<const std::byte> payload) noexcept {
  const std::uint16_t protocol = iex::SegmentCursor(payload).header().protocol;
  const bool reserved_is_zero = payload.size() > 1 && payload[1] == std::byte{0};
  return reserved_is_zero && protocol >> 8 == 0x80 ? protocol : std::uint16_t{0};
}

// CME MDP 3.0 ("MDP 3.0 - Binary Packet Header", "Message Header"). A packet begins with a number
// and a time, 12 bytes. Each message has its size and an SBE header of schema 1. The sizes lead to
// the packet's end.
bool is_cme_mdp3(std::span<const std::byte> payload) noexcept {
  constexpr std::size_t kPacketHeader = 12, kMessageHeader = 10, kSchemaAt = 6;
  const auto number_at = [&](std::size_t at) {
    return std::to_integer<std::size_t>(payload[at]) | std::to_integer<std::size_t>(payload[at + 1])
                                                           << 8;
  };
  std::size_t at = kPacketHeader;
  while (at + kMessageHeader <= payload.size()) {
    const std::size_t size = number_at(at);
    if (size < kMessageHeader || number_at(at + kSchemaAt) != 1) return false;
    at += size;
  }
  return at == payload.size() && at > kPacketHeader;
}

// What to do with a capture of IEX's, which is none of MoldUDP64.
std::string advice_on_iex(std::uint16_t protocol) {
  if (protocol == 0) return {};
  if (protocol == iex::kTops16)
    return ", of IEX's TOPS, which has no books: tickpath inspect reads it, nothing plays it. DEEP "
           "1.0 of the same day can be played";
  if (protocol == iex::kDeep10)
    return ", of IEX's: sim and mdh play it with feed.protocol = \"iex_deep10\", tickpath convert "
           "makes ITCH of it";
  return formatted(
      ", of IEX's, of message protocol 0x%04x: DEEP 1.0 (0x8004) can be played, and made into ITCH "
      "by tickpath convert",
      static_cast<unsigned>(protocol));
}

}  // namespace

CaptureRecording::CaptureRecording(std::unique_ptr<files::ByteSource> source)
    : name_(source->name()), capture_(std::move(source)) {
  find_session();
}

void CaptureRecording::find_session() {
  while (!started_ && read_packet()) {
  }
  if (started_) return;
  if (!damage_.empty()) throw RecordingError(damage_);
  const files::CaptureCounts& seen = capture_.counts();
  std::string text = std::to_string(seen.packets) + " packets, " + std::to_string(seen.datagrams) +
                     " UDP datagrams";
  detail::add_losses_of_capture({text, ", "}, seen);
  throw RecordingError(name_ + ": no ITCH 5.0 messages over MoldUDP64 in this capture: " + text +
                       (cme_datagrams_ > seen.datagrams / 2
                            ? ", of CME's MDP 3.0, which is not read: Databento has such a day as "
                              "market by order (DBN), which is"
                            : advice_on_iex(iex_protocol_)));
}

// Takes the next datagram of the capture. False at its end.
bool CaptureRecording::read_packet() {
  if (ended_) return false;
  files::Datagram datagram;
  const files::CaptureStatus status = capture_.next(datagram);
  if (status != files::CaptureStatus::kDatagram) {
    ended_ = true;
    damage_ = capture_.damage();
    return false;
  }
  (void)take(datagram);
  return true;
}

bool CaptureRecording::take(const files::Datagram& datagram) {
  const std::span<const std::byte> payload = datagram.payload;
  mold::PacketCursor cursor(payload);
  const bool ours =
      started_ && payload.size() >= mold::kHeaderBytes && cursor.header().session == session_;
  if (!ours && !is_mold(payload)) {
    const std::uint16_t protocol = iex_protocol_of(payload);
    if (iex_protocol_ == 0 || protocol == iex::kDeep10) iex_protocol_ = protocol;
    if (!started_ && is_cme_mdp3(payload)) ++cme_datagrams_;
    ++counts_.other_datagrams;
    return false;
  }
  if (!started_) {
    std::span<const std::byte> first;
    if (!cursor.next(first)) {
      hear_announced(cursor.header());  // a heartbeat: of whom is not known yet
      return false;
    }
    if (!is_itch(first)) {
      ++counts_.other_datagrams;
      return false;
    }
    session_ = cursor.header().session;
    first_session_ = session_.view();
    std::erase(first_session_, '\0');
    const std::uint64_t begin = cursor.header().sequence_number;
    const auto announced = announced_first_.find(std::string(cursor.header().session.view()));
    expected_ = announced == announced_first_.end() ? begin : std::min(begin, announced->second);
    miss_before(begin);
    started_ = true;
  } else if (!ours) {
    std::span<const std::byte> first;
    if (cursor.next(first) && begins_session(cursor.header(), first, datagram.time_ns))
      next_session_ = {{payload.begin(), payload.end()}, datagram.time_ns};
    else
      ++counts_.other_sessions;
    return false;
  }
  ++counts_.packets;
  ++channels_[files::destination_text(datagram)];
  heard_ns_ = std::max(heard_ns_, datagram.time_ns);
  session_ended_ = session_ended_ || cursor.header().is_end_of_session();
  if (cursor.header().messages() == 0) {
    ++counts_.heartbeats;
    hear_announced(cursor.header());
    return false;
  }
  held_.emplace(cursor.header().sequence_number,
                Packet{{payload.begin(), payload.end()}, datagram.time_ns});
  return true;
}

void CaptureRecording::hear_announced(const mold::PacketHeader& header) {
  if (started_)
    announced_ = std::max(announced_, header.sequence_number);
  else
    announced_first_.try_emplace(std::string(header.session.view()), header.sequence_number);
}

void CaptureRecording::miss_before(std::uint64_t sequence) {
  if (sequence <= expected_) return;
  ++counts_.gaps;
  counts_.missing += sequence - expected_;
  expected_ = sequence;
}

// Opens the packet that has the expected message, or, when nothing else can come, the next one
// behind a gap. False: nothing is held that may be opened now.
bool CaptureRecording::open_next() {
  while (!held_.empty()) {
    auto first = held_.begin();
    const std::uint64_t sequence = first->first;
    const bool more_may_come = !ended_ && next_session_.bytes.empty();
    if (sequence > expected_ && more_may_come && held_.size() < kHeldPacketsMax) return false;
    current_ = std::move(first->second);
    held_.erase(first);
    cursor_ = mold::PacketCursor(current_.bytes);
    cursor_sequence_ = sequence;
    miss_before(sequence);
    if (sequence + cursor_.header().messages() > expected_) return true;
    counts_.repeated += cursor_.header().messages();
    current_.bytes.clear();
    cursor_ = mold::PacketCursor({});
  }
  return false;
}

// Another session than the one at hand, which is over.
bool CaptureRecording::begins_session(const mold::PacketHeader& header,
                                      std::span<const std::byte> first,
                                      std::uint64_t time_ns) const noexcept {
  const bool is_over =
      session_ended_ ? time_ns >= heard_ns_ : time_ns > heard_ns_ + kSessionSilenceNs;
  return is_over && header.sequence_number == 1 && is_itch(first);
}

// Everything of the session at hand was delivered.
void CaptureRecording::begin_session() {
  miss_before(announced_);
  Packet packet = std::exchange(next_session_, {});
  mold::PacketCursor cursor(packet.bytes);
  std::span<const std::byte> first;
  (void)cursor.next(first);
  ++counts_.later_sessions;
  ++counts_.packets;
  session_ = cursor.header().session;
  heard_ns_ = packet.time_ns;
  session_ended_ = false;
  announced_ = 0;
  expected_ = 1;
  if (!day_.over()) make_event(SystemEvent::kEndOfMessages, day_.time_ns() % TradingDay::kDayNs, 0);
  if (message_type(first.data()) != SystemEvent::kType)
    make_event(SystemEvent::kStartOfMessages, timestamp_ns(first.data()), packet.time_ns);
  held_.emplace(cursor.header().sequence_number, std::move(packet));
}

void CaptureRecording::make_event(char code, std::uint64_t time_of_day_ns,
                                  std::uint64_t captured_ns) {
  Made& made = made_.emplace_back();
  (void)encode(SystemEvent{.header = {.timestamp = time_of_day_ns}, .event_code = code},
               made.bytes.data());
  made.captured_ns = captured_ns;
}

// The capture's clock counts on from the message at hand. The days that its own events have begun
// are all that time, however long the capture says that the nights were.
void CaptureRecording::begin_times(std::uint64_t captured_ns) {
  times_known_ = true;
  first_captured_ns_ = captured_ns;
  first_due_ns_ = day_.time_ns();
  // A midnight that the capture's clock alone has passed.
  while (first_due_ns_ < last_due_ns_ - last_due_ns_ % TradingDay::kDayNs)
    first_due_ns_ += TradingDay::kDayNs;
}

std::uint64_t CaptureRecording::due_of(std::uint64_t captured_ns) const noexcept {
  if (!times_known_) return day_.time_ns();
  return first_due_ns_ + (captured_ns > first_captured_ns_ ? captured_ns - first_captured_ns_ : 0);
}

void CaptureRecording::deliver(std::span<const std::byte> bytes, std::uint64_t captured_ns,
                               RecordedMessage& message) {
  message.bytes = bytes;
  const DayBreak what = day_.on_message(bytes);
  message.begins_day = day_.skips_night(what);
  const bool has_time = bytes.size() >= kHeaderBytes && timestamp_ns(bytes.data()) != 0;
  // A midnight that a time shows is one of the capture's clock, too.
  if (what != DayBreak::kNone && message_type(bytes.data()) == SystemEvent::kType)
    times_known_ = false;
  if (!times_known_ && has_time) begin_times(captured_ns);
  // Packets of two channels may come in another order than their messages: never backwards.
  message.timestamp_ns = last_due_ns_ = std::max(last_due_ns_, due_of(captured_ns));
}

ReadStatus CaptureRecording::next(RecordedMessage& message) {
  for (;;) {
    if (!made_.empty()) {
      current_made_ = made_.front();
      made_.pop_front();
      deliver(current_made_.bytes, current_made_.captured_ns, message);
      return ReadStatus::kMessage;
    }
    for (std::span<const std::byte> bytes; cursor_.next(bytes);) {
      if (cursor_sequence_++ < expected_) {
        ++counts_.repeated;
        continue;
      }
      expected_ = cursor_sequence_;
      if (bytes.empty()) {
        ++counts_.empty_messages;
        continue;
      }
      ++counts_.messages;
      deliver(bytes, current_.time_ns, message);
      return ReadStatus::kMessage;
    }
    if (cursor_.status() != mold::PacketStatus::kOk && !current_.bytes.empty()) {
      ++counts_.damaged_packets;
      current_.bytes.clear();
      cursor_ = mold::PacketCursor({});
    }
    if (open_next()) continue;
    if (!next_session_.bytes.empty()) {
      begin_session();
      continue;
    }
    if (read_packet() || !held_.empty()) continue;
    miss_before(announced_);
    return damage_.empty() ? ReadStatus::kEnd : ReadStatus::kDamaged;
  }
}

std::string CaptureRecording::remarks() const {
  std::string text =
      std::to_string(counts_.packets) + " packets of session \"" + first_session_ + "\"";
  const detail::Remarks add{text, ", "};
  add(counts_.later_sessions, "later sessions, each another day");
  add(counts_.repeated, "messages came twice");
  add(counts_.missing, "messages are missing");
  add(counts_.gaps, "gaps");
  add(counts_.empty_messages, "messages have no bytes, and were left out");
  add(counts_.damaged_packets, "packets are damaged");
  add(counts_.other_sessions, "packets of other sessions were left out");
  add(counts_.other_datagrams, "datagrams are not MoldUDP64");
  detail::add_losses_of_capture(add, capture_.counts());
  return text;
}

}  // namespace tickpath::itch

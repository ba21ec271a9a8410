#include "mdh/arbiter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/base/check.hpp"
#include "common/base/memory.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {

using itch::mold::PacketHeader;

Arbiter::Arbiter(const ArbiterOptions& options, Feed& feed, RetransmitPort* port,
                 SnapshotPort* snapshots, log::HotLog& log)
    : options_(options), feed_(feed), port_(port), snapshots_(snapshots), log_(log) {
  TICKPATH_CHECK(options.held_packets >= 1 &&
                     options.held_packets <= std::numeric_limits<std::uint16_t>::max(),
                 "1 to 65535 packets are held");
  const clock::TickConverter converter;
  gap_wait_ = converter.from_ns(options.gap_wait_ns);
  request_timeout_ = converter.from_ns(options.request_timeout_ns);
  snapshot_retry_ = converter.from_ns(options.snapshot_retry_ns);
  session_silence_ = converter.from_ns(options.session_silence_ns);
  if (options.restarts)
    restarts_ = std::make_unique<RestartWatch>(feed, options.held_packets, options.datagram_bytes,
                                               session_silence_);
  buffers_.reset(new std::byte[options.held_packets * options.datagram_bytes]());
  slots_.resize(2 * options.held_packets);
  free_.reserve(options.held_packets);
  reserve_touched(spent_, options.held_packets);
  for (std::size_t i = options.held_packets; i-- > 0;)
    free_.push_back(static_cast<std::uint16_t>(i));
}

// -------------------------------------------------------------------------------- packets in

void Arbiter::collect(Line line, std::span<const std::byte> packet,
                      const Arrival& arrival) noexcept {
  counters_.lines[static_cast<std::size_t>(line)].packets.add();
  if (packet.size() < header_bytes(feed_.protocol())) [[unlikely]] {
    (void)feed_.collect(packet, arrival);  // which counts it
    return;
  }
  const PacketHeader header = header_of(feed_.protocol(), packet);
  if (!has_session_ || header.session != session_) [[unlikely]]
    if (!on_other_session(line, packet, header, arrival)) return;
  if (restarts_ != nullptr && !in_numbering(line, packet, header, arrival)) return;
  if (line != Line::kRetransmission) session_heard_ = arrival.tsc;
  note_line(line, header);
  sort_in(line, packet, header, arrival);
}

void Arbiter::sort_in(Line line, std::span<const std::byte> packet, const PacketHeader& header,
                      const Arrival& arrival) noexcept {
  // Numbers that no sender gives do not wait: the feed drops them.
  if (header.sequence_number <= expected_ || !Sequencer::plausible(header)) [[likely]]
    return take(line, packet, header, arrival);
  hold(line, packet, header, arrival);
}

// True: the packet begins a session, which is the current one now.
bool Arbiter::on_other_session(Line line, std::span<const std::byte> packet,
                               const PacketHeader& header, const Arrival& arrival) noexcept {
  // The slower line may still be in the session before when the faster one has begun another; and
  // an answer to a request begins none.
  if ((has_previous_ && header.session == previous_session_) ||
      (line == Line::kRetransmission && has_session_)) {
    counters_.old_session.add();
    if (line == Line::kRetransmission || !old_session_lives(header, arrival.tsc)) return false;
  }
  if (!is_whole(feed_.protocol(), packet) || !Sequencer::plausible(header)) {
    (void)feed_.collect(packet, arrival);  // which counts it
    return false;
  }
  begin_session(header, arrival.tsc);
  return true;
}

// One session follows another, so whoever still sends the one before while the current one is sent
// is a second sender, and nobody can tell which of them is the exchange. True: the current one has
// fallen silent meanwhile; what seemed to be its successor was none.
bool Arbiter::old_session_lives(const PacketHeader& header, TscTicks now) noexcept {
  if (has_rival_ && now > rival_heard_) rival_heard_ = now;
  // What was on its way when the session changed says nothing.
  if (!(now > session_since_) || now - session_since_ <= session_silence_) return false;
  counters_.old_session_alive.add();
  if (now > session_heard_ && now - session_heard_ > session_silence_) {
    log_.note(Note::kOldSessionBack, header.sequence_number);
    return true;
  }
  has_rival_ = true;
  rival_heard_ = now;
  log_.note(Note::kOldSession, expected_);
  feed_.set_contested(true);
  return false;
}

void Arbiter::begin_session(const PacketHeader& header, TscTicks now) noexcept {
  flush();
  // Where the session before has ended, or has been silent for long, this one is its successor.
  has_rival_ = has_session_ && !feed_.ended() &&
               !(now > session_heard_ && now - session_heard_ > session_silence_);
  rival_heard_ = session_heard_;
  session_since_ = now;
  previous_session_ = session_;
  has_previous_ = has_session_;
  session_ = header.session;
  has_session_ = true;
  expected_ = 1;
  line_expected_ = {};
  if (restarts_ != nullptr) restarts_->begin_session();
  feed_.set_contested(contested(now));
  feed_.enter_session(session_, header.sequence_number);
}

// False: the packet is of another numbering, and dealt with.
bool Arbiter::in_numbering(Line line, std::span<const std::byte> packet, const PacketHeader& header,
                           const Arrival& arrival) noexcept {
  const bool suspected = restarts_->suspects(arrival.tsc);
  switch (restarts_->look(packet, header, expected_, arrival)) {
    case RestartWatch::Verdict::kCurrent:
      return true;
    case RestartWatch::Verdict::kFormer:
      counters_.old_session.add();
      return false;
    case RestartWatch::Verdict::kSuspect:
      if (!suspected) log_.note(Note::kRestartSuspected, header.sequence_number, expected_);
      // As repeated: the feed raises the alarm where it is not what was there before.
      sort_in(line, packet, header, arrival);
      return false;
    case RestartWatch::Verdict::kRestarts:
      begin_numbering(line);
      return false;
  }
  return true;
}

void Arbiter::begin_numbering(Line line) noexcept {
  flush();
  const std::uint64_t first = restarts_->kept().front().header.sequence_number;
  counters_.restarts.add();
  log_.note(Note::kRestarted, first, expected_);
  expected_ = 1;
  line_expected_ = {};
  restarts_->begin_numbering();
  feed_.set_contested(false);
  feed_.begin_numbering(first);
  for (const RestartWatch::Kept& kept : restarts_->kept()) {
    session_heard_ = kept.arrival.tsc;
    sort_in(line, kept.segment, kept.header, kept.arrival);
  }
  work();  // before what was kept may be overwritten
}

// What each line would have been worth alone.
void Arbiter::note_line(Line line, const PacketHeader& header) noexcept {
  if (line == Line::kRetransmission) return;
  std::uint64_t& expected = line_expected_[static_cast<std::size_t>(line)];
  LineCounters& counters = counters_.lines[static_cast<std::size_t>(line)];
  const std::uint64_t sequence = header.sequence_number;
  if (expected == 0) expected = sequence;
  if (sequence < expected) [[unlikely]] {
    if (header.messages() == 0) return;
    // The packet came after all. A sender that repeats itself must not make the count negative.
    counters.out_of_order.add();
    const std::uint64_t missing = counters.missing.get();
    counters.missing.set(missing - std::min<std::uint64_t>(header.messages(), missing));
    return;
  }
  counters.missing.add(sequence - expected);
  expected = sequence + header.messages();
}

void Arbiter::take(Line line, std::span<const std::byte> packet, const PacketHeader& header,
                   const Arrival& arrival) noexcept {
  hand_on(line, packet, header, arrival);
  if (held_count_ != 0) [[unlikely]]
    release_ready();
}

void Arbiter::hand_on(Line line, std::span<const std::byte> packet, const PacketHeader& header,
                      const Arrival& arrival) noexcept {
  LineCounters& counters = counters_.lines[static_cast<std::size_t>(line)];
  if (!feed_.collect(packet, arrival)) return;  // malformed: the other line may have it whole
  if (!Sequencer::plausible(header)) return;
  const std::uint64_t end = header.sequence_number + header.messages();
  if (end > expected_) {
    counters.first.add();
    expected_ = end;
  } else if (header.messages() != 0) {
    counters.repeated.add();
  }
}

// ------------------------------------------------------------------------------ packets held

// An end of session has no blocks, as a heartbeat of its number.
bool Arbiter::repeats(const Slot& slot, std::span<const std::byte> packet,
                      const PacketHeader& header) noexcept {
  if (slot.sequence != header.sequence_number || slot.bytes < packet.size()) return false;
  const std::span<const std::byte> kept = buffer(slot.buffer);
  const std::size_t at = header_bytes(feed_.protocol());
  return header_of(feed_.protocol(), kept).is_end_of_session() == header.is_end_of_session() &&
         std::memcmp(kept.data() + at, packet.data() + at, packet.size() - at) == 0;
}

void Arbiter::hold(Line line, std::span<const std::byte> packet, const PacketHeader& header,
                   const Arrival& arrival) noexcept {
  feed_.note_arrival(arrival.tsc);
  // A damaged one must not keep the whole one of the other line out.
  if (!is_whole(feed_.protocol(), packet)) [[unlikely]] {
    (void)feed_.collect(packet, arrival);  // which counts it
    return;
  }
  const std::span<Slot> waiting = held();
  const auto at = std::ranges::upper_bound(waiting, header.sequence_number, {}, &Slot::sequence);
  if (at != waiting.begin() && repeats(*(at - 1), packet, header)) {
    if (header.messages() != 0) counters_.lines[static_cast<std::size_t>(line)].repeated.add();
    return;
  }
  if (free_.empty()) [[unlikely]] {
    if (spent_.empty()) {
      if (!snapshotting_) {
        counters_.held_full.add();
        log_.note(Note::kHeldFull, expected_);
      }
      if (snapshots_ != nullptr) {
        if (!snapshotting_) begin_snapshot();
        drop_first();
      } else {
        give_up();
      }
    }
    work();
    return sort_in(line, packet, header, arrival);  // there is room now
  }
  const std::uint16_t index = free_.back();
  free_.pop_back();
  std::memcpy(buffer(index).data(), packet.data(), packet.size());
  insert(static_cast<std::size_t>(at - waiting.begin())) = {
      header.sequence_number, static_cast<std::uint32_t>(packet.size()), index, line, arrival};
  counters_.held.add();
  if (!gap_open_) open_gap(arrival.tsc);
}

// Room for one more before the `at`-th that waits: mostly it is the last one, and nothing moves.
Arbiter::Slot& Arbiter::insert(std::size_t at) noexcept {
  if (held_first_ + held_count_ == slots_.size()) {
    std::ranges::move(held(), slots_.begin());
    held_first_ = 0;
  }
  ++held_count_;
  const std::span<Slot> waiting = held();
  std::move_backward(waiting.begin() + static_cast<std::ptrdiff_t>(at), waiting.end() - 1,
                     waiting.end());
  return waiting[at];
}

void Arbiter::release_first() noexcept {
  const Slot slot = held().front();
  ++held_first_;
  --held_count_;
  spent_.push_back(slot.buffer);
  const std::span<const std::byte> packet = buffer(slot.buffer).first(slot.bytes);
  hand_on(slot.line, packet, header_of(feed_.protocol(), packet), slot.arrival);
}

void Arbiter::release_ready() noexcept {
  // Waiting for a snapshot, the front may have been dropped: what is behind waits all the same.
  if (held().front().sequence > expected_) return;
  while (held_count_ != 0 && held().front().sequence <= expected_) release_first();
  (asking_ || snapshotting_ ? counters_.recovered : counters_.filled).add();
  if (asking_ || snapshotting_) log_.note(Note::kRecovered, expected_);
  next_gap();
}

// What is missing before the first held packet stays so: the feed sees a gap.
void Arbiter::give_up() noexcept {
  counters_.given_up.add();
  expected_ = held().front().sequence;
  while (held_count_ != 0 && held().front().sequence <= expected_) release_first();
  next_gap();
}

void Arbiter::next_gap() noexcept {
  gap_open_ = asking_ = snapshotting_ = false;
  if (held_count_ != 0) open_gap(held().front().arrival.tsc);
}

void Arbiter::open_gap(TscTicks since) noexcept {
  gap_open_ = true;
  asking_ = false;
  gap_since_ = since;
}

void Arbiter::flush() noexcept {
  snapshotting_ = false;
  while (held_count_ != 0) give_up();
  work();
  feed_.set_recovering(false);
}

// ------------------------------------------------------------------------------------- time

void Arbiter::work() noexcept {
  feed_.process();
  free_.insert(free_.end(), spent_.begin(), spent_.end());
  spent_.clear();
}

void Arbiter::process(TscTicks now) noexcept {
  work();
  // Arrivals are stamped before `now` is read, but by whoever calls.
  if (gap_open_ && now > gap_since_ && now - gap_since_ >= gap_wait_) [[unlikely]] {
    if (snapshotting_)
      pursue_snapshot(now);
    else
      seek(now);
    work();
  }
  feed_.set_recovering(asking_ || snapshotting_);
}

void Arbiter::seek(TscTicks now) noexcept {
  const std::uint64_t missing = held().front().sequence - expected_;
  const bool far = !asking_ && missing > options_.snapshot_gap_messages;
  if (snapshots_ != nullptr && (port_ == nullptr || far)) return begin_snapshot();
  if (port_ != nullptr) return ask(now);
  give_up();
}

// Again when everything that was asked for is here, or nothing came for long.
void Arbiter::ask(TscTicks now) noexcept {
  if (asking_ && expected_ < asked_until_) {
    if (now - asked_at_ < request_timeout_) return;
    unanswered_ = expected_ == asked_from_ ? unanswered_ + 1 : 0;
  } else {
    unanswered_ = 0;
  }
  if (unanswered_ >= options_.requests_max) {
    log_.note(Note::kRetransmissionFailed, expected_, unanswered_);
    return snapshots_ != nullptr ? begin_snapshot() : give_up();
  }
  const std::uint64_t missing = held().front().sequence - expected_;
  const auto count = static_cast<std::uint16_t>(std::min(missing, kAskedMax));
  if (!asking_) log_.note(Note::kAsking, expected_, missing);
  if (port_->request(session_, expected_, count)) counters_.requests.add();
  asking_ = true;
  asked_at_ = now;
  asked_from_ = expected_;
  asked_until_ = expected_ + count;
}

}  // namespace tickpath::mdh

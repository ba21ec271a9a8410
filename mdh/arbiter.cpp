#include "mdh/arbiter.hpp"

#include <algorithm>

#include "mdh/notes.hpp"

namespace tickpath::mdh {

Arbiter::Arbiter(const ArbiterOptions& options, Feed& feed, RetransmitPort* port,
                 SnapshotPort* snapshots, log::HotLog& log)
    : options_(options),
      feed_(feed),
      port_(port),
      snapshots_(snapshots),
      log_(log),
      held_(options.held_packets, options.datagram_bytes),
      transport_(feed.format().transport),
      recent_(transport_) {
  const clock::TickConverter converter;
  gap_wait_ = converter.from_ns(options.gap_wait_ns);
  request_timeout_ = converter.from_ns(options.request_timeout_ns);
  snapshot_retry_ = converter.from_ns(options.snapshot_retry_ns);
  session_silence_ = converter.from_ns(options.session_silence_ns);
  if (options.restarts)
    restarts_ = std::make_unique<RestartWatch>(recent_, options.held_packets,
                                               options.datagram_bytes, session_silence_);
}

// -------------------------------------------------------------------------------- packets in

void Arbiter::collect(Line line, std::span<const std::byte> datagram,
                      const Arrival& arrival) noexcept {
  const Packet packet = parse(transport_, line, datagram, arrival);
  line_of(packet).packets.add();
  if (packet.status == PacketStatus::kTruncatedHeader) [[unlikely]]
    return feed_.on_malformed(packet.bytes, packet.status);
  if (!has_session_ || packet.header.session != session_) [[unlikely]]
    if (!on_other_session(packet)) return;
  if (restarts_ != nullptr && !in_numbering(packet)) return;
  if (line != Line::kRetransmission) session_heard_ = arrival.tsc;
  note_line(packet);
  sort_in(packet);
}

void Arbiter::sort_in(const Packet& packet) noexcept {
  // Numbers that no sender gives do not wait: they are damage.
  if (packet.header.sequence_number > expected_ && plausible(packet.header)) [[unlikely]]
    return hold(packet);
  hand_on(packet);
  if (!held_.empty()) [[unlikely]]
    release_ready();
}

// The only place that orders: what of the packet is new, and what was lost before it.
void Arbiter::hand_on(const Packet& packet) noexcept {
  const std::uint64_t first = packet.header.sequence_number;
  const std::uint16_t count = packet.header.messages();
  if (!plausible(packet.header)) [[unlikely]]
    return feed_.on_malformed(packet.bytes, status_of(packet));
  if (!burst_.has_room(packet)) [[unlikely]]
    handle_burst();
  const std::uint64_t known = expected_ > first ? expected_ - first : 0;
  const std::uint64_t missed = first > expected_ ? first - expected_ : 0;
  const std::uint64_t next = std::max(expected_, first + count);
  const PacketStatus status = burst_.append(
      packet, {.sequence = first,
               .next = next,
               .missed = missed,
               .count = count,
               .known = static_cast<std::uint16_t>(std::min<std::uint64_t>(known, count)),
               .ends_session = packet.header.is_end_of_session(),
               .arrival = packet.arrival});
  // The other line may have it whole.
  if (status != PacketStatus::kOk) [[unlikely]]
    return feed_.on_malformed(packet.bytes, status);
  if (known < count)
    line_of(packet).first.add();
  else if (count != 0)
    line_of(packet).repeated.add();
  expected_ = next;
}

// True: the packet begins a session, which is the current one now.
bool Arbiter::on_other_session(const Packet& packet) noexcept {
  const bool answer = packet.line == Line::kRetransmission;
  // The slower line may still be in the session before when the faster one has begun another; and
  // an answer to a request begins none.
  if ((has_previous_ && packet.header.session == previous_session_) || (answer && has_session_)) {
    counters_.old_session.add();
    if (answer || !old_session_lives(packet)) return false;
  }
  const PacketStatus status = status_of(packet);
  if (status != PacketStatus::kOk || !plausible(packet.header)) {
    feed_.on_malformed(packet.bytes, status);
    return false;
  }
  begin_session(packet);
  return true;
}

// One session follows another, so whoever still sends the one before while the current one is sent
// is a second sender, and nobody can tell which of them is the exchange. True: the current one has
// fallen silent meanwhile; what seemed to be its successor was none.
bool Arbiter::old_session_lives(const Packet& packet) noexcept {
  const TscTicks now = packet.arrival.tsc;
  if (has_rival_ && now > rival_heard_) rival_heard_ = now;
  // What was on its way when the session changed says nothing.
  if (!(now > session_since_) || now - session_since_ <= session_silence_) return false;
  counters_.old_session_alive.add();
  if (now > session_heard_ && now - session_heard_ > session_silence_) {
    log_.note(Note::kOldSessionBack, packet.header.sequence_number);
    return true;
  }
  has_rival_ = true;
  rival_heard_ = now;
  log_.note(Note::kOldSession, expected_);
  feed_.set_contested(true);
  return false;
}

void Arbiter::begin_session(const Packet& packet) noexcept {
  const TscTicks now = packet.arrival.tsc;
  flush();
  // Where the session before has ended, or has been silent for long, this one is its successor.
  has_rival_ = has_session_ && !feed_.ended() &&
               !(now > session_heard_ && now - session_heard_ > session_silence_);
  rival_heard_ = session_heard_;
  session_since_ = now;
  previous_session_ = session_;
  has_previous_ = has_session_;
  session_ = packet.header.session;
  has_session_ = true;
  expected_ = 1;
  line_expected_ = {};
  recent_.clear();
  if (restarts_ != nullptr) restarts_->begin_session();
  feed_.set_contested(contested(now));
  feed_.enter_session(session_, packet.header.sequence_number);
}

// False: the packet is of another numbering, and dealt with.
bool Arbiter::in_numbering(const Packet& packet) noexcept {
  const bool suspected = restarts_->suspects(packet.arrival.tsc);
  switch (restarts_->look(packet, expected_)) {
    case RestartWatch::Verdict::kCurrent:
      return true;
    case RestartWatch::Verdict::kFormer:
      counters_.old_session.add();
      return false;
    case RestartWatch::Verdict::kSuspect:
      if (!suspected) log_.note(Note::kRestartSuspected, packet.header.sequence_number, expected_);
      // As repeated: the alarm is raised where it is not what was there before.
      sort_in(packet);
      return false;
    case RestartWatch::Verdict::kRestarts:
      begin_numbering(packet.line);
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
  recent_.clear();
  restarts_->begin_numbering();
  feed_.set_contested(false);
  feed_.begin_numbering(first);
  for (Packet kept : restarts_->kept()) {
    kept.line = line;
    session_heard_ = kept.arrival.tsc;
    sort_in(kept);
  }
  work();  // before what was kept may be overwritten
}

// What each line would have been worth alone.
void Arbiter::note_line(const Packet& packet) noexcept {
  if (packet.line == Line::kRetransmission) return;
  std::uint64_t& expected = line_expected_[static_cast<std::size_t>(packet.line)];
  LineCounters& counters = line_of(packet);
  const std::uint64_t sequence = packet.header.sequence_number;
  const std::uint16_t messages = packet.header.messages();
  if (expected == 0) expected = sequence;
  if (sequence < expected) [[unlikely]] {
    if (messages == 0) return;
    // The packet came after all. A sender that repeats itself must not make the count negative.
    counters.out_of_order.add();
    const std::uint64_t missing = counters.missing.get();
    counters.missing.set(missing - std::min<std::uint64_t>(messages, missing));
    return;
  }
  counters.missing.add(sequence - expected);
  expected = sequence + messages;
}

// ------------------------------------------------------------------------------ packets held

void Arbiter::hold(const Packet& packet) noexcept {
  feed_.note_arrival(packet.arrival.tsc);
  // A damaged one must not keep the whole one of the other line out.
  if (const PacketStatus status = status_of(packet); status != PacketStatus::kOk) [[unlikely]]
    return feed_.on_malformed(packet.bytes, status);
  if (held_.has(packet)) {
    if (packet.header.messages() != 0) line_of(packet).repeated.add();
    return;
  }
  if (held_.full()) [[unlikely]] {
    if (!held_.recyclable()) {
      if (!snapshotting_) {
        counters_.held_full.add();
        log_.note(Note::kHeldFull, expected_);
      }
      if (snapshots_ != nullptr) {
        if (!snapshotting_) begin_snapshot();
        (void)held_.pop();
        counters_.dropped.add();
      } else {
        give_up();
      }
    }
    work();
    return sort_in(packet);  // there is room now
  }
  held_.insert(packet);
  counters_.held.add();
  if (!gap_open_) open_gap(packet.arrival.tsc);
}

void Arbiter::release_ready() noexcept {
  // Waiting for a snapshot, the front may have been dropped: what is behind waits all the same.
  if (!next_is_held()) return;
  while (next_is_held()) hand_on(held_.pop());
  (asking_ || snapshotting_ ? counters_.recovered : counters_.filled).add();
  if (asking_ || snapshotting_) log_.note(Note::kRecovered, expected_);
  next_gap();
}

// What is missing before the first held packet stays so: the feed sees a gap.
void Arbiter::give_up() noexcept {
  counters_.given_up.add();
  do hand_on(held_.pop());
  while (next_is_held());
  next_gap();
}

void Arbiter::next_gap() noexcept {
  gap_open_ = asking_ = snapshotting_ = false;
  if (!held_.empty()) open_gap(held_.front().arrival.tsc);
}

void Arbiter::open_gap(TscTicks since) noexcept {
  gap_open_ = true;
  asking_ = false;
  gap_since_ = since;
}

void Arbiter::flush() noexcept {
  snapshotting_ = false;
  while (!held_.empty()) give_up();
  work();
  feed_.set_recovering(false);
}

// ------------------------------------------------------------------------------- packets out

void Arbiter::work() noexcept {
  handle_burst();
  held_.recycle();
}

// Packets are kept behind the burst, so that the way from tick to order does not pay for it. A
// packet that repeats something is compared with all that are before it, so these are kept ahead of
// it.
void Arbiter::handle_burst() noexcept {
  const std::span<const OrderedPacket> packets = burst_.packets();
  std::size_t kept = 0;
  const auto keep_until = [&](std::size_t end) noexcept {
    for (; kept < end; ++kept) {
      const OrderedPacket& each = packets[kept];
      if (each.known < each.count)
        recent_.keep(each.sequence + each.known, burst_.blocks(each, each.known, each.count));
    }
  };
  feed_.begin_burst(burst_);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].known != 0) [[unlikely]] {
      keep_until(i);
      compare_repeated(packets[i]);
    }
    feed_.on_packet(burst_, packets[i]);
  }
  keep_until(packets.size());
  burst_.clear();
}

// The same number twice is the other line, a retransmission, or a forger who was first: then the
// books hold what the exchange never said.
void Arbiter::compare_repeated(const OrderedPacket& packet) noexcept {
  if (recent_.holds(packet.sequence, burst_.blocks(packet, 0, packet.known))) [[likely]]
    return;
  for (std::size_t i = 0; i < packet.known; ++i)
    if (recent_.differs(packet.sequence + i, burst_.messages()[packet.first + i]))
      feed_.on_conflict(packet.sequence + i);
}

// ------------------------------------------------------------------------------------- time

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
  const bool far = !asking_ && missing() > options_.snapshot_gap_messages;
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
  const auto count = static_cast<std::uint16_t>(std::min(missing(), kAskedMax));
  if (!asking_) log_.note(Note::kAsking, expected_, missing());
  if (port_->request(session_, expected_, count)) counters_.requests.add();
  asking_ = true;
  asked_at_ = now;
  asked_from_ = expected_;
  asked_until_ = expected_ + count;
}

}  // namespace tickpath::mdh

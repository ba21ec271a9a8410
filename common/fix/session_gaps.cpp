// Gaps in a Session's numbers. The peer's: what comes behind one waits, and the wait has an end.
// Ours: what the peer asks for again, sent a little each turn.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "common/fix/detail/session_impl.hpp"

namespace tickpath::fix {
namespace {

// Sent again in one turn: others are served between, and a resend of the whole store still goes at
// some hundred thousand messages a second.
constexpr int kResentPerTurn = 32;

// Slots of the store that session messages may take while a resend is under way.
constexpr std::uint32_t kAdminSlots = 16;

// EndSeqNo of a request for all there is: 0; up to FIX 4.2 some say 999999 (vol. 1, Resend
// Request).
constexpr int kEndless = 999'999;

}  // namespace

// -------------------------------------------------------------------------------- the peer's gaps

// fields_ are the message's. FIX 4.4, vol. 2, Response by Message Type: a Logon, a Logout and a
// SequenceReset-Reset have their meaning at once. So has a ResendRequest, of which only the number
// has its turn later: two sides that ask each other would wait for ever. All others wait, a Test
// Request too.
bool Session::Impl::waits_behind_gap(std::string_view message) noexcept {
  const std::uint32_t seq = fields_.seq_num();
  const char type = fields_.msg_type();
  if (seq <= store_.next_target() || type == 'A' || type == '5' ||
      (type == '4' && fields_.get(123) != "Y") || !is_peers())
    return false;
  const bool known = behind_gap();
  const bool resend = type == '2';
  if (!waiting_.push(seq, resend ? std::string_view{} : message)) counters_.gap_overflows.add();
  // "Perform the Resend processing first, followed by a ResendRequest of your own": take_waiting().
  if (resend) to_quickfix(message);
  if (!resend && !known) ask_for_what_is_before(seq, message);
  return true;
}

// QuickFIX does, when it is shown the message that came too early.
void Session::Impl::ask_for_what_is_before(std::uint32_t seq, std::string_view message) noexcept {
  to_quickfix(message);
  if (fd_ >= 0) quickfix([&] { bridge_.forget_queued(static_cast<int>(seq)); });
}

// The next of what waits, if its turn has come. False: nothing to do for now.
bool Session::Impl::take_waiting() noexcept {
  const detail::GapBuffer::Entry next = waiting_.front();
  const std::uint32_t expected = store_.next_target();
  if (next.seq <= expected) {
    waiting_.pop();
    if (next.seq < expected) return true;
    if (next.text.empty())
      store_.set_next_target(expected + 1);
    else
      handle(next.text);
    return true;
  }
  if (behind_gap()) return false;
  // What was asked for has come, and yet something is missing: the buffer was full meanwhile. Or
  // nothing was asked for, because a ResendRequest was the first behind the gap: its turn first.
  if (!next.text.empty())
    ask_for_what_is_before(next.seq, next.text);
  else if (resend_.begin == 0)
    ask_for_what_is_before(next.seq);
  return false;
}

// Where the message itself is not kept: another of its number serves as well.
void Session::Impl::ask_for_what_is_before(std::uint32_t seq) noexcept {
  char message[kMessageBytesMax];
  const Encoder peers(options_.target, options_.sender, options_.version);
  ask_for_what_is_before(seq, {message, peers.encode_heartbeat(message, {}, seq, utc_now())});
}

// As long as some of it comes there is hope.
void Session::Impl::watch_gap(TscTicks now) noexcept {
  const std::uint32_t expected = behind_gap() ? store_.next_target() : 0;
  if (expected == 0 || expected != gap_next_) {
    gap_next_ = expected;
    gap_since_ = now;
    return;
  }
  if (now <= gap_since_ || (now - gap_since_).value < ticks(options_.gap_timeout_s).value) return;
  counters_.gap_timeouts.add();
  char text[kTextMax + 1];
  const int length =
      std::snprintf(text, sizeof(text), "MsgSeqNum %u to %d not received for %u s (gap_timeout)",
                    expected, bridge_.missing_end(), options_.gap_timeout_s);
  const std::string_view reason(text, static_cast<std::size_t>(length));
  on_event(reason.data(), reason.size());
  logout(reason);
}

// ------------------------------------------------------------------------------------- our resends

bool Session::Impl::on_resend_request(int begin, int end) {
  const std::uint32_t last = store_.next_sender() - 1;
  if (begin < 1 || end < 0 || static_cast<std::uint32_t>(begin) > last || (end != 0 && end < begin))
    return false;
  const bool endless = end == 0 || (end == kEndless && options_.version == Version::k42);
  Range range{static_cast<std::uint32_t>(begin), last};
  if (!endless) range.end = std::min(last, static_cast<std::uint32_t>(end));
  if (resend_.begin == 0) {
    begin_resend(range.begin, range.end);
  } else if (asked_meanwhile_.begin == 0) {
    asked_meanwhile_ = range;
  } else {
    asked_meanwhile_.begin = std::min(asked_meanwhile_.begin, range.begin);
    asked_meanwhile_.end = std::max(asked_meanwhile_.end, range.end);
  }
  return true;
}

void Session::Impl::begin_resend(std::uint32_t begin, std::uint32_t end) noexcept {
  resend_ = {begin, end};
  fresh_from_ = store_.next_sender();
  fill_from_ = 0;
}

bool Session::Impl::resend_some() noexcept {
  int count = 0;
  for (; count < kResentPerTurn && resend_.begin != 0 && !wants_write() && !broken_; ++count)
    resend_next();
  return count != 0;
}

void Session::Impl::resend_next() noexcept {
  const std::uint32_t end = store_.next_sender();
  std::uint32_t& at = resend_.begin;
  if (at > resend_.end && at < fresh_from_) {
    fill_gap();
    at = fresh_from_;
  }
  if (at >= end) {
    fill_gap();
    const Range next = std::exchange(asked_meanwhile_, {});
    resend_ = {};
    if (next.begin != 0) begin_resend(next.begin, next.end);
    return;
  }
  // The store has forgotten them all: one step, however many.
  if (end - at > options_.store_messages) {
    const std::uint32_t kept = std::min(end - options_.store_messages, resend_.end + 1);
    counters_.forgotten.add(kept - at);
    if (fill_from_ == 0) fill_from_ = at;
    at = kept;
    return;
  }
  const std::string_view message = store_.get(at);
  Fields fields;
  (void)fields.scan(message);
  if (message.empty()) counters_.forgotten.add();
  const bool fresh = at >= fresh_from_;
  if (message.empty() || detail::is_admin(fields.msg_type()) ||
      (!fresh && !may_resend(at, fields))) {
    if (fill_from_ == 0) fill_from_ = at;
  } else {
    fill_gap();
    if (fresh)
      transmit(message.data(), message.size());
    else
      resend(message);
  }
  ++at;
}

void Session::Impl::resend(std::string_view message) noexcept {
  char out[kResentBytesMax];
  counters_.resent.add();
  transmit(out, encoder_.encode_again(out, message, utc_now()));
}

// Up to where the resend stands.
void Session::Impl::fill_gap() noexcept {
  if (fill_from_ == 0) return;
  char out[kMessageBytesMax];
  transmit(out, encoder_.encode_gap_fill(out, fill_from_, resend_.begin, utc_now()));
  fill_from_ = 0;
}

bool Session::Impl::may_resend(std::uint32_t seq, const Fields& fields) noexcept {
  if (options_.role == SessionRole::kAcceptor) return true;
  Resend resend;
  resend.msg_type = fields.msg_type();
  (void)parse_id(fields.get(11), resend.cl_ord_id);
  std::int64_t sent_ns = 0;
  // Without a time it is as old as can be.
  resend.age_ns = parse_utc(fields.get(52), sent_ns)
                      ? sender_clock_.age_ns(seq, sent_ns, clock::realtime_ns())
                      : std::numeric_limits<std::int64_t>::max();
  return handler_ != nullptr && handler_->may_resend(resend);
}

// What is sent meanwhile takes slots of the store, of which the resend still needs some.
bool Session::Impl::has_room_beside_resend() const noexcept {
  return store_.next_sender() - resend_.begin + kAdminSlots < options_.store_messages;
}

void Session::Impl::forget_gaps() noexcept {
  waiting_.clear();
  behind_gap_.store(false, std::memory_order_relaxed);
  gap_next_ = 0;
  resend_ = {};
  asked_meanwhile_ = {};
  fill_from_ = 0;
}

}  // namespace tickpath::fix

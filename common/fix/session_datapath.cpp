// The polling side of a Session: what runs for every message.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <sys/socket.h>

#include "common/base/check.hpp"
#include "common/base/datapath_guard.hpp"
#include "common/fix/detail/session_impl.hpp"
#include "common/fix/dictionary.hpp"
#include "common/net/loopback_sockets.hpp"

namespace tickpath::fix {
namespace {

// A longer message is read past (session_long.cpp, which names the figure to people). Ours are
// below kMessageBytesMax, QuickFIX's below a few kilobytes.
constexpr std::size_t kIncomingBytesMax = 32768;

// How often timers are looked at. Heartbeats are in seconds, so this is exact enough, and a logon
// or logout in progress is driven by it.
constexpr std::uint64_t kTimerPeriodNs = 50'000'000;

// FIX 4.2, vol. 1, Test Request: after "a reasonable transmission time" beyond the heartbeat
// interval; QuickFIX takes a fifth of it.
constexpr double kSilenceFactor = 1.2;

constexpr std::string_view kUnreadText = "the peer does not read: no room for what it must be told";

// The second of the day in "YYYYMMDD-HH:MM:SS"; -1: it is no such time.
int second_of_day(std::string_view time) noexcept {
  if (time.size() < 17) return -1;
  int seconds = 0;
  for (const std::size_t at : {9u, 12u, 15u}) {
    const int tens = time[at] - '0';
    const int ones = time[at + 1] - '0';
    if (tens < 0 || tens > 9 || ones < 0 || ones > 9) return -1;
    seconds = seconds * 60 + tens * 10 + ones;
  }
  return seconds;
}

}  // namespace

bool Session::Impl::poll(Handler& handler) noexcept {
  handler_ = &handler;
  if (std::exchange(logout_untold_, false)) handler.on_logout();
  if (std::exchange(reset_untold_, false)) handler.on_numbers_reset(false);
  bool worked = false;
  if (fd_ >= 0) {
    if (wants_write()) worked = flush();
    if (!broken_) worked |= receive();
    if (resend_.begin != 0) [[unlikely]] {
      worked |= resend_some();
      // What came behind a gap may wait for the end of it (session_gaps.cpp).
      if (resend_.begin == 0 && fd_ >= 0 && !waiting_.empty()) dispatch();
    }
    const TscTicks now = tsc_now();
    if (now >= next_timer_) timers(now);
    if (broken_ && fd_ >= 0) drop("connection lost while sending");
  } else if (options_.times.limited()) {
    const TscTicks now = tsc_now();
    if (now >= next_timer_) timers(now);
  }
  handler_ = nullptr;
  return worked;
}

// ------------------------------------------------------------------------------------ receiving

bool Session::Impl::receive() noexcept {
  if (held_) [[unlikely]] {
    dispatch();
    if (!held_) return true;
    // The peer waits for us, not we for it.
    last_received_ = tsc_now();
    received_since_sync_ = true;
    return false;
  }
  if (net::LoopbackSockets::known_empty(fd_)) return false;
  if (rx_.size() - rx_end_ < kIncomingBytesMax) {
    std::memmove(rx_.data(), rx_.data() + rx_begin_, rx_end_ - rx_begin_);
    rx_end_ -= rx_begin_;
    rx_begin_ = 0;
  }
  const ssize_t got = ::recv(fd_, rx_.data() + rx_end_, rx_.size() - rx_end_, MSG_DONTWAIT);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) drop("connection lost");
    net::LoopbackSockets::note_empty(fd_);
    return false;
  }
  if (got == 0) {
    drop("peer closed the connection");
    return true;
  }
  info_.received = tsc_now();
  heard_ = true;
  rx_end_ += static_cast<std::size_t>(got);
  counters_.bytes_received.add(static_cast<std::uint64_t>(got));
  dispatch();
  return true;
}

void Session::Impl::dispatch() noexcept {
  held_ = false;
  while (rx_begin_ != rx_end_ || !waiting_.empty()) {
    if (handler_ != nullptr && !handler_->ready()) [[unlikely]] {
      held_ = true;
      return;
    }
    if (!waiting_.empty() && take_waiting()) [[unlikely]]
      continue;
    if (rx_begin_ == rx_end_) break;
    const std::string_view bytes(rx_.data() + rx_begin_, rx_end_ - rx_begin_);
    if (long_.under_way()) [[unlikely]] {
      read_past(bytes);
      continue;
    }
    const Frame next = frame(bytes, kIncomingBytesMax);
    if (next.status == FrameStatus::kIncomplete) return;
    if (next.status == FrameStatus::kTooLong) [[unlikely]] {
      begin_long(next.length);
      continue;
    }
    rx_begin_ += next.length;
    if (next.status == FrameStatus::kGarbled) {
      counters_.garbled.add();
      continue;
    }
    const std::string_view message = bytes.substr(0, next.length);
    if (next.status == FrameStatus::kBadChecksum) {
      // Disregarded; but QuickFIX ends a connection that begins with a garbled Logon.
      counters_.garbled.add();
      to_quickfix(message, false);
    } else {
      counters_.received.add();
      handle(message);
    }
  }
  rx_begin_ = rx_end_ = 0;
}

void Session::Impl::handle(std::string_view message) noexcept {
  last_received_ = info_.received;
  received_since_sync_ = true;
  if (logged_on()) {
    const bool readable = fields_.scan(message);
    if (!behind_gap() && in_sequence()) {
      take_info(message);
      if (refused_by_dictionary(message) || (readable ? handle_in_place() : reject_unreadable())) {
        // After the handler: a process that dies in between gets the message again.
        store_.set_next_target(info_.seq_num + 1);
        counters_.received_in_place.add();
        return;
      }
    } else if (waits_behind_gap(message)) {
      return;
    }
  }
  to_quickfix(message);
}

bool Session::Impl::in_sequence() noexcept {
  return fields_.seq_num() == store_.next_target() && fields_.seq_num() <= detail::kSeqNumMax &&
         !fields_.poss_dup() && is_peers() && fields_.has(52) && is_on_time();
}

// By its CompIDs and BeginString the message is of this session.
bool Session::Impl::is_peers() const noexcept {
  return fields_.get(49) == options_.target && fields_.get(56) == options_.sender &&
         fields_.get(8) == begin_string(options_.version);
}

// Clearly so: on the same date, and nearer to our clock than is allowed. Whatever is not QuickFIX
// judges.
bool Session::Impl::is_on_time() noexcept {
  if (options_.sending_time_max_s == 0) return true;
  constexpr std::size_t kDate = std::string_view("YYYYMMDD-").size();
  const std::string_view theirs = fields_.get(52);
  const std::string_view ours(utc_now(), UtcText::kLength);
  const int sent = second_of_day(theirs);
  return sent >= 0 && theirs.substr(0, kDate) == ours.substr(0, kDate) &&
         std::abs(second_of_day(ours) - sent) < static_cast<int>(options_.sending_time_max_s);
}

// A Reject is never refused: two sides could go on for ever. Nor is a report: what has happened at
// the venue has happened, and a Reject would use up its number without booking it.
bool Session::Impl::refused_by_dictionary(std::string_view message) noexcept {
  Violation violation;
  const char type = fields_.msg_type();
  if (!options_.validate || type == '3' || conforms(options_.version, message, violation))
    return false;
  if (options_.role == SessionRole::kInitiator && is_ours_to_take(type)) {
    counters_.nonconforming.add();
    return false;
  }
  counters_.rejected.add();
  send_admin([&](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_reject(out,
                                  {info_.seq_num, violation.tag, fields_.get(35), violation.reason,
                                   route_back(fields_), fields_.bad_number()},
                                  seq, now);
  });
  return true;
}

// Where QuickFIX would answer by a Business Message Reject we do: it leaves BusinessRejectRefID
// (379) out, by which the peer finds the order that was refused.
bool Session::Impl::refused_as_business(const DecodeResult& result) noexcept {
  if (result.status == DecodeStatus::kMissingTag)
    refuse_as_business(BusinessRejectReason::kConditionallyMissing,
                       "Conditionally required field missing", result.tag);
  else if (result.status == DecodeStatus::kTooLong)
    refuse_as_business(BusinessRejectReason::kOther, "More than 32 characters", result.tag);
  else
    return false;
  return true;
}

void Session::Impl::refuse_as_business(BusinessRejectReason reason, std::string_view text,
                                       std::uint32_t tag) noexcept {
  counters_.rejected.add();
  tell_refused(tag, text);
  const std::string_view type = fields_.get(35);
  const std::string_view id = fields_.get(type == "8" ? 17 : 11);
  send_admin([&](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_business_reject(
        out, {info_.seq_num, type, id, reason, text, tag, route_back(fields_)}, seq, now);
  });
}

bool Session::Impl::handle_in_place() noexcept {
  switch (fields_.msg_type()) {
    case '0':
      return true;
    case '1':
      return answer_test_request();
    default:
      DecodeResult result;
      return is_ours_to_take(fields_.msg_type()) &&
             (deliver_application(result) || refused_as_business(result));
  }
}

bool Session::Impl::answer_test_request() noexcept {
  if (!fields_.has(112) || fields_.get(112).size() > kTextMax) return false;
  send_heartbeat(fields_.get(112));
  return true;
}

// A tag that is no number. QuickFIX disregards such a message as garbled although its checksum is
// right, asks for a resend, and gets the same again: the session would stand still. FIX 4.2 has a
// Reject for it (373=0, Invalid tag number).
bool Session::Impl::reject_unreadable() noexcept {
  if (fields_.bad_tag() != 0) return false;
  counters_.rejected.add();
  send_admin([this](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_reject(
        out,
        {info_.seq_num, 0, fields_.get(35), SessionRejectReason::kInvalidTag, route_back(fields_),
         fields_.bad_number()},
        seq, now);
  });
  return true;
}

bool Session::Impl::is_ours_to_take(char msg_type) const noexcept {
  const bool acceptor = options_.role == SessionRole::kAcceptor;
  const bool v44 = options_.version == Version::k44;
  switch (msg_type) {
    case '8':
    case '9':
      return !acceptor;
    case 'r':
      return !acceptor && v44;
    case 'D':
    case 'F':
    case 'G':
    case 'H':
      return acceptor;
    case 'q':
    case kMassStatusType:
      return acceptor && v44;
    default:
      return msg_type == 'j';
  }
}

template <class Message>
bool Session::Impl::deliver(Message& message,
                            void (Handler::*callback)(const Message&, const MessageInfo&) noexcept,
                            DecodeResult& result) noexcept {
  result = decode(fields_, message);
  if (!result) return false;
  if (fields_.has(58)) [[unlikely]]
    hand_over_text();
  if (handler_ != nullptr) (handler_->*callback)(message, info_);
  return true;
}

// An Execution Report has a reason where it refuses, cancels or expires. What a venue says of a
// fill is none.
void Session::Impl::hand_over_text() noexcept {
  const std::string_view status = fields_.get(39);
  const bool ended = status == "8" || status == "4" || status == "C";
  if (text_sink_ == nullptr || (fields_.msg_type() == '8' && !ended)) return;
  std::uint64_t id = 0;
  (void)parse_id(fields_.get(11), id);
  text_sink_->on_text(id, fields_.get(58));
}

bool Session::Impl::deliver_application(DecodeResult& result) noexcept {
  switch (fields_.msg_type()) {
    case 'D': {
      NewOrderSingle message;
      return deliver(message, &Handler::on_new_order, result);
    }
    case 'F': {
      OrderCancelRequest message;
      return deliver(message, &Handler::on_cancel_request, result);
    }
    case 'G': {
      OrderCancelReplaceRequest message;
      return deliver(message, &Handler::on_replace_request, result);
    }
    case 'H': {
      OrderStatusRequest message;
      return deliver(message, &Handler::on_status_request, result);
    }
    case kMassStatusType: {
      OrderMassStatusRequest message;
      return deliver(message, &Handler::on_mass_status, result);
    }
    case 'q': {
      OrderMassCancelRequest message;
      return deliver(message, &Handler::on_mass_cancel, result);
    }
    case 'r': {
      OrderMassCancelReport message;
      return deliver(message, &Handler::on_mass_cancel_report, result);
    }
    case '8': {
      ExecutionReport message;
      return deliver(message, &Handler::on_execution_report, result);
    }
    case '9': {
      OrderCancelReject message;
      return deliver(message, &Handler::on_cancel_reject, result);
    }
    default: {
      MessageReject message;
      result = decode(fields_, message);
      if (!result) return false;
      Fields refused;
      // What was refused may be unreadable from some field on; the id comes early.
      (void)refused.scan(store_.get(message.ref_seq_num));
      (void)parse_id(refused.get(11), message.ref_cl_ord_id);
      if (text_sink_ != nullptr && fields_.has(58))
        text_sink_->on_text(message.ref_cl_ord_id, fields_.get(58));
      if (handler_ != nullptr) handler_->on_message_reject(message, info_);
      return true;
    }
  }
}

void Session::Impl::tell_refused(std::uint32_t tag, std::string_view why) noexcept {
  RefusedMessage refused{fields_.get(35), tag, why};
  (void)parse_id(fields_.get(11), refused.cl_ord_id);
  if (handler_ != nullptr) handler_->on_refused(refused, info_);
}

void Session::Impl::take_info(std::string_view message) noexcept {
  info_.seq_num = fields_.seq_num();
  info_.poss_dup = fields_.poss_dup();
  info_.poss_resend = fields_.poss_resend();
  info_.text = message;
  info_.routed = fields_.has_rare() && is_routed(fields_);
}

detail::AppVerdict Session::Impl::on_app_message(const char* message, std::size_t length) {
  using detail::AppVerdict;
  const bool readable = fields_.scan({message, length});
  take_info({message, length});
  const auto refuse = [this](AppVerdict::Kind kind, std::uint32_t tag, std::string_view why) {
    counters_.rejected.add();
    tell_refused(tag, why);
    return AppVerdict{kind, static_cast<int>(tag)};
  };
  // The Reject is ours; QuickFIX goes on as after a message that was taken.
  if (refused_by_dictionary({message, length})) return AppVerdict{AppVerdict::kAccept, 0};
  if (!readable)
    return refuse(AppVerdict::kBadValue, fields_.bad_tag() != 0 ? fields_.bad_tag() : 35,
                  "unreadable");
  // Answered by us as well.
  if (!is_ours_to_take(fields_.msg_type())) {
    refuse_as_business(BusinessRejectReason::kUnsupportedType, "Unsupported message type", 0);
    return AppVerdict{AppVerdict::kAccept, 0};
  }
  DecodeResult result;
  if (deliver_application(result) || refused_as_business(result))
    return AppVerdict{AppVerdict::kAccept, 0};
  switch (result.status) {
    case DecodeStatus::kBadFormat:
      return refuse(AppVerdict::kBadFormat, result.tag, "not of its data type");
    default:
      return refuse(AppVerdict::kBadValue, result.tag, "not a value that it can have here");
  }
}

void Session::Impl::on_session_reject(const char* message, std::size_t length) {
  if (!fields_.scan({message, length})) return;
  take_info({message, length});
  DecodeResult result;
  deliver_application(result);
}

// -------------------------------------------------------------------------------------- sending

template <class Message>
SendStatus Session::Impl::encode_and_send(const Message& message, bool transmit_now,
                                          SendTimes* times) noexcept {
  const bool waits = resend_.begin != 0;
  if (pending_bytes() + kMessageBytesMax > options_.send_buffer_bytes ||
      (waits && !has_room_beside_resend())) [[unlikely]] {
    counters_.send_refused.add();
    return SendStatus::kFull;
  }
  char* const out = store_.begin_message();
  const std::size_t length = encoder_.encode(out, message, store_.next_sender(), utc_now());
  store_.commit(length);
  if (times != nullptr) times->encoded = tsc_now();
  counters_.sent.add();
  counters_.sent_in_place.add();
  if (!transmit_now) {
    counters_.stored_only.add();
    if (stored_from_ == 0) stored_from_ = store_.next_sender() - 1;
    return SendStatus::kStored;
  }
  const bool taken = !waits && transmit(out, length);
  if (times != nullptr) {
    times->mirrored = mirrored_;
    times->sent = last_sent_;
  }
  return taken ? SendStatus::kSent : SendStatus::kQueued;
}

template <class Message>
SendStatus Session::Impl::send_request(const Message& message, SendTimes* times) noexcept {
  if (!logged_on() || logout_pending_) [[unlikely]] {
    counters_.send_refused.add();
    return SendStatus::kDown;
  }
  return encode_and_send(message, true, times);
}

template <class Message>
SendStatus Session::Impl::send_report(const Message& message, SendTimes* times) noexcept {
  // After our Logout of the day nothing is sent any more: it is the next day's.
  return encode_and_send(message, logged_on() && !day_ends_, times);
}

void Session::Impl::send_heartbeat(std::string_view test_request_id) noexcept {
  send_admin([&](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_heartbeat(out, test_request_id, seq, now);
  });
}

bool Session::Impl::write(const char* bytes, std::size_t length) {
  // The message is in the store, or about to be: a peer that reads again asks for it.
  if (pending_bytes() + length > options_.send_buffer_bytes) {
    if (!broken_) on_event(kUnreadText.data(), kUnreadText.size());
    broken_ = true;
    return false;
  }
  counters_.sent.add();
  transmit(bytes, length);
  return !broken_;
}

bool Session::Impl::transmit(const char* bytes, std::size_t length) noexcept {
  std::size_t taken = 0;
  if (fd_ >= 0 && !broken_ && !wants_write() && may_transmit()) {
    const ssize_t sent = ::send(fd_, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    net::LoopbackSockets::note_written(fd_);
    if (sent >= 0)
      taken = static_cast<std::size_t>(sent);
    else if (errno != EAGAIN && errno != EINTR)
      broken_ = true;  // poll() drops the connection; the message is in the store for a resend
    counters_.bytes_sent.add(taken);
  }
  last_sent_ = tsc_now();
  if (taken == length) return true;
  if (fd_ >= 0 && !broken_) keep(bytes + taken, length - taken);
  return false;
}

void Session::Impl::keep(const char* bytes, std::size_t length) noexcept {
  if (tx_.size() - tx_end_ < length) {
    std::memmove(tx_.data(), tx_.data() + tx_begin_, pending_bytes());
    tx_end_ -= tx_begin_;
    tx_begin_ = 0;
  }
  TICKPATH_CHECK(tx_.size() - tx_end_ >= length, "each sender has looked for room");
  std::memcpy(tx_.data() + tx_end_, bytes, length);
  tx_end_ += length;
}

bool Session::Impl::flush() noexcept {
  if (!may_transmit()) return false;
  const ssize_t sent =
      ::send(fd_, tx_.data() + tx_begin_, pending_bytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
  net::LoopbackSockets::note_written(fd_);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) broken_ = true;
    return false;
  }
  counters_.bytes_sent.add(static_cast<std::uint64_t>(sent));
  tx_begin_ += static_cast<std::size_t>(sent);
  if (tx_begin_ == tx_end_) tx_begin_ = tx_end_ = 0;
  return sent > 0;
}

// --------------------------------------------------------------------------------------- timers

void Session::Impl::timers(TscTicks now) noexcept {
  next_timer_ = {now.value + converter_.from_ns(kTimerPeriodNs).value};
  base_ = clock::read_pair();
  watch_day();
  if (fd_ < 0) return;
  if (!logged_on() || logout_pending_) {
    quickfix([this] { bridge_.tick(); });
    // QuickFIX waits for ever for an initiator to log on; others could not get in meanwhile.
    if (fd_ >= 0 && !logged_on() && options_.role == SessionRole::kAcceptor && now > attached_ &&
        (now - attached_).value >= ticks(options_.logon_timeout_s).value)
      drop("no logon in time");
    return;
  }
  watch_gap(now);
  if (heartbeat_ticks_ == 0) return;  // HeartBtInt 0: no heartbeats (FIX 4.2, vol. 1, Logon)
  if ((now - last_sent_).value >= heartbeat_ticks_ && now > last_sent_) send_heartbeat({});
  const double silence = static_cast<double>((now - last_received_).value);
  if (now > last_received_ && silence >= kSilenceFactor * static_cast<double>(heartbeat_ticks_))
    quickfix([this] { bridge_.tick(); });
}

void Session::Impl::drop(std::string_view why) noexcept {
  on_event(why.data(), why.size());
  quickfix([this] { bridge_.disconnect(); });
}

const char* Session::Impl::utc_now() noexcept {
  const auto since = static_cast<std::int64_t>(converter_.to_ns(tsc_now() - base_.tsc));
  return utc_.at(base_.realtime_ns + since);
}

// ------------------------------------------------------------------------------- the public face

SendStatus Session::send(const NewOrderSingle& message, SendTimes* times) noexcept {
  return impl_->send_request(message, times);
}
SendStatus Session::send(const OrderCancelRequest& message, SendTimes* times) noexcept {
  return impl_->send_request(message, times);
}
SendStatus Session::send(const OrderCancelReplaceRequest& message, SendTimes* times) noexcept {
  return impl_->send_request(message, times);
}
SendStatus Session::send(const OrderStatusRequest& message, SendTimes* times) noexcept {
  return impl_->send_request(message, times);
}
SendStatus Session::send(const OrderMassCancelRequest& message, SendTimes* times) noexcept {
  return impl_->version() == Version::k44 ? impl_->send_request(message, times) : SendStatus::kDown;
}
SendStatus Session::send(const OrderMassCancelReport& message, SendTimes* times) noexcept {
  return impl_->send_report(message, times);
}
SendStatus Session::send(const ExecutionReport& message, SendTimes* times) noexcept {
  return impl_->send_report(message, times);
}
SendStatus Session::send(const OrderCancelReject& message, SendTimes* times) noexcept {
  return impl_->send_report(message, times);
}

}  // namespace tickpath::fix

// The session's day: when it ends, and what goes over into the next one.
#include <string>
#include <vector>

#include "common/fix/detail/session_impl.hpp"

namespace tickpath::fix {
namespace {

constexpr std::string_view kDayIsOver = "the session time is over";

}  // namespace

// With every look at the timers. base_ is new.
void Session::Impl::watch_day() noexcept {
  if (!options_.times.limited()) return;
  const std::int64_t now = base_.realtime_ns;
  if (store_.began_ns() != 0 && !options_.times.same_session(store_.began_ns(), now)) end_day();
  if (store_.began_ns() == 0 && options_.times.is_open(now)) store_.set_began_ns(now);
  show_session_time(now);
}

// Also of a session that is not polled yet, and of a standby's, which is not: who takes over
// connects at once.
void Session::Impl::show_session_time(std::int64_t now_ns) noexcept {
  const bool open =
      !options_.times.limited() || (store_.began_ns() != 0 && !day_ends_ &&
                                    options_.times.same_session(store_.began_ns(), now_ns));
  in_session_time_.store(open, std::memory_order_relaxed);
}

bool Session::Impl::adopt_message(std::uint32_t seq, std::string_view message,
                                  const SessionNumbers& numbers) noexcept {
  const bool fits = store_.adopt(seq, message, numbers);
  Fields fields;
  (void)fields.scan(message);
  const std::int64_t now = clock::realtime_ns();
  if (std::int64_t sent = 0; parse_utc(fields.get(52), sent)) sender_clock_.see(seq, sent, now);
  show_session_time(now);
  return fits;
}

void Session::Impl::adopt_numbers(const SessionNumbers& numbers) noexcept {
  store_.adopt(numbers);
  show_session_time(clock::realtime_ns());
}

void Session::Impl::adopt_reset() noexcept {
  store_.reset();
  sender_clock_.forget();
  show_session_time(clock::realtime_ns());
}

// Whoever is logged on is logged out first; then the numbers begin anew, already before the next
// day does: reports of the time between are the first of it, and nothing of them is lost.
void Session::Impl::end_day() noexcept {
  const TscTicks now = tsc_now();
  if (logged_on() && !day_ends_) {
    handler_->on_day_end();
    day_ends_ = true;
    day_ends_since_ = now;
    logout(kDayIsOver);
  }
  // QuickFIX waits for the answer, but not if there are no heartbeats (108=0).
  if (logged_on() && (now - day_ends_since_).value < ticks(options_.logout_timeout_s + 1).value)
    return;
  if (fd_ >= 0) drop(kDayIsOver);
  const bool was_told = std::exchange(day_ends_, false);
  handler_->on_numbers_reset(true);
  begin_numbers_anew();
  if (!was_told) handler_->on_day_end();
}

// Reports that the peer was not there to get have not been sent yet: they are the next day's.
void Session::Impl::begin_numbers_anew() noexcept {
  const SessionScope once;  // a day
  std::vector<std::string> unsent;
  const std::uint32_t end = store_.next_sender();
  for (std::uint32_t seq = stored_from_; seq != 0 && seq < end; ++seq) {
    const std::string_view message = store_.get(seq);
    Fields fields;
    (void)fields.scan(message);
    if (message.empty())
      counters_.forgotten.add();
    else if (!detail::is_admin(fields.msg_type()))
      unsent.emplace_back(message);
  }
  store_.reset();
  sender_clock_.forget();
  forget_gaps();
  logons_repeated_ = 0;
  stored_from_ = unsent.empty() ? 0 : 1;
  for (const std::string& message : unsent) {
    char* const out = store_.begin_message();
    store_.commit(encoder_.encode_renumbered(out, message, store_.next_sender(), utc_now()));
  }
  constexpr std::string_view kAnew = "a new session: both numbers begin with 1";
  on_event(kAnew.data(), kAnew.size());
}

}  // namespace tickpath::fix

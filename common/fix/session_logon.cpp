// What a Session asks of a Logon before QuickFIX gets it.
#include <cstdlib>

#include "common/fix/detail/session_impl.hpp"

namespace tickpath::fix {

// How often in a row a refused Logon is answered.
constexpr std::uint32_t kRefusalsToldMax = 16;

bool Session::Impl::takes_logon(std::string_view message, std::uint32_t& peer_expects) noexcept {
  detail::LogonVerdict verdict = detail::judge_logon(message, logon_rules_);
  peer_expects = verdict.logon ? verdict.next_expected : 0;
  if (verdict.refusal.empty() && peer_expects > store_.next_sender())
    verdict.refusal = "NextExpectedMsgSeqNum (789) is higher than any number that was sent";
  if (verdict.logon && verdict.refusal.empty() && is_far_off(verdict.sending_time))
    verdict.refusal = "SendingTime (52) of the Logon is too far from our clock (sending_time_max)";
  if (verdict.logon && verdict.refusal.empty() && options_.times.limited()) {
    base_ = clock::read_pair();  // it may come a moment after the start, before timers() looks
    watch_day();
    if (fd_ < 0) return false;
    if (!in_session_time()) verdict.refusal = "outside of the session time";
  }
  if (!verdict.refusal.empty()) refuse_logon(verdict.refusal);
  return verdict.refusal.empty();
}

// What is no time at all QuickFIX refuses.
bool Session::Impl::is_far_off(std::string_view sending_time) noexcept {
  std::int64_t theirs = 0;
  std::int64_t ours = 0;
  if (options_.sending_time_max_s == 0 || !parse_utc(sending_time, theirs) ||
      !parse_utc({utc_now(), UtcText::kLength}, ours))
    return false;
  return std::abs(theirs - ours) >
         static_cast<std::int64_t>(options_.sending_time_max_s) * 1'000'000'000;
}

// What the peer lacks by its own word (789), up to our Logon; FIX 4.4, vol. 2, Logon: there is no
// ResendRequest for it. An acceptor's Logon, its answer, is none of what the peer could have
// (next_before is its number); nor does it lack anything of numbers that have begun anew.
void Session::Impl::resend_unasked(std::uint32_t peer_expects, std::uint32_t next_before) noexcept {
  if (peer_expects != 0 && logged_on() && peer_expects < next_before &&
      next_before <= store_.next_sender())
    (void)on_resend_request(static_cast<int>(peer_expects), 0);
}

// The Logout has a number of its own: whoever gets it counts it (QuickFIX even one whose number is
// too low), so that one that is used twice would shut the session's owner out. It may be left out
// (FIX 4.4, vol. 2, Logon): who goes on and on is not answered any more, or would push all that is
// kept for a resend out of the store.
void Session::Impl::refuse_logon(std::string_view why) noexcept {
  counters_.bad_logons.add();
  if (refusals_told_ < kRefusalsToldMax) {
    ++refusals_told_;
    send_admin([&](char* out, std::uint32_t seq, const char* now) {
      return encoder_.encode_logout(out, why, seq, now);
    });
  }
  constexpr std::string_view kTold = "a Logon is refused:";
  on_event(kTold.data(), kTold.size());
  drop(why);
}

}  // namespace tickpath::fix

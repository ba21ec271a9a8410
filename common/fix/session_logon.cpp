// What a Session asks of a Logon before QuickFIX gets it.
#include "common/fix/detail/session_impl.hpp"

namespace tickpath::fix {

bool Session::Impl::takes_logon(std::string_view message) noexcept {
  detail::LogonVerdict verdict = detail::judge_logon(message, logon_rules_);
  if (verdict.logon && verdict.refusal.empty() && options_.times.limited()) {
    base_ = clock::read_pair();  // it may come a moment after the start, before timers() looks
    watch_day();
    if (fd_ < 0) return false;
    if (!in_session_time()) verdict.refusal = "outside of the session time";
  }
  if (!verdict.refusal.empty()) refuse_logon(verdict.refusal);
  return verdict.refusal.empty();
}

// The Logout has a number of its own: whoever gets it counts it.
void Session::Impl::refuse_logon(std::string_view why) noexcept {
  counters_.bad_logons.add();
  send_admin([&](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_logout(out, why, seq, now);
  });
  constexpr std::string_view kTold = "a Logon is refused and answered by a Logout:";
  on_event(kTold.data(), kTold.size());
  drop(why);
}

}  // namespace tickpath::fix

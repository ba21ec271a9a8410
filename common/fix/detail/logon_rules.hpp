// What a Logon must say to be taken, and what it must not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/secret.hpp"

namespace tickpath::fix::detail {

struct LogonRules {
  bool allow_reset = false;  // ResetSeqNumFlag (141) may be Y
  std::string username;      // 553; empty: not looked at
  Secret password;           // likewise
  std::uint32_t password_tag = 554;
  bool next_expected = false;  // NextExpectedMsgSeqNum (789) is looked at
};

struct LogonVerdict {
  bool logon = false;               // what QuickFIX may take for one
  std::uint32_t next_expected = 0;  // 789; 0: not said, or not looked at
  std::string_view sending_time;    // 52, the first
  std::string_view refusal;         // Text (58) of the answer; empty: it is taken
};

// Judges a framed Logon before QuickFIX gets it, which would start the numbers anew before it asked
// anybody. Reads every field itself, in whatever order and however often, as QuickFIX does.
LogonVerdict judge_logon(std::string_view message, const LogonRules& rules) noexcept;

}  // namespace tickpath::fix::detail

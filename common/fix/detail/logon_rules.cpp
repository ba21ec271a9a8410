#include "common/fix/detail/logon_rules.hpp"

#include <algorithm>
#include <cstdint>

#include "common/fix/codec.hpp"

namespace tickpath::fix::detail {

LogonVerdict judge_logon(std::string_view message, const LogonRules& rules) noexcept {
  LogonVerdict verdict;
  bool readable = true;
  bool reset = false;
  for (std::size_t at = 0; at < message.size();) {
    std::uint32_t tag = 0;
    // QuickFIX takes 0141 for 141: in a Logon such a tag is not passed on.
    readable &= read_tag(message, at, tag);
    const std::size_t end = std::min(message.find(kSoh, at), message.size());
    const std::string_view value = message.substr(at, end - at);
    verdict.logon |= tag == 35 && value == "A";
    reset |= tag == 141 && value != "N";
    at = end + 1;
  }
  if (!verdict.logon) return verdict;
  if (!readable)
    verdict.refusal = "a field of the Logon cannot be read";
  else if (reset && !rules.allow_reset)
    verdict.refusal = "ResetSeqNumFlag (141) other than N is not allowed in this session";
  return verdict;
}

}  // namespace tickpath::fix::detail

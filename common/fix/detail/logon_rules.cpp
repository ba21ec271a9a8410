#include "common/fix/detail/logon_rules.hpp"

#include <algorithm>

#include "common/fix/detail/raw_fields.hpp"

namespace tickpath::fix::detail {

namespace {

// Takes as long wherever the two differ. `wanted` is not empty.
bool same_secret(std::string_view said, std::string_view wanted) noexcept {
  volatile std::size_t differs = said.size() ^ wanted.size();
  for (std::size_t i = 0; i < said.size(); ++i)
    differs = differs | static_cast<unsigned char>(said[i] ^ wanted[i % wanted.size()]);
  return differs == 0;
}

// One that is asked for: said at least once, and never another.
struct Credential {
  std::string_view wanted;
  bool said = false;
  bool wrong = false;

  void take(std::string_view value) noexcept {
    if (wanted.empty()) return;
    said = true;
    wrong |= !same_secret(value, wanted);
  }
  bool refused() const noexcept { return !wanted.empty() && (wrong || !said); }
};

// None: messages travel as they are.
bool is_no_encryption(std::string_view method) noexcept {
  std::uint64_t number = 1;
  return parse_number(method, number) && number == 0;
}

// From 1, of as many digits as a session's numbers have.
bool parse_count(std::string_view text, std::uint32_t& count) noexcept {
  std::uint64_t number = 0;
  const bool valid = parse_number(text, number) && number != 0 && number <= 0x7fff'ffff;
  count = valid ? static_cast<std::uint32_t>(number) : 0;
  return valid;
}

}  // namespace

LogonVerdict judge_logon(std::string_view message, const LogonRules& rules) noexcept {
  LogonVerdict verdict;
  bool readable = true;
  bool reset = false;
  std::uint64_t sequence = 0;
  bool plain = false;      // EncryptMethod (98) says so,
  bool encrypted = false;  // or something else
  Credential username{rules.username};
  Credential password{rules.password.reveal()};
  for_each_raw_field(message, [&](const RawField& field) {
    // QuickFIX takes 0141 for 141: in a Logon such a tag is not passed on.
    readable &= field.readable;
    verdict.logon |= field.tag == 35 && field.value == "A";
    reset |= field.tag == 141 && field.value != "N";
    if (field.tag == 34 && sequence == 0) (void)parse_number(field.value, sequence);
    if (field.tag == 52 && verdict.sending_time.empty()) verdict.sending_time = field.value;
    if (field.tag == 98) (is_no_encryption(field.value) ? plain : encrypted) = true;
    if (field.tag == 789 && rules.next_expected)
      readable &= parse_count(field.value, verdict.next_expected);
    if (field.tag == 553) username.take(field.value);
    if (field.tag == rules.password_tag) password.take(field.value);
  });
  if (!verdict.logon) return verdict;
  if (!readable)
    verdict.refusal = "a field of the Logon cannot be read";
  else if (username.refused() || password.refused())
    verdict.refusal = "the credentials of this session are others, or missing";
  else if (reset && !rules.allow_reset)
    verdict.refusal = "ResetSeqNumFlag (141) other than N is not allowed in this session";
  else if (reset && sequence != 1)
    verdict.refusal = "MsgSeqNum (34) of a Logon with ResetSeqNumFlag (141=Y) must be 1";
  else if (encrypted || !plain)
    verdict.refusal = encrypted ? "EncryptMethod (98) must be 0: nothing is encrypted here"
                                : "EncryptMethod (98) is missing: it must be 0";
  return verdict;
}

}  // namespace tickpath::fix::detail

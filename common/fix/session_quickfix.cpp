// What a Session gives to QuickFIX, and what not.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "common/fix/detail/raw_fields.hpp"
#include "common/fix/detail/session_impl.hpp"
#include "common/fix/dictionary.hpp"

namespace tickpath::fix {
namespace {

// Tags of the standard header, by which QuickFIX goes.
bool is_header(std::uint32_t tag) noexcept {
  constexpr std::uint32_t kTags[] = {8, 9, 34, 35, 43, 49, 52, 56, 97, 122};
  return std::find(std::begin(kTags), std::end(kTags), tag) != std::end(kTags);
}

// The message without the fields that come again. QuickFIX has no dictionary here: it would take
// each repeating group for an error (373=13), and a fill would be rejected.
std::string each_field_once(std::string_view message) {
  std::set<std::uint32_t> seen;
  std::string body;
  std::string_view begin;
  bool repeats = false;
  bool whole = true;
  detail::for_each_raw_field(message, [&](const detail::RawField& field) {
    whole = whole && field.readable && field.ended;
    if (!whole) return;
    const bool again = !seen.insert(field.tag).second && !is_header(field.tag);
    repeats |= again;
    if (field.tag == 8 && begin.empty())
      begin = field.text;
    else if (field.tag != 9 && field.tag != 10 && !again)
      body += field.text;
  });
  if (!whole || !repeats) return std::string(message);
  std::string once = std::string(begin) + "9=" + std::to_string(body.size()) + kSoh + body;
  const std::string sum = std::to_string(1000 + checksum(once));
  return once + "10=" + sum.substr(1) + kSoh;
}

}  // namespace

void Session::Impl::to_quickfix(std::string_view message, bool intact) noexcept {
  std::uint32_t peer_expects = 0;
  if (!for_quickfix(message) || (intact && !takes_logon(message, peer_expects))) return;
  const std::uint32_t before = store_.next_sender();
  quickfix([&] {
    bridge_.receive(each_field_once(message), message.data(), message.size(), peer_expects != 0);
  });
  resend_unasked(peer_expects, before);
}

// QuickFIX reads the numbers of a session as int and lets them overflow. A peer that sends such a
// number is none to go on with: its messages could not be counted.
bool Session::Impl::for_quickfix(std::string_view message) noexcept {
  bool countable = true;
  detail::for_each_raw_field(message, [&](const detail::RawField& field) {
    if (!field.readable || !detail::is_session_number(field.tag)) return;
    std::string_view digits = field.value;
    if (!digits.empty() && digits[0] == '-') digits.remove_prefix(1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return;
    constexpr std::uint32_t kIntMax = 0x7fff'ffff;
    const bool is_next = field.tag == 34 || field.tag == 36;
    std::uint64_t number = 0;
    countable &= parse_number(digits, number) && number <= (is_next ? detail::kSeqNumMax : kIntMax);
  });
  if (countable) return true;
  counters_.garbled.add();
  drop("a number beyond those that a FIX session has");
  return false;
}

}  // namespace tickpath::fix

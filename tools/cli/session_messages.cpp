#include "tools/cli/session_messages.hpp"

#include <algorithm>

#include "common/fix/codec.hpp"
#include "common/fix/store_reader.hpp"

namespace tickpath::cli {
namespace {

// Administrative messages of FIX 4.2 and 4.4: Heartbeat to Logout, and Logon.
bool is_session_word(char type) { return (type >= '0' && type <= '5') || type == 'A'; }

}  // namespace

char type_of(std::string_view message) {
  fix::Fields fields;
  return fields.scan(message) ? fields.msg_type() : '\0';
}

SessionMessages::SessionMessages(const std::string& path) : path_(path) {
  fix::StoreReader reader(path);
  sender_ = reader.sender();
  target_ = reader.target();
  next_sender_ = reader.next_sender();
  next_target_ = reader.next_target();
  oldest_ = reader.oldest();
  const auto keep = [&](std::string_view message) {
    fix::Fields fields;
    if (fields.scan(message)) messages_.emplace(fields.seq_num(), message);
  };
  // One that is not whole is looked at again, as if its session still wrote.
  constexpr int kLooks = 128;
  std::uint64_t missing = 0;
  for (int looks = 0; looks < kLooks; ++looks) {
    (void)reader.poll(keep);
    if (reader.lost() == missing) continue;
    missing = reader.lost();
    looks = 0;
  }
  damaged_ = next_sender_ - oldest_ - std::min<std::uint64_t>(next_sender_ - oldest_, all().size());
}

const std::string* SessionMessages::find(std::uint32_t number) const {
  const auto found = messages_.find(number);
  return found == messages_.end() ? nullptr : &found->second;
}

std::uint64_t SessionMessages::logons() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      messages_, [](const auto& each) { return type_of(each.second) == 'A'; }));
}

std::uint64_t SessionMessages::reports() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(messages_, [](const auto& each) {
    const char type = type_of(each.second);
    return type == '8' || type == '9' || type == 'r';
  }));
}

bool SessionMessages::only_session_words_from(std::uint32_t number) const {
  return std::all_of(messages_.lower_bound(number), messages_.end(),
                     [](const auto& each) { return is_session_word(type_of(each.second)); });
}

const SessionMessages* other_side(const std::vector<std::unique_ptr<SessionMessages>>& all,
                                  const SessionMessages& of) {
  const auto found = std::ranges::find_if(all, [&](const auto& each) {
    return each->sender() == of.target() && each->target() == of.sender();
  });
  return found == all.end() ? nullptr : found->get();
}

}  // namespace tickpath::cli

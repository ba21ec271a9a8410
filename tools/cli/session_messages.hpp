// All messages that one side of a FIX session has sent, as its store keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath::cli {

class SessionMessages {
 public:
  // Throws Error and SystemError as fix::StoreReader.
  explicit SessionMessages(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  const std::string& sender() const noexcept { return sender_; }
  const std::string& target() const noexcept { return target_; }
  std::uint32_t next_sender() const noexcept { return next_sender_; }
  std::uint32_t next_target() const noexcept { return next_target_; }
  // Messages before this one were overwritten: the store is a ring.
  std::uint32_t oldest() const noexcept { return oldest_; }
  // Numbers from oldest() on without a message that is whole.
  std::uint64_t damaged() const noexcept { return damaged_; }

  // nullptr: there is none with that number.
  const std::string* find(std::uint32_t number) const;
  const std::map<std::uint32_t, std::string>& all() const noexcept { return messages_; }
  // With more than one, the first messages may be from an earlier run.
  std::uint64_t logons() const;
  // Reports and refusals of cancels (MsgType 8, 9, r): no words of the session itself.
  std::uint64_t reports() const;
  // Nothing but words of the session itself, as heartbeats and logouts, from this number on.
  bool only_session_words_from(std::uint32_t number) const;

 private:
  std::string path_, sender_, target_;
  std::uint32_t next_sender_ = 0, next_target_ = 0, oldest_ = 0;
  std::uint64_t damaged_ = 0;
  std::map<std::uint32_t, std::string> messages_;
};

// MsgType (35); 0: none that is known.
char type_of(std::string_view message);

// The messages of the other side of that session; nullptr: not among them.
const SessionMessages* other_side(const std::vector<std::unique_ptr<SessionMessages>>& all,
                                  const SessionMessages& of);

}  // namespace tickpath::cli

// Reads the message store of a running session, or of one that ended, from outside: every message
// that the session's side has sent, in order (detail/message_store.hpp has the file's layout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/mapping.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::fix {

// One thread; the owner of the store may write meanwhile and is not disturbed.
class StoreReader {
 public:
  // Maps the file for reading. Throws SystemError, or Error: it is no store of this version.
  explicit StoreReader(const std::string& path);

  const std::string& sender() const noexcept { return sender_; }  // SenderCompID of its messages
  const std::string& target() const noexcept { return target_; }

  // The numbers that the session's side sends and expects next.
  std::uint32_t next_sender() const noexcept;
  std::uint32_t next_target() const noexcept;
  // The first message that the ring can still hold.
  std::uint32_t oldest() const noexcept;

  // Leaves out what was sent before.
  void skip_to_end() noexcept;
  // Calls use(message) for each that was sent since the last call. A message counts only when its
  // checksum is right, so that one that is being written is never taken for whole; it comes with a
  // later call. Number of messages.
  std::size_t poll(const std::function<void(std::string_view)>& use);
  // Overwritten before they were read (the store is a ring), or damaged.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  enum class Look : std::uint8_t { kWhole, kNotYet, kGone };
  Look look(std::uint32_t seq, std::string_view& message);

  Mapping mapping_;
  std::string path_, sender_, target_;
  std::string copy_;  // of the message at hand
  std::uint32_t next_ = 1;
  int tries_ = 0;  // for the message that is next
  std::uint64_t lost_ = 0;

  // A message is written within microseconds: one that is not whole after so many calls never is.
  static constexpr int kTriesMax = 100;
};

}  // namespace tickpath::fix

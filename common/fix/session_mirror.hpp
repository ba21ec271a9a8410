// Where a Session tells what it writes into its store, and asks whether it may speak: for an owner
// that keeps a second store, elsewhere, equal to the first. And that second store.
#pragma once

#include <cstdint>
#include <string_view>

namespace tickpath::fix {

struct SessionNumbers {
  std::uint32_t next_sender = 1;
  std::uint32_t next_target = 1;
  std::int64_t began_ns = 0;  // CLOCK_REALTIME, of a session with times; 0: it has not
};

// Polling thread of the session; nothing of it blocks or throws.
class SessionMirror {
 public:
  // The message of this number stands in the store, and `numbers` are those behind it.
  virtual void on_stored(std::uint32_t seq, std::string_view message,
                         const SessionNumbers& numbers) noexcept = 0;
  virtual void on_numbers(const SessionNumbers& numbers) noexcept = 0;
  // Every message is forgotten; on_numbers() follows.
  virtual void on_store_reset() noexcept = 0;
  // What was told so far stands in the second store, too. Until then what is to be sent waits, as
  // for a peer that does not read.
  virtual bool may_transmit() noexcept = 0;

 protected:
  ~SessionMirror() = default;
};

// The second store. It gets every call that the first session makes to its mirror, in the same
// order. Polling thread.
class MirroredStore {
 public:
  virtual SessionNumbers numbers() const noexcept = 0;
  // False: a message that is too long for a store.
  virtual bool adopt_message(std::uint32_t seq, std::string_view message,
                             const SessionNumbers& numbers) noexcept = 0;
  virtual void adopt_numbers(const SessionNumbers& numbers) noexcept = 0;
  virtual void adopt_reset() noexcept = 0;

 protected:
  ~MirroredStore() = default;
};

}  // namespace tickpath::fix

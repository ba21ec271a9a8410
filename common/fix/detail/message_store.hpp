// The session's message store: a memory-mapped file of sequence numbers and sent messages.
//
// File: one header page, then `slots` slots of kSlotBytes, used as a ring by sequence number.
// Writing is a copy into mapped memory: no system call. What is written survives the end of the
// process (the pages belong to the kernel), not a power cut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/mapping.hpp"
#include "common/fix/messages.hpp"
#include "common/fix/session_mirror.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::fix::detail {

// 0 seq (0: empty) | 4 length | 8 bytes
struct StoreSlot {
  std::uint32_t seq;
  std::uint32_t length;
  char bytes[632];
};
inline constexpr std::size_t kSlotBytes = 640;  // whole cache lines
static_assert(sizeof(StoreSlot) == kSlotBytes && sizeof(StoreSlot::bytes) >= kMessageBytesMax);

// First page of the file, host order, version 1.
struct StoreHeader {
  static constexpr char kMagic[8] = {'t', 'k', 'f', 'i', 'x', 's', 't', '1'};
  char magic[8];
  std::uint32_t slots;
  std::uint32_t slot_bytes;
  char sender[kCompIdMax + 8];  // NUL-padded
  char target[kCompIdMax + 8];
  std::uint32_t next_sender;
  std::uint32_t next_target;
  std::int64_t began_ns;  // CLOCK_REALTIME, when the session of these numbers did; 0: not yet
};

class MessageStore {
 public:
  // Opens or creates `path` and maps it with every page present. Throws SystemError (system calls),
  // Error (another session's file, a damaged one, in use by another process).
  MessageStore(const std::string& path, std::uint32_t slots, std::string_view sender,
               std::string_view target);

  // Polling thread, or any thread for a recent value. Relaxed: nothing is ordered by them.
  std::uint32_t next_sender() const noexcept { return number(header_->next_sender); }
  std::uint32_t next_target() const noexcept { return number(header_->next_target); }

  void set_next_sender(std::uint32_t seq) noexcept {
    set(header_->next_sender, seq);
    tell_numbers();
  }
  void set_next_target(std::uint32_t seq) noexcept {
    set(header_->next_target, seq);
    tell_numbers();
  }
  SessionNumbers numbers() const noexcept {
    return {next_sender(), next_target(), header_->began_ns};
  }

  // From now on it is told of every change; nullptr: nobody is.
  void set_mirror(SessionMirror* mirror) noexcept { mirror_ = mirror; }
  // What a mirror was told elsewhere. False: a message that does not fit.
  bool adopt(std::uint32_t seq, std::string_view message, const SessionNumbers& numbers) noexcept;
  void adopt(const SessionNumbers& numbers) noexcept;

  // Where the message with number next_sender() is to be encoded; its old content is gone.
  // The number is not used up before commit().
  char* begin_message() noexcept;
  // The message is complete: stores it and advances next_sender(). A process that dies between this
  // and the write to the socket leaves a gap at the peer, which asks for a resend: sent once.
  void commit(std::size_t length) noexcept;

  // Control thread, every tick: the pages that the next messages go to stay writable for the
  // polling thread (prefault_for_writing()).
  void keep_writable() const noexcept;

  // A message sent by someone else (QuickFIX). False if it does not fit: it is then unknown.
  bool put(std::uint32_t seq, std::string_view message) noexcept;
  // The message with this number; empty if it was never stored or is overwritten.
  std::string_view get(std::uint32_t seq) const noexcept;
  // 0: its session has not begun, or has no times.
  std::int64_t began_ns() const noexcept { return header_->began_ns; }
  void set_began_ns(std::int64_t began) noexcept {
    header_->began_ns = began;
    tell_numbers();
  }
  // Both numbers to 1, every message forgotten, the session not begun.
  void reset() noexcept;

 private:
  StoreSlot& slot(std::uint32_t seq) const noexcept { return slots_[seq & mask_]; }
  static std::uint32_t number(std::uint32_t& value) noexcept {
    return std::atomic_ref<std::uint32_t>(value).load(std::memory_order_relaxed);
  }
  static void set(std::uint32_t& value, std::uint32_t seq) noexcept {
    std::atomic_ref<std::uint32_t>(value).store(seq, std::memory_order_relaxed);
  }
  void tell_numbers() noexcept {
    if (mirror_ != nullptr) mirror_->on_numbers(numbers());
  }
  void create_header(std::string_view sender, std::string_view target, std::uint32_t slots);
  void check_header(const std::string& path, std::string_view sender, std::string_view target,
                    std::uint32_t slots) const;

  net::FileDescriptor file_;  // keeps the lock
  Mapping mapping_;
  StoreHeader* header_ = nullptr;
  StoreSlot* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  SessionMirror* mirror_ = nullptr;
};

}  // namespace tickpath::fix::detail

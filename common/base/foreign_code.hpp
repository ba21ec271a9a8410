// Code of others that a program calls (a strategy's plugin), so that a hang or a crash in it gets
// its name: the control thread and the crash handler read it.
#pragma once

#include <atomic>

namespace tickpath {

namespace detail {
// The place of the text, not the text: to enter is one store, without a load before it.
inline constinit std::atomic<const char* const*> foreign_code{nullptr};
}  // namespace detail

// "plugin momentum (strategy 1) in book_change"; nullptr: our own code. Any thread, and a signal
// handler. Acquire, with the release below: the text may have been written a moment ago, for a
// plugin that is being created while another thread answers `status`.
inline const char* foreign_code() noexcept {
  const char* const* const place = detail::foreign_code.load(std::memory_order_acquire);
  return place == nullptr ? nullptr : *place;
}

// While it lives, the calling thread is in what the text at `place` says. The datapath thread, or
// before it runs the control thread. The text lives as long as the process.
class InForeignCode {
 public:
  explicit InForeignCode(const char* const& place) noexcept {
    detail::foreign_code.store(&place, std::memory_order_release);
  }
  ~InForeignCode() { detail::foreign_code.store(nullptr, std::memory_order_relaxed); }
  InForeignCode(const InForeignCode&) = delete;
  InForeignCode& operator=(const InForeignCode&) = delete;
};

}  // namespace tickpath

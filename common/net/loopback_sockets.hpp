// Connected sockets whose both ends are in this process (deterministic replay): who writes says so,
// and the kernel is not asked for what nobody wrote. Such a question costs more than a whole turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tickpath::net {

// One thread. While one lives it is the process's; without one, and of sockets that were not
// joined, nothing is known.
class LoopbackSockets {
 public:
  LoopbackSockets() noexcept { chosen_ = this; }
  ~LoopbackSockets() { chosen_ = nullptr; }
  LoopbackSockets(const LoopbackSockets&) = delete;
  LoopbackSockets& operator=(const LoopbackSockets&) = delete;

  // The two ends of a connection. Allocates.
  void join(int one, int other) {
    const auto size = static_cast<std::size_t>(std::max(one, other)) + 1;
    if (ends_.size() < size) ends_.resize(size);
    at(one) = {other, false};
    at(other) = {one, false};
  }

  // For those who read and write; without an object of this class they do nothing.

  // Nothing was written at the other end since this one was found empty.
  static bool known_empty(int socket) noexcept {
    if (chosen_ == nullptr) [[likely]]
      return false;
    const End* const end = chosen_->find(socket);
    return end != nullptr && end->empty;
  }
  static void note_empty(int socket) noexcept {
    if (chosen_ == nullptr) [[likely]]
      return;
    if (End* const end = chosen_->find(socket)) end->empty = true;
  }
  static void note_written(int socket) noexcept {
    if (chosen_ == nullptr) [[likely]]
      return;
    if (const End* const end = chosen_->find(socket)) chosen_->at(end->other).empty = false;
  }
  // Before it is closed, or given to somebody who says nothing of what he writes.
  static void forget(int socket) noexcept {
    if (chosen_ == nullptr) [[likely]]
      return;
    End* const end = chosen_->find(socket);
    if (end == nullptr) return;
    chosen_->at(end->other) = {};
    *end = {};
  }

 private:
  struct End {
    int other = -1;  // -1: not joined
    bool empty = false;
  };
  End& at(int socket) noexcept { return ends_[static_cast<std::size_t>(socket)]; }
  End* find(int socket) noexcept {
    if (socket < 0 || static_cast<std::size_t>(socket) >= ends_.size() || at(socket).other < 0)
      return nullptr;
    return &at(socket);
  }

  static inline constinit LoopbackSockets* chosen_ = nullptr;
  std::vector<End> ends_;  // by descriptor
};

}  // namespace tickpath::net

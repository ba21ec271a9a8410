// Messages that arrived behind a gap, as they came, until what is missing before them has come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tickpath::fix::detail {

// Bounded: what finds no room is not kept, and has to be asked for again.
class GapBuffer {
 public:
  // An entry without text stands for a message that has been dealt with already.
  struct Entry {
    std::uint32_t seq;
    std::string_view text;  // valid until clear() or the push() after the buffer was empty
  };

  explicit GapBuffer(std::size_t bytes) : bytes_(bytes) {}

  bool empty() const noexcept { return begin_ == end_; }
  // False: no room, or not behind what is kept (numbers rise).
  bool push(std::uint32_t seq, std::string_view text) noexcept {
    if (empty()) clear();
    const std::size_t needed = sizeof(Head) + text.size();
    if (seq <= last_seq_ || bytes_.size() - end_ < needed) return false;
    const Head head{seq, static_cast<std::uint32_t>(text.size())};
    std::memcpy(bytes_.data() + end_, &head, sizeof(head));
    std::copy(text.begin(), text.end(), bytes_.data() + end_ + sizeof(head));
    end_ += needed;
    last_seq_ = seq;
    return true;
  }
  // Not of an empty buffer.
  Entry front() const noexcept {
    Head head;
    std::memcpy(&head, bytes_.data() + begin_, sizeof(head));
    return {head.seq, {bytes_.data() + begin_ + sizeof(head), head.length}};
  }
  void pop() noexcept { begin_ += sizeof(Head) + front().text.size(); }
  void clear() noexcept {
    begin_ = end_ = 0;
    last_seq_ = 0;
  }

 private:
  struct Head {
    std::uint32_t seq;
    std::uint32_t length;
  };

  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint32_t last_seq_ = 0;
};

}  // namespace tickpath::fix::detail

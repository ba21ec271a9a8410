// A message that is longer than a session reads: its beginning is kept, the rest read past.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/fix/codec.hpp"

namespace tickpath::fix::detail {

class LongMessage {
 public:
  // Header, ids and what else stands at the front of a message are within so many bytes.
  static constexpr std::size_t kHeadBytes = 4'096;

  // Bytes of it are still to come.
  bool under_way() const noexcept { return left_ != 0; }
  std::size_t length() const noexcept { return length_; }
  std::string_view head() const noexcept { return {head_.data(), head_bytes_}; }

  // length: of the whole message, as frame() told it.
  void begin(std::size_t length) noexcept {
    length_ = left_ = length;
    head_bytes_ = trailer_bytes_ = 0;
    sum_ = 0;
    last_ = 0;
  }
  void clear() noexcept { left_ = 0; }

  // The next bytes of the stream. Returns how many of them are the message's.
  std::size_t take(std::string_view bytes) noexcept {
    const std::string_view own = bytes.substr(0, left_);
    const std::string_view kept = own.substr(0, kHeadBytes - head_bytes_);
    std::memcpy(head_.data() + head_bytes_, kept.data(), kept.size());
    head_bytes_ += kept.size();
    const std::string_view body = own.substr(0, left_ - std::min(left_, kTrailerBytes));
    if (!body.empty()) last_ = body.back();
    sum_ = static_cast<std::uint8_t>(sum_ + checksum(body));
    const std::string_view end = own.substr(body.size());
    std::memcpy(trailer_.data() + trailer_bytes_, end.data(), end.size());
    trailer_bytes_ += end.size();
    left_ -= own.size();
    return own.size();
  }

  // When all of it has come: it ends as a message does, with the right checksum.
  bool intact() const noexcept {
    return last_ == kSoh && trailer_sum({trailer_.data(), trailer_bytes_}) == sum_;
  }

 private:
  std::array<char, kHeadBytes> head_{};
  std::array<char, kTrailerBytes> trailer_{};
  std::size_t head_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::size_t length_ = 0;
  std::size_t left_ = 0;
  std::uint8_t sum_ = 0;  // of all before the trailer
  char last_ = 0;         // of these
};

}  // namespace tickpath::fix::detail

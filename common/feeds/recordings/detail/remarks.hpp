// What a reader has to say of a recording that is not a fault of the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tickpath::itch::detail {

// "<count> <what>", after what the text says already; nothing for none.
inline void add_remark(std::string& text, std::uint64_t count, std::string_view what,
                       std::string_view separator = "; ") {
  if (count == 0) return;
  if (!text.empty()) text += separator;
  text += std::to_string(count);
  text += ' ';
  text += what;
}

// Many of them: const Remarks add{text}; add(gaps, "gaps"); ...
struct Remarks {
  std::string& text;
  std::string_view separator = "; ";
  void operator()(std::uint64_t count, std::string_view what) const {
    add_remark(text, count, what, separator);
  }
};

// files::ByteSource::trailing_bytes().
inline constexpr std::string_view kTrailingBytes =
    "bytes behind the gzip data are none of it, left out";

// What a capture lost itself: in the sequence numbers it looks like loss on the feed. counts:
// files::CaptureCounts, or what has the same members.
inline void add_losses_of_capture(const Remarks& add, const auto& counts) {
  add(counts.cut, "packets were captured short of their length");
  add(counts.fragments, "IP fragments were not put together");
  add(counts.trailing_bytes, kTrailingBytes);
}

}  // namespace tickpath::itch::detail

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

// What a capture lost itself: in the sequence numbers it looks like loss on the feed.
inline void add_losses_of_capture(const Remarks& add, std::uint64_t cut, std::uint64_t fragments) {
  add(cut, "packets were captured short of their length");
  add(fragments, "IP fragments were not put together");
}

}  // namespace tickpath::itch::detail

// The fields of a message as they stand, in order and however often: also of one that Fields would
// not take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/fix/codec.hpp"

namespace tickpath::fix::detail {

struct RawField {
  std::uint32_t tag = 0;
  bool readable = false;   // its tag can be read
  bool ended = false;      // by SOH, not by the message's end
  std::string_view value;  // of an unreadable tag: all from where it went wrong
  std::string_view text;   // from the tag to SOH, both included
};

template <class Visit>
void for_each_raw_field(std::string_view message, Visit&& visit) {
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t start = at;
    RawField field;
    field.readable = read_tag(message, at, field.tag);
    const std::size_t soh = message.find(kSoh, at);
    field.ended = soh != std::string_view::npos;
    const std::size_t end = std::min(soh, message.size());
    field.value = message.substr(at, end - at);
    at = end + 1;
    field.text = message.substr(start, at - start);
    visit(field);
  }
}

}  // namespace tickpath::fix::detail

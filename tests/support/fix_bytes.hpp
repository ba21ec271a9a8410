// FIX messages as a peer writes them, with '|' for the separator.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/fix/codec.hpp"

namespace tickpath::test_support {

inline std::string with_bars(std::string bytes) {
  std::replace(bytes.begin(), bytes.end(), fix::kSoh, '|');
  return bytes;
}
inline std::string with_separators(std::string text) {
  std::replace(text.begin(), text.end(), '|', fix::kSoh);
  return text;
}

// A whole message: `text` is what BodyLength counts.
inline std::string fix_message(std::string_view begin_string, const std::string& text) {
  std::string message = with_separators("8=" + std::string(begin_string) +
                                        "|9=" + std::to_string(text.size()) + "|" + text);
  char trailer[16];
  std::snprintf(trailer, sizeof(trailer), "10=%03u\x01", fix::checksum(message));
  return message + trailer;
}

}  // namespace tickpath::test_support

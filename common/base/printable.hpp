// Texts from outside, as files, peers and users give them, before a person or a log sees them.
#pragma once

#include <string>
#include <string_view>

namespace tickpath {

// Control characters, which move cursors, colour, and end lines, as "\x1b"; those of Unicode
// (U+0080 to U+009F in UTF-8), too. What else a terminal shows stays as it is.
inline std::string escaped_controls(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte_at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = byte_at(i);
    const bool unicode = code == 0xc2 && byte_at(i + 1) >= 0x80 && byte_at(i + 1) < 0xa0;
    if (unicode) code = byte_at(++i);
    if (code >= 0x20 && code != 0x7f && !unicode) {
      shown += text[i];
      continue;
    }
    shown += "\\x";
    shown += kHex[code >> 4];
    shown += kHex[code & 15];
  }
  return shown;
}

}  // namespace tickpath

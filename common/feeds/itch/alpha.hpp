// Fixed-width text of the Nasdaq protocols: ASCII, left-justified, padded with spaces on the right
// (TotalView-ITCH 5.0, "Data Types"; MoldUDP64 1.00, "Data Types").
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tickpath::itch {

template <std::size_t N>
struct Alpha {
  std::array<char, N> characters = blank();

  constexpr Alpha() noexcept = default;
  // Longer text is cut to N characters: whoever reads text from outside checks its length first.
  constexpr Alpha(std::string_view text) noexcept {  // NOLINT: a literal reads as the field's value
    for (std::size_t i = 0; i < N && i < text.size(); ++i) characters[i] = text[i];
  }
  constexpr Alpha(const char* text) noexcept : Alpha(std::string_view(text)) {}  // NOLINT

  // The text without its padding.
  constexpr std::string_view view() const noexcept {
    std::size_t length = N;
    while (length > 0 && characters[length - 1] == ' ') --length;
    return {characters.data(), length};
  }

  friend constexpr bool operator==(const Alpha&, const Alpha&) = default;

 private:
  static constexpr std::array<char, N> blank() noexcept {
    std::array<char, N> spaces{};
    spaces.fill(' ');
    return spaces;
  }
};

using Stock = Alpha<8>;

// Whether the characters are a symbol that may be listed and traded: printable ASCII, without a
// space inside, one at least. Anything else is damage, and breaks whatever prints or stores it.
constexpr bool is_symbol(const Stock& stock) noexcept {
  const std::string_view text = stock.view();
  for (const char c : text)
    if (c <= ' ' || c > '~') return false;
  return !text.empty();
}
using Mpid = Alpha<4>;

}  // namespace tickpath::itch

// Lines of a text file, through a buffer of fixed size.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/files/byte_source.hpp"

namespace tickpath::itch::detail {

// One thread at a time; reads the file and so may block.
class TextLines {
 public:
  // `format` names what the file should be: "a LOBSTER file".
  TextLines(files::ByteSource& source, std::string format);

  // The next line without its end; valid until the next call. False at the end or at damage:
  // error() is then empty or "file: line 12: ...".
  bool next(std::string_view& line);
  // Makes that line the damage: "file: line 12: what". Returns false.
  bool fail(const std::string& what);
  const std::string& error() const noexcept { return error_; }
  const files::ByteSource& source() const noexcept { return source_; }
  void rewind();

 private:
  bool find_line(std::string_view& line);

  files::ByteSource& source_;
  std::string format_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t line_number_ = 0;
  std::string error_;
};

// The text with '?' for what is not printable ASCII.
std::string printable(std::string_view text);

// The start of a text, in quotes, for an error message; what is not printable ASCII becomes '?'.
std::string quoted(std::string_view text);

// The whole text as a decimal integer that fits.
template <class Integer>
bool parse_integer(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Splits a line at its commas. False unless there are exactly as many fields.
bool split_fields(std::string_view line, std::span<std::string_view> fields);

}  // namespace tickpath::itch::detail

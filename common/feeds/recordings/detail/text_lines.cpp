#include "common/feeds/recordings/detail/text_lines.hpp"

#include <cstring>
#include <utility>

namespace tickpath::itch::detail {

namespace {

// A line has tens of characters, one of a deep order book some thousands. One that does not end
// within a buffer of this size is no text.
constexpr std::size_t kBufferBytes = 64 * 1024;

}  // namespace

TextLines::TextLines(files::ByteSource& source, std::string format)
    : source_(source), format_(std::move(format)), buffer_(kBufferBytes) {}

void TextLines::rewind() {
  source_.rewind();
  begin_ = end_ = 0;
  line_number_ = 0;
  error_.clear();
}

bool TextLines::next(std::string_view& line) {
  if (!error_.empty()) return false;
  if (!find_line(line)) return false;
  ++line_number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

bool TextLines::find_line(std::string_view& line) {
  for (bool more = true;;) {
    const char* from = buffer_.data() + begin_;
    const void* found = std::memchr(from, '\n', end_ - begin_);
    if (found != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
      line = {from, length};
      begin_ += length + 1;
      return true;
    }
    if (!more) break;
    std::memmove(buffer_.data(), from, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t added =
        source_.read(std::as_writable_bytes(std::span(buffer_)).subspan(end_));
    end_ += added;
    more = added > 0;
  }
  ++line_number_;
  if (!source_.error().empty()) return fail(source_.error());
  if (end_ == buffer_.size()) return fail("no end of line within 64 KiB: not " + format_);
  --line_number_;
  if (begin_ == end_) return false;
  line = {buffer_.data() + begin_, end_ - begin_};  // the last line may lack its end
  begin_ = end_;
  return true;
}

bool TextLines::fail(const std::string& what) {
  error_ = source_.name() + ": line " + std::to_string(line_number_) + ": " + what;
  return false;
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) result += c < ' ' || c > '~' ? '?' : c;
  return result;
}

std::string quoted(std::string_view text) {
  return "\"" + printable(text.substr(0, 40)) + (text.size() > 40 ? "...\"" : "\"");
}

bool split_fields(std::string_view line, std::span<std::string_view> fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == fields.size())) return false;
    fields[i] = line.substr(0, comma);
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace tickpath::itch::detail

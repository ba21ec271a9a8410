#include "tools/watch/terminal.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/write_all.hpp"

namespace tickpath::watch {
namespace {

// xterm's private modes 1049 (a screen of its own) and 25 (the cursor), which every terminal
// emulator in use has.
constexpr std::string_view kBegin = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kEnd = "\x1b[?25h\x1b[?1049l";
constexpr char kEscape = '\x1b';

bool has_input() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

bool read_byte(char& byte) { return ::read(STDIN_FILENO, &byte, 1) == 1; }

}  // namespace

bool Terminal::is_there() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0; }

Terminal::Terminal() {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) throw SystemError("the terminal", errno);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // stopped, we would leave the terminal as it is now
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) throw SystemError("the terminal", errno);
  write(kBegin);
}

Terminal::~Terminal() {
  write(kEnd);
  (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TerminalSize Terminal::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

std::optional<Terminal::Key> Terminal::read_key() {
  if (!has_input()) return std::nullopt;
  char byte = 0;
  if (!read_byte(byte)) {
    gone_ = true;
    return std::nullopt;
  }
  if (byte != kEscape || !has_input()) return Key{byte, false};
  // ESC [ parameters letter, or ESC O letter.
  char last = 0;
  for (int i = 0; i < 8 && has_input() && read_byte(byte); ++i) {
    if (i == 0 && (byte == '[' || byte == 'O')) continue;
    if (byte >= '0' && byte <= '9') {
      last = byte;
      continue;
    }
    return Key{byte == '~' ? last : byte, true};
  }
  return Key{kEscape, true};
}

void Terminal::write(std::string_view text) { (void)write_all(STDOUT_FILENO, text); }

}  // namespace tickpath::watch

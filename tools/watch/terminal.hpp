// The terminal of a program that fills its screen.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <termios.h>

namespace tickpath::watch {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

// While this object lives, keys arrive one by one and are not shown, and the screen is our own. Its
// end gives back what was there. Standard input and output must be a terminal.
class Terminal {
 public:
  Terminal();  // throws SystemError
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // As the terminal says now.
  static TerminalSize size();
  // Standard input and output are both one.
  static bool is_there();
  // A key that was pressed; an arrow or another key of several bytes is 'A' to 'D', '5', '6' with
  // `special`. nullopt: none, for now; or the terminal is gone().
  struct Key {
    char key = 0;
    bool special = false;
  };
  std::optional<Key> read_key();
  bool gone() const noexcept { return gone_; }

  static void write(std::string_view text);

 private:
  termios before_{};
  bool gone_ = false;
};

}  // namespace tickpath::watch

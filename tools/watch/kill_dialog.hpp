// The questions of `tickpath top` before a kill: whom, and whether that is meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tickpath::watch {

class KillDialog {
 public:
  // Begins with the question whom to kill, or to let trade again.
  void begin(bool kill);
  bool open() const noexcept { return stage_ != Stage::kClosed; }
  // A key that a person pressed, while it is open. Anything but an answer to the question ends the
  // dialog, so that nothing is killed by mistake.
  void on_key(char key);
  // The question, with what was typed so far; empty where it is not open.
  std::string text() const;
  // Once both questions were answered: the arguments of `tickpath`, "kill" first. Once only.
  std::optional<std::vector<std::string>> take();

 private:
  enum class Stage : unsigned char { kClosed, kWhom, kSure };

  std::string whom() const;

  Stage stage_ = Stage::kClosed;
  bool kill_ = true;
  std::string number_;  // of the strategy; empty: all
  std::optional<std::vector<std::string>> answer_;
};

}  // namespace tickpath::watch

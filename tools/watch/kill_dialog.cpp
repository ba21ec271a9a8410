#include "tools/watch/kill_dialog.hpp"

#include <charconv>
#include <utility>

namespace tickpath::watch {
namespace {

constexpr std::size_t kDigitsMax = 3;
constexpr unsigned kStrategyMax = 255;

bool is_strategy(const std::string& digits) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() && number <= kStrategyMax;
}

}  // namespace

void KillDialog::begin(bool kill) {
  stage_ = Stage::kWhom;
  kill_ = kill;
  number_.clear();
  answer_.reset();
}

void KillDialog::on_key(char key) {
  const bool enter = key == '\r' || key == '\n';
  if (stage_ == Stage::kWhom) {
    if (key >= '0' && key <= '9' && number_.size() < kDigitsMax) {
      number_ += key;
    } else if ((key == '\x7f' || key == '\b') && !number_.empty()) {
      number_.pop_back();
    } else if (key == 'a' && number_.empty()) {
      stage_ = Stage::kSure;
    } else if (enter && is_strategy(number_)) {
      stage_ = Stage::kSure;
    } else {
      stage_ = Stage::kClosed;
    }
    return;
  }
  if (stage_ != Stage::kSure) return;
  stage_ = Stage::kClosed;
  if (key != 'y') return;
  answer_ = std::vector<std::string>{kill_ ? "kill" : "unkill"};
  if (!number_.empty()) answer_->insert(answer_->end(), {"--strategy", number_});
}

std::string KillDialog::whom() const {
  return number_.empty() ? "ALL strategies" : "strategy " + number_;
}

std::string KillDialog::text() const {
  const std::string what = kill_ ? "kill" : "unkill";
  if (stage_ == Stage::kWhom)
    return what + " which strategy? its number and Enter; a: all; Esc: none  > " + number_;
  if (stage_ == Stage::kSure)
    return kill_ ? "kill " + whom() + ": no new orders, what is open is cancelled. Sure? (y/n)"
                 : "unkill " + whom() + ": may trade again. Sure? (y/n)";
  return "";
}

std::optional<std::vector<std::string>> KillDialog::take() {
  return std::exchange(answer_, std::nullopt);
}

}  // namespace tickpath::watch

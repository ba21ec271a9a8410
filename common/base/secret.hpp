// A password: whoever wants its text must ask for it by name, and nothing prints it by accident.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <string.h>

namespace tickpath {

class Secret {
 public:
  Secret() = default;
  Secret(std::string text) : text_(std::move(text)) {}  // NOLINT: to be hidden is no loss
  Secret(std::string_view text) : text_(text) {}        // NOLINT
  Secret(const char* text) : text_(text) {}             // NOLINT
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(other.text_) {}
  Secret& operator=(Secret&& other) noexcept {
    text_ = other.text_;
    return *this;
  }
  // Not left behind in memory that others get next. (Copies that callers of reveal() make are
  // theirs.)
  ~Secret() { ::explicit_bzero(text_.data(), text_.size()); }

  bool empty() const noexcept { return text_.empty(); }
  std::size_t size() const noexcept { return text_.size(); }
  // For the wire, and for nothing else.
  const std::string& reveal() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace tickpath

#include "strategy/incarnation.hpp"

#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"

namespace tickpath::strategy {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return value_; }

 private:
  int value_;
};

// 0: no file yet.
std::uint32_t read_number(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return 0;
    throw SystemError("cannot read " + path, errno);
  }
  char text[16];
  const ssize_t size = ::read(file.get(), text, sizeof(text));
  if (size < 0) throw SystemError("cannot read " + path, errno);
  std::uint32_t number = 0;
  const auto result = std::from_chars(text, text + size, number);
  if (result.ec != std::errc{} || number == 0) {
    throw Error(path +
                " does not hold the number of starts; remove it when no order of an earlier "
                "start can be open any more");
  }
  return number;
}

}  // namespace

std::uint16_t next_incarnation(const std::string& path) {
  const std::uint32_t next = read_number(path) + 1;
  if (next > 0xffff) {
    throw Error(path +
                ": all 65,535 starts are spent; remove it when no order of an earlier start "
                "can be open any more");
  }
  replace_file(path, {std::to_string(next), "\n"});
  return static_cast<std::uint16_t>(next);
}

}  // namespace tickpath::strategy

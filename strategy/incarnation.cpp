#include "strategy/incarnation.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/error.hpp"

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

void sync_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || ::fsync(opened.get()) != 0)
    throw SystemError("cannot sync " + directory, errno);
}

void write_number(const std::string& path, std::uint32_t number) {
  const std::string fresh = path + ".new";
  const std::string text = std::to_string(number) + "\n";
  {
    const Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) throw SystemError("cannot create " + fresh, errno);
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::fsync(file.get()) != 0)
      throw SystemError("cannot write " + fresh, errno);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    throw SystemError("cannot rename " + fresh + " to " + path, errno);
  sync_directory(path);
}

}  // namespace

std::uint16_t next_incarnation(const std::string& path) {
  const std::uint32_t next = read_number(path) + 1;
  if (next > 0xffff) {
    throw Error(path +
                ": all 65,535 starts are spent; remove it when no order of an earlier start "
                "can be open any more");
  }
  write_number(path, next);
  return static_cast<std::uint16_t>(next);
}

}  // namespace tickpath::strategy

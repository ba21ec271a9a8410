#include "common/base/write_all.hpp"

#include <cerrno>

#include <unistd.h>

namespace tickpath {
namespace {

// write_some(rest): as write(2) and pwrite(2).
template <class WriteSome>
bool write_whole(std::string_view bytes, WriteSome&& write_some) noexcept {
  while (!bytes.empty()) {
    const ssize_t taken = write_some(bytes);
    if (taken < 0 && errno == EINTR) continue;
    if (taken == 0) errno = ENOSPC;
    if (taken <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
  return true;
}

}  // namespace

bool write_all(int file, std::string_view bytes) noexcept {
  return write_whole(bytes, [&](std::string_view rest) noexcept {
    return ::write(file, rest.data(), rest.size());
  });
}

bool write_all_at(int file, std::string_view bytes, std::uint64_t offset) noexcept {
  return write_whole(bytes, [&](std::string_view rest) noexcept {
    const std::uint64_t written = bytes.size() - rest.size();
    return ::pwrite(file, rest.data(), rest.size(), static_cast<off_t>(offset + written));
  });
}

}  // namespace tickpath

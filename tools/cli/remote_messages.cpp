#include "tools/cli/remote_messages.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace tickpath::cli {

using control::Json;

std::string encoded(Json head, std::string_view body) {
  if (!body.empty()) head["bytes"] = body.size();
  return control::text_of(head) + "\n" + std::string(body);
}

std::optional<Message> MessageReader::next() {
  const std::size_t end = buffer_.find('\n');
  constexpr std::size_t kShown = 200;
  if (end == std::string::npos) {
    if (buffer_.size() > kHeadMax) throw Error(escaped_controls(buffer_.substr(0, kShown)));
    return std::nullopt;
  }
  Json head = Json::parse(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(end),
                          nullptr, false);
  if (!head.is_object()) throw Error(escaped_controls(buffer_.substr(0, std::min(end, kShown))));
  std::size_t bytes = 0;
  if (const auto found = head.find("bytes"); found != head.end()) {
    if (!found->is_number_unsigned() || found->get<std::size_t>() > kBodyMax)
      throw Error(escaped_controls(buffer_.substr(0, std::min(end, kShown))));
    bytes = found->get<std::size_t>();
  }
  if (buffer_.size() - end - 1 < bytes) return std::nullopt;
  Message message{std::move(head), buffer_.substr(end + 1, bytes)};
  buffer_.erase(0, end + 1 + bytes);
  return message;
}

bool write_all(int file, std::string_view bytes, int timeout_ms) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
    pollfd polled{file, POLLOUT, 0};
    if (::poll(&polled, 1, timeout_ms) == 0) return false;
  }
  return true;
}

std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  // Containers of one kernel have networks and files of their own.
  std::error_code none;
  id += " " + std::filesystem::read_symlink("/proc/self/ns/net", none).string();
  struct stat root {};
  if (::stat("/", &root) == 0)
    id += " " + std::to_string(root.st_dev) + ":" + std::to_string(root.st_ino);
  return id;
}

}  // namespace tickpath::cli

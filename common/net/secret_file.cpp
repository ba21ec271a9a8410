#include "common/net/secret_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::net {

std::string read_secret(const std::string& path, const std::string& key) {
  const auto fail = [&](const std::string& why) { throw NetError(path + " (" + key + ") " + why); };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) fail("is no plain file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) fail("can be read by others: chmod 600 " + path);
  char buffer[1024];
  const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
  if (count < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  std::string line(buffer, static_cast<std::size_t>(count));
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) fail("has no secret in its first line");
  return line;
}

}  // namespace tickpath::net

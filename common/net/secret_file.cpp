#include "common/net/secret_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::net {

namespace {

constexpr std::string_view kEnvironment = "env:";

Secret secret_of_environment(const std::string& name, const std::string& key) {
  const char* const text = std::getenv(name.c_str());
  if (text == nullptr || *text == '\0')
    throw NetError("the environment has no " + name + " (" + key + " = \"env:" + name + "\")");
  return text;
}

}  // namespace

Secret read_secret(const std::string& path, const std::string& key) {
  if (path.starts_with(kEnvironment))
    return secret_of_environment(path.substr(kEnvironment.size()), key);
  const auto fail = [&](const std::string& why) { throw NetError(path + " (" + key + ") " + why); };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) fail("is no plain file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    fail("is of user " + std::to_string(status.st_uid) + ", who can read and change it");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) fail("can be read by others: chmod 600 " + path);
  char buffer[1024];
  const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
  if (count < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  std::string line(buffer, static_cast<std::size_t>(count));
  ::explicit_bzero(buffer, sizeof buffer);
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) fail("has no secret in its first line");
  return line;
}

}  // namespace tickpath::net

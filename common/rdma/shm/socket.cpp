// Binding and connecting the Unix sockets of the shm provider.
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/rdma/shm/listener.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr int kBacklog = 64;
constexpr auto kDirectoryPatience = std::chrono::seconds(1);

UniqueFd new_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) throw_system("cannot create a Unix socket", errno);
  return socket;
}

sockaddr_un address_of(const std::string& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.empty())
    throw SetupError(SetupCause::kAddress, "an empty shm endpoint; give a path");
  if (endpoint.size() >= sizeof(address.sun_path)) {
    throw SetupError(SetupCause::kAddress, "the shm endpoint " + endpoint + " is " +
                                               std::to_string(endpoint.size()) +
                                               " bytes long, a Unix socket path has at most " +
                                               std::to_string(sizeof(address.sun_path) - 1) +
                                               "; use a shorter run directory or a relative path");
  }
  std::memcpy(address.sun_path, endpoint.data(), endpoint.size());
  return address;
}

bool somebody_listens(const sockaddr_un& address) {
  const UniqueFd probe = new_socket();
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return true;
  }
  return errno != ECONNREFUSED && errno != ENOENT;  // EAGAIN: its queue is full
}

// Held while the file is looked at and replaced: two starting programs must not take each other's
// fresh socket for a stale one. The directory itself is the lock, so nothing is left behind.
UniqueFd lock_directory_of(const std::string& endpoint) {
  const std::size_t slash = endpoint.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : endpoint.substr(0, slash);
  UniqueFd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid()) {
    const int error = errno;
    throw SetupError(SetupCause::kAddress, "cannot use directory " + directory + " for endpoint " +
                                               endpoint + ": " + std::strerror(error) +
                                               "; create it or change the endpoint");
  }
  // Not for ever: whoever may look into the directory can hold its lock as well. Without it two of
  // our programs that start on one endpoint at once could both believe that they have it.
  const auto deadline = std::chrono::steady_clock::now() + kDirectoryPatience;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw_system("cannot lock " + directory, errno);
    if (std::chrono::steady_clock::now() > deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lock;
}

}  // namespace

UniqueFd bind_socket(const std::string& endpoint) {
  const sockaddr_un address = address_of(endpoint);
  const UniqueFd lock = lock_directory_of(endpoint);
  UniqueFd socket = new_socket();
  // On Linux the mode of the unbound socket becomes the mode of the file: never open to others,
  // not even between bind() and a later chmod().
  if (::fchmod(socket.get(), 0600) != 0) throw_system("fchmod of a socket", errno);
  const auto bind_it = [&] {
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  };
  bool bound = bind_it();
  if (!bound && errno == EADDRINUSE) {
    struct stat status {};
    if (::lstat(endpoint.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
      throw SetupError(SetupCause::kAddress, "cannot listen on " + endpoint +
                                                 ": a file that is not a socket is there; move it "
                                                 "or change the endpoint");
    }
    if (somebody_listens(address)) {
      throw SetupError(SetupCause::kAddress,
                       "cannot listen on " + endpoint +
                           ": another process already does; stop it or change the endpoint");
    }
    ::unlink(endpoint.c_str());
    bound = bind_it();
  }
  if (!bound) {
    const int error = errno;
    throw SetupError(SetupCause::kAddress,
                     "cannot listen on " + endpoint + ": " + std::strerror(error));
  }
  if (::listen(socket.get(), kBacklog) != 0) throw_system("listen on " + endpoint, errno);
  return socket;
}

UniqueFd connect_socket(const std::string& endpoint) {
  const sockaddr_un address = address_of(endpoint);
  UniqueFd socket = new_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return socket;
  const int error = errno;
  if (error == EAGAIN || error == EINTR) return {};
  const char* remedy = error == ENOENT || error == ECONNREFUSED
                           ? "; nobody listens there: is the program running?"
                           : "";
  throw SetupError(error == EACCES ? SetupCause::kPermission : SetupCause::kRefused,
                   "cannot connect to " + endpoint + ": " + std::strerror(error) + remedy);
}

}  // namespace tickpath::rdma::detail

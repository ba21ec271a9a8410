// The folder of a multicast group on shm.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/fnv.hpp"
#include "common/rdma/shm/datagram_setup.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::string_view kSender = ".sender";
constexpr std::string_view kComing = ".coming";  // bound, not listening yet
constexpr int kLockTries = 100;                  // a millisecond each

sockaddr_un address_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A path such as /proc/self/fd/N/..., never long.
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

bool call_with(int (*call)(int, const sockaddr*, socklen_t), const UniqueFd& socket,
               const sockaddr_un& address) noexcept {
  return call(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

UniqueFd unbound_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) throw_system("cannot create a Unix socket", errno);
  return socket;
}

// A name for the folder that is the same in all processes.
std::uint64_t hash_of(const struct stat& folder) noexcept {
  const std::uint64_t words[] = {folder.st_dev, folder.st_ino};
  return fnv1a({reinterpret_cast<const char*>(words), sizeof(words)});
}

}  // namespace

GroupFolder::GroupFolder(const std::string& path) : path_(path) {
  if (path.empty()) throw SetupError(SetupCause::kAddress, "an empty multicast group; give a path");
  // Only ours: a folder of everybody's could hold anybody's senders.
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw SetupError(errno == EACCES ? SetupCause::kPermission : SetupCause::kAddress,
                     "cannot make the folder of multicast group " + path + ": " +
                         std::strerror(errno) + "; make its parent or change the group");
  }
  directory_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!directory_.valid() || ::fstat(directory_.get(), &status) != 0) {
    throw SetupError(errno == EACCES ? SetupCause::kPermission : SetupCause::kAddress,
                     "cannot use " + path + " as a multicast group: " + std::strerror(errno) +
                         "; on shm a group is a folder");
  }
  const uid_t user = ::geteuid();
  if ((status.st_uid != user && user != 0) || (status.st_mode & 0022) != 0) {
    throw SetupError(SetupCause::kPermission,
                     "others may write to the folder of multicast group " + path +
                         "; make it this user's, mode 0700, or change the group");
  }
  const std::uint64_t hash = hash_of(status);
  gid_[0] = std::byte{0xff};
  gid_[1] = std::byte{0x15};
  std::memcpy(gid_.data() + 8, &hash, sizeof(hash));
}

// By the open folder: no longer than a socket's path may be, and the same folder whatever the path
// means later.
std::string GroupFolder::path_of(const std::string& name) const {
  return "/proc/self/fd/" + std::to_string(directory_.get()) + "/" + name;
}

std::vector<std::string> GroupFolder::names_ending(std::string_view first,
                                                   std::string_view second) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_of("."), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(first) || name.ends_with(second)) names.push_back(std::move(name));
  }
  if (error) {
    throw SetupError(SetupCause::kAddress,
                     "cannot read the folder of multicast group " + path_ + ": " + error.message());
  }
  return names;
}

std::vector<std::string> GroupFolder::senders() const { return names_ending(kSender, kSender); }

// Under the folder's lock: a socket that is bound and does not listen is refused as a dead one is.
void GroupFolder::clear_dead_senders() const {
  for (const std::string& name : names_ending(kSender, kComing)) {
    const UniqueFd probe = unbound_socket();
    if (call_with(::connect, probe, address_at(path_of(name))) || errno != ECONNREFUSED) continue;
    ::unlinkat(directory_.get(), name.c_str(), 0);
  }
}

// Held by others for as long as they look at a few names. Who holds it for longer is no sender of
// ours, and is not waited for: then a name of ours may be cleared, and joining fails.
UniqueFd GroupFolder::lock_folder() const {
  UniqueFd lock(::open(path_of(".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int tries = 0; tries < kLockTries && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return lock;
}

GroupFolder::Listening GroupFolder::add_sender() const {
  const UniqueFd lock = lock_folder();  // let go with the descriptor
  clear_dead_senders();
  Listening listening{unbound_socket(),
                      std::to_string(::getpid()) + "-" + std::to_string(random_key())};
  const std::string coming = listening.name + std::string(kComing);
  listening.name += kSender;
  if (::fchmod(listening.socket.get(), 0600) != 0) throw_system("fchmod of a socket", errno);
  if (!call_with(::bind, listening.socket, address_at(path_of(coming))) ||
      ::listen(listening.socket.get(), SOMAXCONN) != 0 ||
      ::renameat(directory_.get(), coming.c_str(), directory_.get(), listening.name.c_str()) != 0) {
    const int error = errno;
    throw SetupError(
        error == EACCES ? SetupCause::kPermission : SetupCause::kAddress,
        "cannot join multicast group " + path_ + " as a sender: " + std::strerror(error));
  }
  return listening;
}

void GroupFolder::remove_sender(const std::string& name) const noexcept {
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

UniqueFd GroupFolder::connect(const std::string& name) const {
  UniqueFd socket = unbound_socket();
  return call_with(::connect, socket, address_at(path_of(name))) ? std::move(socket) : UniqueFd();
}

UniqueFd GroupFolder::watch() const {
  UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch.valid() ||
      ::inotify_add_watch(watch.get(), path_of(".").c_str(), IN_MOVED_TO | IN_ONLYDIR) < 0) {
    throw SetupError(SetupCause::kSystem, "cannot watch the folder of multicast group " + path_ +
                                              ": " + std::strerror(errno) +
                                              "; see fs.inotify.max_user_instances");
  }
  return watch;
}

bool GroupFolder::gone() const noexcept {
  // Not by IN_DELETE_SELF: that waits until nobody has the folder open, and we do.
  struct stat status {};
  return ::fstat(directory_.get(), &status) != 0 || status.st_nlink == 0;
}

void GroupFolder::take_news(const UniqueFd& watch) noexcept {
  std::array<std::byte, 4096> buffer;
  while (::read(watch.get(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace tickpath::rdma::detail

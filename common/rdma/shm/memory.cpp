#include "common/rdma/shm/memory.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/rdma/provider/pages.hpp"

namespace tickpath::rdma::detail {
namespace {

// Neither the owner nor the peer may resize; the seals themselves are final.
constexpr int kSizeSeals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

// What the machine can give without swapping. Shared memory is not refused when it is mapped, only
// killed for when it is touched: whoever asks for too much must be told before.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key;) {
    std::size_t kibibytes = 0;
    file >> kibibytes;
    std::getline(file, unit);
    if (key == "MemAvailable:") return kibibytes << 10;
  }
  return ~std::size_t{0};  // no /proc: nothing to compare with
}

// Empty if the kernel has no (free) huge pages.
OwnedMemory try_create(std::size_t size_bytes, const std::string& name, unsigned flags) {
  OwnedMemory memory;
  memory.fd = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  if (!memory.fd.valid()) return {};
  // Its pages are taken here: a region that was only sized would be a SIGBUS of whoever touches it
  // first, which may be the peer.
  errno = ::posix_fallocate(memory.fd.get(), 0, static_cast<off_t>(size_bytes));
  if (errno != 0) return {};
  // Populated now: a page fault on the datapath costs more than a message.
  void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      memory.fd.get(), 0);
  if (data == MAP_FAILED) return {};
  memory.mapping = Mapping(static_cast<std::byte*>(data), size_bytes);
  return memory;
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void Mapping::reset() noexcept {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
  data_ = nullptr;
  size_bytes_ = 0;
}

void throw_system(const std::string& what, int errno_value) {
  throw SetupError(SetupCause::kSystem, what + ": " + std::strerror(errno_value));
}

OwnedMemory create_memory(std::size_t size_bytes, bool peer_writes, const std::string& name) {
  if (size_bytes == 0) throw SetupError(SetupCause::kLimit, "a region of 0 bytes: " + name);
  if (size_bytes > available_bytes()) {
    throw SetupError(SetupCause::kNoMemory, "cannot allocate " + std::to_string(size_bytes) +
                                                " bytes for " + name + ": the machine has " +
                                                std::to_string(available_bytes()) +
                                                " available; free memory or make it smaller");
  }
  const std::string label = "tickpath." + name.substr(0, 200);  // memfd names end at 249 bytes
  OwnedMemory memory;
  const std::size_t huge_bytes = round_up(size_bytes, kHugePageBytes);
  if (huge_bytes - size_bytes <= kHugePageBytes / 2) {
    memory = try_create(huge_bytes, label, MFD_HUGETLB);
    memory.huge_pages = memory.fd.valid();
  }
  if (!memory.fd.valid()) {
    memory = try_create(round_up(size_bytes, kPageBytes), label, 0);
    if (!memory.fd.valid()) {
      const int error = errno;
      throw SetupError(SetupCause::kNoMemory,
                       "cannot allocate " + std::to_string(size_bytes) + " bytes for " + name +
                           ": " + std::strerror(error) + "; free memory or make it smaller");
    }
    // Transparent huge pages, where the administrator allows them for shared memory.
    ::madvise(memory.mapping.data(), memory.mapping.size_bytes(), MADV_HUGEPAGE);
  }
  memory.locked = ::mlock(memory.mapping.data(), memory.mapping.size_bytes()) == 0;
  // After our own writable mapping: F_SEAL_FUTURE_WRITE keeps that one and refuses any later one.
  const int seals = kSizeSeals | (peer_writes ? 0 : F_SEAL_FUTURE_WRITE);
  if (::fcntl(memory.fd.get(), F_ADD_SEALS, seals) != 0) {
    throw_system("cannot seal the memory of " + name + " (Linux 5.1 or newer is needed)", errno);
  }
  return memory;
}

UniqueFd read_only_descriptor(const UniqueFd& fd) {
  // A memory file's mode would let the receiver reopen it for writing through /proc.
  if (::fchmod(fd.get(), 0400) != 0) throw_system("cannot restrict a memory file", errno);
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only.valid())
    throw_system("cannot open " + path + " read-only (is /proc mounted?)", errno);
  return read_only;
}

Mapping map_peer_memory(const UniqueFd& fd, std::size_t size_bytes, bool writable) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    throw SetupError(SetupCause::kProtocol,
                     "the peer sent a descriptor that is not sealed shared memory");
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_system("fstat of the peer's memory", errno);
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) < size_bytes) {
    throw SetupError(SetupCause::kProtocol, "the peer's memory is smaller than it said");
  }
  // The whole file: huge pages cannot be mapped in part.
  const auto file_bytes = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, file_bytes, PROT_READ | (writable ? PROT_WRITE : 0),
                      MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    throw SetupError(
        error == EPERM || error == EACCES ? SetupCause::kPermission : SetupCause::kNoMemory,
        std::string("cannot map the peer's memory: ") + std::strerror(error));
  }
  return {static_cast<std::byte*>(data), file_bytes};
}

std::uint32_t random_key() {
  std::uint32_t key = 0;
  if (::getrandom(&key, sizeof(key), 0) != sizeof(key)) throw_system("getrandom", errno);
  return key;
}

}  // namespace tickpath::rdma::detail

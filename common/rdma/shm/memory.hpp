// Descriptors, shared memory files and mappings. Set-up only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <sys/types.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// A mapping of a shared memory file; unmapped when destroyed. The memory itself lives until the
// last mapping and the last descriptor of every process are gone.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::byte* data, std::size_t size_bytes) noexcept
      : data_(data), size_bytes_(size_bytes) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { reset(); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  void reset() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

// A memory file that this process owns, mapped writable here, and sealed so that nobody can change
// its size (a peer would die of SIGBUS) nor, if not `peer_writes`, map it writable any more.
struct OwnedMemory {
  UniqueFd fd;
  Mapping mapping;
  bool huge_pages = false;
  bool locked = false;
};

// Throws SetupError (kNoMemory, kLimit, kSystem).
OwnedMemory create_memory(std::size_t size_bytes, bool peer_writes, const std::string& name);

// A descriptor of the same memory that cannot be mapped writable. Throws SetupError.
UniqueFd read_only_descriptor(const UniqueFd& fd);

// Maps what a peer sent. Refuses (SetupError kProtocol) what is not a memory file, is shorter than
// `size_bytes` or could shrink under us.
Mapping map_peer_memory(const UniqueFd& fd, std::size_t size_bytes, bool writable);

// From the kernel; keys must not be guessable. Throws SetupError.
std::uint32_t random_key();

// Throws SetupError{kSystem} with the errno text.
[[noreturn]] void throw_system(const std::string& what, int errno_value);

}  // namespace tickpath::rdma::detail

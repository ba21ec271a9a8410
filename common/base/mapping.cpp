#include "common/base/mapping.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>

#include "common/base/error.hpp"

namespace tickpath {

Mapping::Mapping(int file, std::size_t bytes, Access access, const std::string& what)
    : bytes_(bytes) {
  const bool writes = access != Access::kRead;
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | (writes ? PROT_WRITE : 0),
             MAP_SHARED | (access == Access::kWriteTouched ? MAP_POPULATE : 0), file, 0);
  if (mapped == MAP_FAILED) throw SystemError("cannot map " + what, errno);
  data_ = mapped;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

int reserve_on_disk(int file, std::size_t bytes) noexcept {
  return ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
}

}  // namespace tickpath

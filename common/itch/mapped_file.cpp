#include "common/itch/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/itch/recording.hpp"

namespace tickpath::itch {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw RecordingError(path.string() + ": cannot open: " + std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  const std::size_t size = known ? static_cast<std::size_t>(status.st_size) : 0;
  void* address = MAP_FAILED;
  if (known && size > 0) {
    // Populated now, so that no page fault falls into what the caller measures.
    address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  }
  const int error = errno;
  ::close(file);
  if (known && size == 0) throw RecordingError(path.string() + ": the file is empty");
  if (address == MAP_FAILED) {
    throw RecordingError(path.string() + ": cannot map: " + std::strerror(error));
  }
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace tickpath::itch

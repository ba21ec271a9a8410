// A plain file mapped for reading: the fast path for benchmarks and for whole-file replay.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tickpath::itch {

// The bytes stay valid, at one address, while the object lives. Throws RecordingError.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tickpath::itch

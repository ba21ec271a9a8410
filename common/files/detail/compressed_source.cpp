#include "common/files/detail/compressed_source.hpp"

#include <cerrno>
#include <cstring>

namespace tickpath::files::detail {

UniqueFile open_stream(const std::filesystem::path& path, const char* mode, const char* verb) {
  errno = 0;
  UniqueFile file(std::fopen(path.c_str(), mode));
  if (!file) throw RecordingError(path.string() + ": cannot " + verb + ": " + std::strerror(errno));
  return file;
}

Magic magic_of(const std::filesystem::path& path) {
  Magic start{};
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return start;
  const UniqueFile file(std::fopen(path.c_str(), "rb"));
  if (file) (void)!std::fread(start.data(), 1, start.size(), file.get());
  return start;
}

CompressedSource::CompressedSource(const std::filesystem::path& path, std::size_t chunk_bytes)
    : file_(open_stream(path, "rb", "open")), chunk_(chunk_bytes) {
  name_ = path.string();
  std::error_code error;
  total_ = std::filesystem::file_size(path, error);
  if (error) total_ = 0;
}

bool CompressedSource::refill() {
  const std::size_t left = input_.size();
  if (left != 0) std::memmove(chunk_.data(), input_.data(), left);
  const std::size_t got = std::fread(&chunk_[left], 1, chunk_.size() - left, file_.get());
  if (got == 0 && std::ferror(file_.get()) != 0) error_ = std::strerror(errno);
  bytes_read_ += got;
  input_ = std::span(chunk_).first(left + got);
  return got != 0;
}

void CompressedSource::rewind() {
  std::rewind(file_.get());
  input_ = {};
  bytes_read_ = 0;
  trailing_bytes_ = 0;
  error_.clear();
}

}  // namespace tickpath::files::detail

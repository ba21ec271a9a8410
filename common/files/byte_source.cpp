#include "common/files/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <zlib.h>

#include "common/files/detail/gzip.hpp"
#include "common/files/detail/zstd.hpp"

namespace tickpath::files {

namespace {

// zlib's own input buffer: large enough that a read costs nothing beside the decompression.
constexpr unsigned kZlibBufferBytes = 256 * 1024;

std::string errno_text(int error) { return std::strerror(error); }

// Plain files, and what comes through a pipe: zlib decompresses that where it is gzip.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) {
    name_ = path.string();
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      throw RecordingError(name_ + ": is a directory, not a recording");
    }
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr) {
      const std::string why = errno_text(errno);
      throw RecordingError(name_ + ": cannot open" +
                           (path.is_relative()
                                ? " in " + std::filesystem::current_path(error).string()
                                : std::string()) +
                           ": " + why);
    }
    gzbuffer(file_, kZlibBufferBytes);
    total_ = std::filesystem::file_size(path, error);
    if (error) total_ = 0;  // a pipe: progress is unknown, reading works
  }
  ~FileSource() override { gzclose(file_); }

  std::size_t read(std::span<std::byte> to) override {
    std::size_t filled = 0;
    while (filled < to.size() && error_.empty()) {
      const auto want = static_cast<unsigned>(std::min<std::size_t>(to.size() - filled, 1U << 30));
      const int got = gzread(file_, to.data() + filled, want);
      if (got > 0) filled += static_cast<std::size_t>(got);
      if (got < static_cast<int>(want)) {
        note_error();
        break;
      }
    }
    note_place();
    return filled;
  }

  void rewind() override {
    gzrewind(file_);
    error_.clear();
    place_ = 0;
  }

  std::uint64_t file_bytes_read() const override { return place_; }
  std::uint64_t file_bytes_total() const override { return total_; }

 private:
  // Asked for with each message by whoever shows progress; zlib would ask the kernel each time.
  void note_place() {
    const auto offset = gzoffset(file_);
    place_ = offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
  }
  void note_error() {
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    if (code == Z_ERRNO) {
      error_ = errno_text(errno);
    } else if (code == Z_BUF_ERROR) {
      error_ = "unexpected end of compressed data";
    } else if (code != Z_OK && code != Z_STREAM_END) {
      // zlib puts the path before its words; ours stands there already.
      error_ = text;
      if (error_.starts_with(name_ + ": ")) error_.erase(0, name_.size() + 2);
    }
  }

  gzFile file_;
  std::uint64_t total_ = 0;
  std::uint64_t place_ = 0;  // of the file, behind what was read
};

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::filesystem::path& path) : name_(path.string()) {
    // Level 3: a third of level 6's time for files a tenth larger. T writes without compression.
    errno = 0;
    file_ = gzopen(path.c_str(), path.extension() == ".gz" ? "wb3" : "wbT");
    if (file_ == nullptr) throw RecordingError(name_ + ": cannot create: " + errno_text(errno));
    gzbuffer(file_, kZlibBufferBytes);
  }
  ~FileSink() override {
    if (file_ != nullptr) gzclose(file_);
  }
  void write(std::span<const std::byte> from) override {
    if (from.empty()) return;
    errno = 0;
    if (gzwrite(file_, from.data(), static_cast<unsigned>(from.size())) <= 0) fail();
  }
  void close() override {
    errno = 0;
    const int result = gzclose(file_);
    file_ = nullptr;
    if (result != Z_OK) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw RecordingError(name_ + ": cannot write: " + errno_text(errno));
  }

  std::string name_;
  gzFile file_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) {
  if (detail::is_zstd(path)) return detail::open_zstd(path);
  if (detail::is_gzip(path)) return detail::open_gzip(path);
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSink> create_file(const std::filesystem::path& path) {
  if (path.extension() == ".zst") return detail::create_zstd(path);
  return std::make_unique<FileSink>(path);
}

}  // namespace tickpath::files

#include "common/files/detail/zstd.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <zstd.h>

namespace tickpath::files::detail {
namespace {

using Magic = std::array<unsigned char, 4>;
constexpr Magic kMagic{0x28, 0xb5, 0x2f, 0xfd};
// RFC 8878, section 3.1.2: sixteen of them. pzstd writes such a frame before each of its own.
constexpr bool begins_skippable_frame(const Magic& start) noexcept {
  return (start[0] & 0xf0) == 0x50 && start[1] == 0x2a && start[2] == 0x4d && start[3] == 0x18;
}
// zstd's default: faster than gzip at a better ratio.
constexpr int kLevel = 3;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using UniqueFile = std::unique_ptr<std::FILE, CloseFile>;

UniqueFile open(const std::filesystem::path& path, const char* mode, const char* verb) {
  errno = 0;
  UniqueFile file(std::fopen(path.c_str(), mode));
  if (!file) throw RecordingError(path.string() + ": cannot " + verb + ": " + std::strerror(errno));
  return file;
}

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(const std::filesystem::path& path)
      : file_(open(path, "rb", "open")),
        stream_(ZSTD_createDStream(), &ZSTD_freeDStream),
        input_(ZSTD_DStreamInSize()) {
    name_ = path.string();
    std::error_code error;
    total_ = std::filesystem::file_size(path, error);
    if (error) total_ = 0;
  }

  std::size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size && error_.empty()) {
      if (in_.pos == in_.size && !refill()) break;
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(hint) != 0) {
        error_ = ZSTD_getErrorName(hint);
      } else {
        frame_open_ = hint != 0;
      }
    }
    return out.pos;
  }

  void rewind() override {
    std::rewind(file_.get());
    ZSTD_initDStream(stream_.get());
    in_ = {};
    bytes_read_ = 0;
    frame_open_ = false;
    error_.clear();
  }

  std::uint64_t file_bytes_read() const override { return bytes_read_ - (in_.size - in_.pos); }
  std::uint64_t file_bytes_total() const override { return total_; }

 private:
  bool refill() {
    const std::size_t got = std::fread(input_.data(), 1, input_.size(), file_.get());
    if (got == 0) {
      if (std::ferror(file_.get()) != 0) {
        error_ = std::strerror(errno);
      } else if (frame_open_) {
        error_ = "unexpected end of compressed data";
      }
      return false;
    }
    bytes_read_ += got;
    in_ = {input_.data(), got, 0};
    return true;
  }

  UniqueFile file_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  std::vector<char> input_;
  ZSTD_inBuffer in_{};
  std::uint64_t bytes_read_ = 0;
  std::uint64_t total_ = 0;
  bool frame_open_ = false;
};

class ZstdSink final : public ByteSink {
 public:
  explicit ZstdSink(const std::filesystem::path& path)
      : name_(path.string()),
        file_(open(path, "wb", "create")),
        stream_(ZSTD_createCStream(), &ZSTD_freeCStream),
        output_(ZSTD_CStreamOutSize()) {
    ZSTD_initCStream(stream_.get(), kLevel);
  }
  ~ZstdSink() override = default;

  void write(std::span<const std::byte> from) override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    while (in.pos < in.size) (void)step(in, ZSTD_e_continue);
  }
  void close() override {
    ZSTD_inBuffer in{};
    while (step(in, ZSTD_e_end) != 0) {
    }
    errno = 0;
    if (std::fclose(file_.release()) != 0) fail(std::strerror(errno));
  }

 private:
  // What zstd still holds: 0 when all is written.
  std::size_t step(ZSTD_inBuffer& in, ZSTD_EndDirective directive) {
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, directive);
    if (ZSTD_isError(left) != 0) fail(ZSTD_getErrorName(left));
    errno = 0;
    if (std::fwrite(output_.data(), 1, out.pos, file_.get()) != out.pos) fail(std::strerror(errno));
    return left;
  }
  [[noreturn]] void fail(const char* why) const {
    throw RecordingError(name_ + ": cannot write: " + why);
  }

  std::string name_;
  UniqueFile file_;
  std::unique_ptr<ZSTD_CStream, decltype(&ZSTD_freeCStream)> stream_;
  std::vector<char> output_;
};

}  // namespace

bool is_zstd(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe cannot be looked at
  const UniqueFile file(std::fopen(path.c_str(), "rb"));
  Magic start{};
  return file && std::fread(start.data(), 1, start.size(), file.get()) == start.size() &&
         (start == kMagic || begins_skippable_frame(start));
}

std::unique_ptr<ByteSource> open_zstd(const std::filesystem::path& path) {
  return std::make_unique<ZstdSource>(path);
}

std::unique_ptr<ByteSink> create_zstd(const std::filesystem::path& path) {
  return std::make_unique<ZstdSink>(path);
}

}  // namespace tickpath::files::detail

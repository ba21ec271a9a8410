#include "common/files/detail/zstd.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <zstd.h>

#include "common/files/detail/compressed_source.hpp"

namespace tickpath::files::detail {
namespace {

constexpr Magic kMagic{0x28, 0xb5, 0x2f, 0xfd};
// RFC 8878, section 3.1.2: sixteen of them. pzstd writes such a frame before each of its own.
constexpr bool begins_skippable_frame(const Magic& start) noexcept {
  return (start[0] & 0xf0) == 0x50 && start[1] == 0x2a && start[2] == 0x4d && start[3] == 0x18;
}
// zstd's default: faster than gzip at a better ratio.
constexpr int kLevel = 3;

class ZstdSource final : public CompressedSource {
 public:
  explicit ZstdSource(const std::filesystem::path& path)
      : CompressedSource(path, ZSTD_DStreamInSize()),
        stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {}

  std::size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size && error_.empty()) {
      if (input_.empty() && !refill()) {
        if (frame_open_ && error_.empty()) error_ = "unexpected end of compressed data";
        break;
      }
      ZSTD_inBuffer in{input_.data(), input_.size(), 0};
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &out, &in);
      input_ = input_.subspan(in.pos);
      if (ZSTD_isError(hint) != 0) {
        error_ = ZSTD_getErrorName(hint);
      } else {
        frame_open_ = hint != 0;
      }
    }
    return out.pos;
  }

  void rewind() override {
    CompressedSource::rewind();
    ZSTD_initDStream(stream_.get());
    frame_open_ = false;
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool frame_open_ = false;
};

class ZstdSink final : public ByteSink {
 public:
  explicit ZstdSink(const std::filesystem::path& path)
      : name_(path.string()),
        file_(open_stream(path, "wb", "create")),
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
  const Magic start = magic_of(path);
  return start == kMagic || begins_skippable_frame(start);
}

std::unique_ptr<ByteSource> open_zstd(const std::filesystem::path& path) {
  return std::make_unique<ZstdSource>(path);
}

std::unique_ptr<ByteSink> create_zstd(const std::filesystem::path& path) {
  return std::make_unique<ZstdSink>(path);
}

}  // namespace tickpath::files::detail

#include "common/files/detail/gzip.hpp"

#include <algorithm>

#include <zlib.h>

#include "common/files/detail/compressed_source.hpp"

namespace tickpath::files::detail {
namespace {

// Large enough that a read costs nothing beside the decompression.
constexpr std::size_t kChunkBytes = 256 * 1024;
// zlib's inflateInit2(): the largest window, and gzip's header and checksum around the data.
constexpr int kWindowOfGzip = 15 + 16;
constexpr std::size_t kOutputMax = std::size_t{1} << 30;  // at a time; zlib counts in 32 bits

// RFC 1952, 2.3.1: ID1, ID2.
bool begins_member(unsigned first, unsigned second) noexcept {
  return first == 0x1f && second == 0x8b;
}

class GzipSource final : public CompressedSource {
 public:
  explicit GzipSource(const std::filesystem::path& path) : CompressedSource(path, kChunkBytes) {
    if (inflateInit2(&stream_, kWindowOfGzip) != Z_OK)
      throw RecordingError(name_ + ": out of memory");
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::byte> to) override {
    std::size_t filled = 0;
    while (filled < to.size() && error_.empty() && has_more())
      filled += decompress(to.subspan(filled));
    return filled;
  }

  void rewind() override {
    CompressedSource::rewind();
    inflateReset(&stream_);
    in_member_ = false;
  }

 private:
  // False: the end, or damage.
  bool has_more() {
    if (in_member_) {
      if (!input_.empty() || refill()) return true;
      if (error_.empty()) error_ = "unexpected end of compressed data";
      return false;
    }
    if (input_.size() < 2) (void)refill();
    in_member_ = input_.size() >= 2 && begins_member(std::to_integer<unsigned>(input_[0]),
                                                     std::to_integer<unsigned>(input_[1]));
    if (!in_member_) pass_over_rest();
    return in_member_;
  }

  // Zeros are what a tape fills its last block with.
  void pass_over_rest() {
    bool zeros = true;
    std::uint64_t bytes = 0;
    do {
      zeros = zeros && std::ranges::all_of(input_, [](std::byte b) { return b == std::byte{0}; });
      bytes += input_.size();
      input_ = {};
    } while (refill());
    if (!zeros) trailing_bytes_ = bytes;
  }

  std::size_t decompress(std::span<std::byte> to) {
    const std::size_t room = std::min(to.size(), kOutputMax);
    // zlib does not write there.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input_.data()));
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input_ = input_.last(stream_.avail_in);
    if (result == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
    } else if (result != Z_OK) {
      error_ = stream_.msg == nullptr ? "compressed data error" : stream_.msg;
    }
    return room - stream_.avail_out;
  }

  z_stream stream_{};
  bool in_member_ = false;
};

}  // namespace

bool is_gzip(const std::filesystem::path& path) {
  const Magic start = magic_of(path);
  return begins_member(start[0], start[1]);
}

std::unique_ptr<ByteSource> open_gzip(const std::filesystem::path& path) {
  return std::make_unique<GzipSource>(path);
}

}  // namespace tickpath::files::detail

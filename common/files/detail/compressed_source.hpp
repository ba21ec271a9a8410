// What the sources of compressed files share: the file, chunk by chunk.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "common/files/byte_source.hpp"

namespace tickpath::files::detail {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using UniqueFile = std::unique_ptr<std::FILE, CloseFile>;

// Throws RecordingError: "PATH: cannot VERB: why".
UniqueFile open_stream(const std::filesystem::path& path, const char* mode, const char* verb);

// The first bytes of a file, zeros behind its end. All zeros for what cannot be read (opening it
// will say why) and for pipes, which cannot be looked at.
using Magic = std::array<unsigned char, 4>;
Magic magic_of(const std::filesystem::path& path);

class CompressedSource : public ByteSource {
 public:
  void rewind() override;
  std::uint64_t file_bytes_read() const override { return bytes_read_ - input_.size(); }
  std::uint64_t file_bytes_total() const override { return total_; }

 protected:
  CompressedSource(const std::filesystem::path& path, std::size_t chunk_bytes);
  // Adds to input_, which is shorter than a chunk. False: the file has no more, or cannot be read;
  // then error_ says why.
  bool refill();

  std::span<const std::byte> input_;  // not decompressed yet

 private:
  UniqueFile file_;
  std::vector<std::byte> chunk_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t total_ = 0;  // 0: not known
};

}  // namespace tickpath::files::detail

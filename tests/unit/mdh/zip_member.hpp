// One member of a .zip archive, inflated into memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <zlib.h>

namespace tickpath::test_support {

// The first member whose name contains `part`. Format: PKWARE's APPNOTE.TXT, 4.3.12 (central
// directory header) and 4.3.7 (local file header); deflated members only. Throws
// std::runtime_error.
class ZipArchive {
 public:
  explicit ZipArchive(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.resize(std::filesystem::file_size(path));
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

  std::string member(std::string_view part) const {
    constexpr std::string_view kCentralHeader("PK\x01\x02", 4);
    for (std::size_t at = bytes_.find(kCentralHeader); at != std::string::npos;
         at = bytes_.find(kCentralHeader, at + 4)) {
      const std::string_view name(bytes_.data() + at + 46, word<std::uint16_t>(at + 28));
      if (name.find(part) == std::string_view::npos) continue;
      const std::size_t local = word<std::uint32_t>(at + 42);
      const std::size_t data =
          local + 30 + word<std::uint16_t>(local + 26) + word<std::uint16_t>(local + 28);
      return inflated(data, word<std::uint32_t>(at + 20), word<std::uint32_t>(at + 24));
    }
    throw std::runtime_error("the archive has no member named like " + std::string(part));
  }

 private:
  template <class Word>
  Word word(std::size_t at) const {
    Word value;
    if (at + sizeof(value) > bytes_.size()) throw std::runtime_error("the archive is cut");
    std::memcpy(&value, bytes_.data() + at, sizeof(value));
    return value;
  }

  std::string inflated(std::size_t at, std::size_t packed, std::size_t size) const {
    std::string out(size, '\0');
    std::string in = bytes_.substr(at, packed);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::runtime_error("zlib");
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (result != Z_STREAM_END) throw std::runtime_error("the archive's member is damaged");
    return out;
  }

  std::string bytes_;
};

}  // namespace tickpath::test_support

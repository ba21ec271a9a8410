// Zstandard files (RFC 8878) as ByteSource and ByteSink.
#pragma once

#include <filesystem>
#include <memory>

#include "common/files/byte_source.hpp"

namespace tickpath::files::detail {

// Whether a file begins with the magic number of a Zstandard or a skippable frame (RFC 8878,
// sections 3.1.1 and 3.1.2). False for what cannot be read: opening it will say why.
bool is_zstd(const std::filesystem::path& path);

// Both throw RecordingError.
std::unique_ptr<ByteSource> open_zstd(const std::filesystem::path& path);
std::unique_ptr<ByteSink> create_zstd(const std::filesystem::path& path);

}  // namespace tickpath::files::detail

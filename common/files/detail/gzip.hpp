// Files of gzip members (RFC 1952) as ByteSource. zlib's own reader of such files says nothing of
// what follows the last member.
#pragma once

#include <filesystem>
#include <memory>

#include "common/files/byte_source.hpp"

namespace tickpath::files::detail {

// Whether a file begins as a member does. False for what cannot be read: opening it will say why.
bool is_gzip(const std::filesystem::path& path);

// Throws RecordingError.
std::unique_ptr<ByteSource> open_gzip(const std::filesystem::path& path);

}  // namespace tickpath::files::detail
